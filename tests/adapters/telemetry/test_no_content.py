"""Canaries in all that is said, sent, given and failed: no span, no metric and no log line has one."""

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest

import onrecord
from onrecord.adapters.telemetry.logs import JsonFormatter
from tests.adapters.openai_clients import KEY, MODEL
from tests.adapters.openai_server import Call, Fails, OpenAIServer, Says
from tests.adapters.replaying_server import replaying, streamed, whole
from tests.adapters.telemetry.observing import Observed, observing
from tests.anthropic_wire import call, message, stream_events, text

CANARY = "canary"


def canary(place: str) -> str:
    return f"{CANARY}-{place}"


@pytest.fixture
def observed() -> Iterator[Observed]:
    with pytest.MonkeyPatch.context() as patch, observing(patch) as told:
        yield told


def lines_of(caplog: pytest.LogCaptureFixture) -> str:
    return "\n".join(map(JsonFormatter().format, caplog.records))


def said_in(chat: onrecord.Conversation, folder: Path) -> None:
    """Say what a program may say to a conversation, and let some of it fail."""
    report = folder / f"{canary('file')}.txt"
    report.write_text(canary("document"), "utf-8")
    chat.instruct(canary("instruction"))
    chat.user(canary("prompt"), report, message_id=canary("message"))
    chat.annotate({canary("label"): canary("remark")})
    with pytest.raises(onrecord.OnrecordError):
        chat.user(canary("refused"), message_id=canary("message"))
    with pytest.raises(onrecord.OnrecordError):
        chat.request(canary("api"))
    chat.events()
    chat.history()
    chat.request("anthropic-messages")


TOOLS: Any = [
    {
        "type": "function",
        "function": {
            "name": canary("tool"),
            "description": canary("description"),
            "parameters": {"type": "object", "properties": {canary("member"): {}}},
        },
    }
]


def test_no_telemetry_of_a_call_has_content(
    observed: Observed, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "onrecord")
    store = onrecord.connect(f"sqlite:///{tmp_path}/talks.db")
    chat = store.conversation("support/4711", actor=canary("actor"), on_behalf_of=canary("person"))
    said_in(chat, tmp_path)
    answer = Says(canary("answer"), (Call(canary("tool"), json.dumps({"x": canary("argument")})),))
    with (
        OpenAIServer([answer, answer, Fails(400)]) as server,
        openai.OpenAI(api_key=KEY, base_url=server.url, max_retries=0) as plain,
    ):
        client = chat.record(plain)
        asked: Any = {"model": MODEL, "tools": TOOLS, "user": canary("user"), "stop": [canary("x")]}
        messages: Any = chat.request("openai-chat")["messages"]
        client.chat.completions.create(**asked, messages=messages)
        (open_call,) = chat.open_calls()
        chat.tool_result(open_call.id, {canary("name"): canary("result")})
        list(client.chat.completions.create(**asked, messages=messages, stream=True))
        with pytest.raises(openai.BadRequestError):
            client.chat.completions.create(**asked, messages=messages)
    store.close()
    assert len(observed.calls()) == 3
    told = observed.everything() + lines_of(caplog)
    assert "support/4711" in told
    assert CANARY not in told
    assert KEY not in told


@pytest.mark.parametrize("streams", [False, True])
def test_no_telemetry_of_a_call_that_its_sdk_traces_has_content(
    observed: Observed, caplog: pytest.LogCaptureFixture, streams: bool
) -> None:
    caplog.set_level(logging.DEBUG, "onrecord")
    chat = onrecord.connect("memory://").conversation("support/4711", actor=canary("actor"))
    answer = message(text(canary("answer")), call(1, x=canary("argument")), stop_reason="tool_use")
    reply = streamed(stream_events(answer)) if streams else whole(answer)
    messages: Any = [{"role": "user", "content": canary("prompt")}]
    asked: Any = {"model": "m", "max_tokens": 9, "system": canary("system"), "messages": messages}
    with (
        replaying(reply) as server,
        anthropic.Anthropic(api_key="k", base_url=server.url[:-3], max_retries=0) as plain,
    ):
        client = chat.record(plain)
        for _ in client.messages.create(**asked, stream=True) if streams else ():
            pass
        if not streams:
            client.messages.create(**asked)
    assert observed.spans("com.anthropic.sdk.python")
    assert CANARY not in observed.everything() + lines_of(caplog)


def test_an_answer_that_names_itself_at_length_fills_no_span(observed: Observed) -> None:
    chat = onrecord.connect("memory://").conversation("a")
    answer = message(
        text("Hello"), id="i" * 100_000, model="m" * 100_000, stop_reason="s" * 100_000
    )
    messages: Any = [{"role": "user", "content": "Hello"}]
    with (
        replaying(whole(answer)) as server,
        anthropic.Anthropic(
            api_key="k", base_url=server.url[:-3], max_retries=0, open_telemetry=False
        ) as plain,
    ):
        chat.record(plain).messages.create(model="m", max_tokens=9, messages=messages)
    assert len(observed.everything()) < 20_000
