"""Canaries in a context: no event, no file, no request, no log and no error shows one."""

import dataclasses
import json
import logging
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import mcp
import pytest
from pydantic import BaseModel, SecretStr

import onrecord
from onrecord.adapters.tools.runner.hidden_values import without_values
from tests.adapters.tools.conversations import call_tools, recorded_results
from tests.adapters.tools.mcp_server import Sent

APIS = (
    *("anthropic-messages", "openai-chat", "openai-responses"),
    *("gemini", "ollama", "bedrock-converse"),
)


def canary(place: str) -> str:
    return f'canary-{place} "0123"/é'


class Client:
    """What programs put into contexts besides texts."""

    def __repr__(self) -> str:
        return f"Client({canary('object')})"


class Session(BaseModel):
    token: str
    key: SecretStr


@dataclasses.dataclass
class User:
    password: str
    session: Session


CONTEXT = {
    "token": canary("token"),
    "account": {"password": canary("nested"), "roles": [canary("deep")]},
    "wrapped": SecretStr(canary("wrapped")),
    "raw": canary("raw").encode(),
    "buffer": bytearray(canary("buffer").encode()),
    "view": memoryview(canary("view").encode()),
    "user": User(canary("field"), Session(token=canary("member"), key=SecretStr(canary("key")))),
    "client": Client(),
    "inner": onrecord.ToolCallContext(token=canary("inner")),
    "tenant_id": "acme",
}
KEPT = ["tenant_id"]
HELD = ("buffer", "view", "field", "member", "key")


def quote(context: onrecord.ToolCallContext) -> str:
    raise PermissionError(f"refused: {context['token']} and {context['account']}")


def quote_otherwise(context: onrecord.ToolCallContext) -> str:
    from urllib.parse import quote_plus

    raise PermissionError(
        f"{context['raw']!r} {json.dumps(context['token'])} {quote_plus(context['token'])} "
        f"{context['wrapped'].get_secret_value()} {context['client']!r} {context!r}"
    )


def give_back(context: onrecord.ToolCallContext) -> object:
    return {"context": context, "all": [context]}


def chain(context: onrecord.ToolCallContext) -> None:
    try:
        raise ValueError(context["token"])
    except ValueError as exc:
        raise LookupError(f"no order for {context['account']['roles'][0]}") from exc


def answer(context: onrecord.ToolCallContext, parcel: str) -> str:
    return f"{parcel} {'tenant_id' in context}"


TOOLS: list[Callable[..., object]] = [quote, quote_otherwise, give_back, chain, answer]
CALLS: tuple[tuple[str, Any], ...] = (
    *((function.__name__, {}) for function in TOOLS),
    ("answer", {"parcel": "NW-1"}),
    ("no_such_tool", {}),
    ("echo", {"text": "a"}),
)


@pytest.fixture(autouse=True)
def logs(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """All that is logged, at any level, of whatever library."""
    with caplog.at_level(logging.DEBUG):
        yield
    shown = [
        *(record.getMessage() for record in caplog.records),
        *(str(record.exc_info) for record in caplog.records),
        caplog.text,
    ]
    assert not [line for line in shown if "canary-" in line]


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("way", [{}, {"parallel": True}, {"timeout": 60}])
async def test_no_file_no_event_and_no_request_shows_a_canary(
    tmp_path: Path, way: dict[str, Any]
) -> None:
    sent = Sent()
    with onrecord.connect(f"sqlite:///{tmp_path / 'talks.db'}") as store:
        chat = store.conversation("support/4711")
        chat.set_tool_context(CONTEXT, persist=KEPT)
        async with mcp.Client(sent.server()) as client:
            tools = await onrecord.mcp_tools(client, meta=onrecord.allow("tenant_id"))
            runner = onrecord.ToolRunner(
                chat, [*TOOLS, tools], context=CONTEXT, persist=KEPT, **way
            )
            runner.declare()
            call_tools(chat, *CALLS)
            runs = await runner.run_async({"trace": canary("trace")})
        assert len(runs) == len(recorded_results(chat)) == len(CALLS)
        assert "canary-" not in repr(runs)
        for recorded in chat.log.read():
            assert b"canary-" not in recorded.header + (recorded.body or b"")
        for api in APIS:
            request = chat.request(api, model="m")
            assert "canary-" not in json.dumps(dict(request), default=str)
            assert "canary-" not in repr(list(request.report))
        assert "canary-" not in repr(runner.__dict__.get("_context"))
    assert "canary-" not in repr(sent.calls)
    for file in tmp_path.rglob("*"):
        assert b"canary-" not in file.read_bytes(), file.name


def test_errors_of_the_caller_show_none() -> None:
    chat = onrecord.connect("memory://").conversation("support/4711")
    call_tools(chat, ("answer", {}))
    for persist in (["token"], ["account"], ["raw"], ["client"]):
        with pytest.raises(onrecord.InvalidContent) as refused:
            onrecord.ToolRunner(chat, TOOLS, context=CONTEXT, persist=persist).run()
        shown = "".join(traceback.format_exception(refused.value))
        assert "canary-" not in shown


@pytest.mark.parametrize("place", ["token", "nested", "deep", "wrapped", "raw", "inner", *HELD])
def test_an_error_s_words_are_kept_but_for_the_values(place: str) -> None:
    context = onrecord.ToolCallContext.of(CONTEXT)
    told = without_values(f"the depot refused {canary(place)}: ask again", context)
    assert "canary-" not in told
    assert told.startswith("the depot refused ")
    assert told.endswith(": ask again")


@pytest.mark.parametrize("value", [None, True, False, "", "a", "abc", 1, 12, [], {}])
def test_a_value_that_stands_in_any_word_is_not_looked_for(value: object) -> None:
    context = onrecord.ToolCallContext(flag=value)
    text = f"a 1 12 abc True False None {value!r}"
    assert without_values(text, context) == text


class Mute:
    """What fails when it is asked what it is."""

    def __str__(self) -> str:
        raise RuntimeError("mute")


def test_a_context_that_holds_itself_or_cannot_be_told_hides_no_failure() -> None:
    circle: dict[str, Any] = {"password": canary("circle")}
    circle["itself"] = [circle]
    deep: Any = canary("deep")
    for _ in range(5_000):
        deep = [deep]

    def fail(context: onrecord.ToolCallContext) -> None:
        raise LookupError(f"refused {context['circle']['password']} {canary('deep')}")

    chat = onrecord.connect("memory://").conversation("support/4711")
    call_tools(chat, ("fail", {}))
    context = {"mute": Mute(), "circle": circle, "deep": deep}
    onrecord.ToolRunner(chat, [fail], context=context).run()
    assert recorded_results(chat) == [("call_1", "Error: refused \u2026 \u2026", True)]
