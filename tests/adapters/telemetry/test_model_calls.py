"""Calls of models as spans and metrics: what each tells, whose child it is, and that none is told twice."""

import asyncio
import socket
from collections.abc import Iterator
from typing import Any

import anthropic
import openai
import pytest
from opentelemetry.trace import SpanKind, StatusCode

import onrecord
from tests.adapters.openai_clients import APIS, MODEL, Api, Clients
from tests.adapters.openai_server import Fails, OpenAIServer, Says
from tests.adapters.replaying_server import replaying, streamed, whole
from tests.adapters.telemetry.observing import (
    Observed,
    attributes,
    id_of,
    observing,
    parent_of,
)
from tests.anthropic_wire import message, stream_events, text

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
KINDS = [openai.OpenAI, openai.AsyncOpenAI]
SHARED = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "openai",
    "gen_ai.request.model": MODEL,
}


@pytest.fixture
def observed() -> Iterator[Observed]:
    with pytest.MonkeyPatch.context() as patch, observing(patch) as told:
        yield told


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(lambda _: Says("Hello!")) as running:
        yield running


@pytest.fixture
def clients() -> Iterator[Clients]:
    with Clients() as made:
        yield made


@pytest.fixture
def chat() -> onrecord.Conversation:
    return onrecord.connect("memory://").conversation("support/4711", actor="ana")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("api", APIS)
def test_a_call_has_a_client_span_with_names_and_counts(
    observed: Observed,
    chat: onrecord.Conversation,
    server: OpenAIServer,
    clients: Clients,
    kind: type[Any],
    api: Api,
) -> None:
    answer = clients.ask(chat.record(clients.of(kind, server)), api)
    (span,) = observed.calls()
    (sent,) = [event for event in chat.events() if event.type == "request.sent"]
    reasons: dict[str, Any] = {"gen_ai.response.finish_reasons": ("stop",)}
    assert (span.name, span.kind) == (f"chat {MODEL}", SpanKind.CLIENT)
    assert span.status.status_code is StatusCode.UNSET
    assert attributes(span) == {
        **SHARED,
        "gen_ai.conversation.id": "support/4711",
        "onrecord.conversation": "support/4711",
        "onrecord.version": sent.version,
        "gen_ai.response.id": answer.id,
        "gen_ai.response.model": MODEL,
        "gen_ai.usage.input_tokens": 11,
        "gen_ai.usage.output_tokens": 7,
        **(reasons if api == "openai-chat" else {"gen_ai.response.finish_reasons": ("completed",)}),
    }


def test_a_call_is_measured(
    observed: Observed, chat: onrecord.Conversation, server: OpenAIServer, clients: Clients
) -> None:
    client = chat.record(clients.of(openai.OpenAI, server))
    for _ in range(2):
        clients.ask(client)
    kind = {**SHARED, "gen_ai.response.model": MODEL}
    points = observed.points()
    assert {name: [each[0] for each in told] for name, told in points.items()} == {
        "gen_ai.client.inference.duration": [kind],
        "gen_ai.client.inference.usage.input_tokens": [kind],
        "gen_ai.client.inference.usage.output_tokens": [kind],
    }
    assert points["gen_ai.client.inference.duration"][0][1].count == 2
    assert points["gen_ai.client.inference.usage.input_tokens"][0][1].value == 22
    assert points["gen_ai.client.inference.usage.output_tokens"][0][1].value == 14


@pytest.mark.parametrize("kind", KINDS)
def test_a_stream_tells_when_its_first_chunk_came(
    observed: Observed,
    chat: onrecord.Conversation,
    server: OpenAIServer,
    clients: Clients,
    kind: type[Any],
) -> None:
    client = chat.record(clients.of(kind, server))
    said: Any = [{"role": "user", "content": "Hello"}]

    async def ask_async() -> None:
        async for _ in await client.chat.completions.create(
            model=MODEL, messages=said, stream=True
        ):
            pass
        await client.close()

    if kind is openai.AsyncOpenAI:
        asyncio.run(ask_async())
    else:
        list(client.chat.completions.create(model=MODEL, messages=said, stream=True))
    (span,) = observed.calls()
    told = attributes(span)
    assert told["gen_ai.request.stream"] is True
    assert told["gen_ai.response.time_to_first_chunk"] > 0
    (waited,) = observed.points()["gen_ai.client.inference.time_to_first_chunk"]
    assert waited[1].sum == pytest.approx(told["gen_ai.response.time_to_first_chunk"])


@pytest.mark.parametrize("kind", KINDS)
def test_a_call_and_what_is_stored_of_it_are_children_of_its_caller(
    observed: Observed,
    chat: onrecord.Conversation,
    server: OpenAIServer,
    clients: Clients,
    kind: type[Any],
) -> None:
    client = chat.record(clients.of(kind, server))
    with observed.tracer.start_as_current_span("program") as program:
        clients.ask(client)
    names = [(span.name, parent_of(span)) for span in observed.spans()]
    here = id_of(program)
    assert names == [
        ("onrecord.append", here),
        (f"chat {MODEL}", here),
        ("onrecord.append", here),
    ]
    assert [attributes(span)["onrecord.version"] for span in observed.named("onrecord.append")] == [
        3,
        5,
    ]


def test_without_a_span_of_the_caller_its_header_names_the_parent(
    observed: Observed, chat: onrecord.Conversation, server: OpenAIServer, clients: Clients
) -> None:
    client = chat.record(clients.of(openai.OpenAI, server))
    clients.ask(client, extra_headers={"traceparent": PARENT})
    (span,) = observed.calls()
    assert f"{parent_of(span):016x}" == PARENT.split("-")[2]
    assert server.received[0].headers["traceparent"] == PARENT


def test_each_attempt_has_a_span_and_a_failed_one_tells_its_status(
    observed: Observed, chat: onrecord.Conversation, clients: Clients
) -> None:
    with OpenAIServer([Fails(503), Says("Hello!")]) as server:
        client = chat.record(clients.of(openai.OpenAI, server, max_retries=1))
        clients.ask(client)
    failed, answered = observed.calls()
    assert failed.status.status_code is StatusCode.ERROR
    assert (failed.status.description, failed.events) == (None, ())
    assert attributes(failed)["error.type"] == "503"
    assert attributes(answered)["http.request.resend_count"] == 1
    assert answered.status.status_code is StatusCode.UNSET
    durations = observed.points()["gen_ai.client.inference.duration"]
    assert [told.get("error.type") for told, _ in durations] == ["503", None]


def test_a_service_that_is_not_there_is_told_by_the_type_of_the_error(
    observed: Observed, chat: onrecord.Conversation
) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        plain = openai.OpenAI(api_key="k", base_url=url, max_retries=0)
        client = chat.record(plain)
        messages: Any = [{"role": "user", "content": "Hello"}]
        with pytest.raises(openai.APIConnectionError):
            client.chat.completions.create(model=MODEL, messages=messages)
        plain.close()
    (span,) = observed.calls()
    assert attributes(span)["error.type"] == "ConnectError"


def test_a_stream_that_is_left_is_told_as_abandoned(
    observed: Observed, chat: onrecord.Conversation, server: OpenAIServer, clients: Clients
) -> None:
    client = chat.record(clients.of(openai.OpenAI, server))
    messages: Any = [{"role": "user", "content": "Hello"}]
    with client.chat.completions.create(model=MODEL, messages=messages, stream=True) as stream:
        next(iter(stream))
    (span,) = observed.calls()
    assert attributes(span)["error.type"] == "abandoned"


# -- an SDK that traces itself -----------------------------------------------------------------


def ask_anthropic(chat: onrecord.Conversation, *, streams: bool, **options: Any) -> None:
    answer = message(text("Hello!"))
    reply = streamed(stream_events(answer)) if streams else whole(answer)
    messages: Any = [{"role": "user", "content": "Hello"}]
    with (
        replaying(reply) as server,
        anthropic.Anthropic(
            api_key="k", base_url=server.url.removesuffix("/v1"), max_retries=0, **options
        ) as plain,
    ):
        client = chat.record(plain)
        if streams:
            with client.messages.stream(
                model="claude-sonnet-5", max_tokens=9, messages=messages
            ) as stream:
                stream.get_final_message()
        else:
            client.messages.create(model="claude-sonnet-5", max_tokens=9, messages=messages)


@pytest.mark.parametrize("streams", [False, True])
def test_a_call_that_its_sdk_traces_has_one_span_which_says_where_it_is_recorded(
    observed: Observed, chat: onrecord.Conversation, streams: bool
) -> None:
    ask_anthropic(chat, streams=streams)
    assert observed.calls() == []
    (span,) = observed.spans("com.anthropic.sdk.python")
    told = attributes(span)
    (sent,) = [event for event in chat.events() if event.type == "request.sent"]
    assert told["onrecord.conversation"] == "support/4711"
    assert told["onrecord.version"] == sent.version
    assert [parent_of(each) for each in observed.named("onrecord.append")] == [id_of(span)] * 2
    # That SDK measures nothing.
    assert "gen_ai.client.inference.duration" in observed.points()


def test_a_call_of_an_sdk_that_is_told_not_to_trace_has_ours(
    observed: Observed, chat: onrecord.Conversation
) -> None:
    ask_anthropic(chat, streams=False, open_telemetry=False)
    (span,) = observed.calls()
    assert attributes(span)["gen_ai.provider.name"] == "anthropic"
    assert observed.spans("com.anthropic.sdk.python") == []


def test_a_span_of_an_agent_around_the_call_is_no_span_of_the_call(
    observed: Observed, chat: onrecord.Conversation, server: OpenAIServer, clients: Clients
) -> None:
    client = chat.record(clients.of(openai.OpenAI, server))
    of_agent = {"gen_ai.operation.name": "invoke_agent"}
    with observed.tracer.start_as_current_span("agent", attributes=of_agent) as agent:
        clients.ask(client)
    (span,) = observed.calls()
    assert parent_of(span) == id_of(agent)
