"""The caller's trace in headers: as OpenTelemetry has it, or as a header of the call names it."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry import trace
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags

import onrecord
from onrecord.adapters.telemetry import tracing
from onrecord.adapters.telemetry.tracing import trace_in
from onrecord.domain.new_events import Trace
from tests.adapters.openai_clients import HELLO, MODEL, Clients
from tests.adapters.openai_server import OpenAIServer, Says

IDS = (0x0AF7651916CD43DD8448EB211C80319C, 0xB7AD6B7169203331)
PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
NAMED = Trace(UUID("4bf92f35-77b3-4da6-a3ce-929d0e0e4736"), "00f067aa0ba902b7")


def span(trace_id: int, span_id: int) -> NonRecordingSpan:
    return NonRecordingSpan(
        SpanContext(trace_id, span_id, is_remote=False, trace_flags=TraceFlags(1))
    )


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
    return onrecord.connect("memory://").conversation("talk", actor="ana")


def traces(chat: onrecord.Conversation, after: int = 0) -> list[tuple[UUID | None, str | None]]:
    headers = [event.client_header() for event in chat.events(after=after)]
    return [(header.correlation_id, header.span) for header in headers]


def test_a_verb_bears_the_span_that_it_is_called_in(chat: onrecord.Conversation) -> None:
    chat.user("Before")
    with trace.use_span(span(*IDS)):
        chat.user("Within")
    chat.user("After")
    here = (UUID(int=IDS[0]), f"{IDS[1]:016x}")
    assert traces(chat, after=1) == [(None, None), here, (None, None)]


@pytest.mark.parametrize("kind", [openai.OpenAI, openai.AsyncOpenAI])
def test_a_call_and_its_answer_bear_the_span_of_the_caller(
    chat: onrecord.Conversation, server: OpenAIServer, clients: Clients, kind: type[openai.OpenAI]
) -> None:
    client = chat.record(clients.of(kind, server))
    with trace.use_span(span(*IDS)):
        clients.ask(client)
    assert set(traces(chat)) == {(UUID(int=IDS[0]), f"{IDS[1]:016x}")}
    assert {event.client_header().actor is None for event in chat.events()} == {False}


def test_a_traceparent_of_the_call_comes_first(
    chat: onrecord.Conversation, server: OpenAIServer, clients: Clients
) -> None:
    client = chat.record(clients.of(openai.OpenAI, server))
    with trace.use_span(span(*IDS)):
        clients.ask(client, extra_headers={"traceparent": PARENT})
    assert set(traces(chat)) == {NAMED}
    assert server.received[0].headers["traceparent"] == PARENT


async def test_two_tasks_have_each_its_own_span(
    chat: onrecord.Conversation, server: OpenAIServer
) -> None:
    both = asyncio.Barrier(2)
    async with openai.AsyncOpenAI(api_key="k", base_url=server.url) as plain:
        client = chat.record(plain)

        async def ask(number: int) -> None:
            with trace.use_span(span(number, number)):
                await both.wait()
                messages: Any = [{"role": "user", "content": f"I am {number}"}]
                await client.chat.completions.create(model=MODEL, messages=messages)
                await both.wait()

        await asyncio.gather(ask(1), ask(2))
    for event in chat.events():
        for number in (1, 2):
            if f"I am {number}".encode() in (event.body or b""):
                assert event.client_header().correlation_id == UUID(int=number)


def test_what_led_to_an_answer_stays_ours(
    chat: onrecord.Conversation, server: OpenAIServer, clients: Clients
) -> None:
    client = chat.record(clients.of(openai.OpenAI, server))
    with trace.use_span(span(*IDS)):
        clients.ask(client, said=HELLO)
    request, *answer = [event for event in chat.events() if event.type != "message.recorded"][1:]
    assert {event.client_header().causation_id for event in answer} == {request.event_id}


def test_a_program_without_opentelemetry_does_not_load_it() -> None:
    program = (
        "import sys, onrecord; onrecord.connect('memory://').conversation('a').user('Hello');"
        "assert not [name for name in sys.modules if name.startswith('opentelemetry')]"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("broken", [object(), None])
def test_a_broken_opentelemetry_keeps_nothing_from_being_recorded(
    chat: onrecord.Conversation, monkeypatch: pytest.MonkeyPatch, broken: object
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.trace", broken)
    chat.user("Hello")
    assert traces(chat) == [(None, None), (None, None)]


@pytest.mark.parametrize(
    "header",
    [
        "",
        "00",
        PARENT.upper(),
        PARENT + "-more",
        "ff" + PARENT[2:],
        "00-" + "0" * 32 + PARENT[35:],
        PARENT[:36] + "0" * 16 + "-01",
        PARENT.replace("-", "_"),
    ],
)
def test_what_is_no_traceparent_names_no_trace(header: str) -> None:
    assert trace_in(header) is None


def test_a_later_version_may_say_more() -> None:
    assert trace_in("01" + PARENT[2:] + "-more") == NAMED


@given(st.text())
def test_any_text_is_a_trace_or_none(header: str) -> None:
    named = trace_in(header)
    assert named is None or (len(named.span) == 16 and named.trace_id.int)


def test_the_header_is_the_one_of_the_standard() -> None:
    assert tracing.TRACEPARENT == "traceparent"
