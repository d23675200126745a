"""Scopes: what is called within one is recorded, whoever owns the client."""

import asyncio
import threading
from typing import Any

import anthropic
import httpx2
import openai
import pytest

import onrecord
from onrecord.adapters.demo.services.server import DemoServer
from tests.adapters import recorded_calls
from tests.adapters.openai_clients import ANSWERED, HELLO, KEY, MODEL, types
from tests.adapters.openai_server import Fails, OpenAIServer, Says
from tests.adapters.scopes.scoped_calls import ask, ask_later, calls

GREETING = Says("Hello! What can I do for you?")


# -- a scope ---------------------------------------------------------------------------------


def test_what_is_called_in_a_scope_is_recorded_and_nothing_else(
    chat: onrecord.Conversation, client: openai.OpenAI
) -> None:
    ask(client)
    with chat.recording():
        ask(client)
    ask(client)
    assert types(chat) == ANSWERED


def test_clients_made_in_a_scope_are_recorded_too(
    chat: onrecord.Conversation, server: OpenAIServer
) -> None:
    with chat.recording(), openai.OpenAI(api_key=KEY, base_url=server.url) as client:
        ask(client)
    assert types(chat) == ANSWERED


def test_anthropics_clients_are_recorded_in_a_scope(chat: onrecord.Conversation) -> None:
    with (
        DemoServer([recorded_calls.GREETING]) as server,
        anthropic.Anthropic(api_key=KEY, base_url=server.url) as client,
        chat.recording(),
    ):
        client.messages.create(
            model="claude-sonnet-5", max_tokens=9, messages=[{"role": "user", "content": "Hello"}]
        )
    assert types(chat) == ANSWERED


def test_scopes_nest_and_the_innermost_holds(
    chat: onrecord.Conversation, other: onrecord.Conversation, client: openai.OpenAI
) -> None:
    with chat.recording():
        with other.recording():
            ask(client)
        assert (calls(chat), calls(other)) == (0, 1)
        ask(client)
    assert (calls(chat), calls(other)) == (1, 1)


def test_a_scope_ends_with_an_error(chat: onrecord.Conversation, client: openai.OpenAI) -> None:
    with pytest.raises(LookupError), chat.recording():
        raise LookupError
    ask(client)
    assert chat.events(after=0) == []


def test_a_scope_is_entered_once(chat: onrecord.Conversation) -> None:
    scope = chat.recording()
    with scope, pytest.raises(RuntimeError, match="ask for another"):
        scope.__enter__()


def test_a_recorded_client_is_not_recorded_twice(
    chat: onrecord.Conversation, store: onrecord.Store, client: openai.OpenAI
) -> None:
    with chat.recording():
        ask(chat.record(client))
        ask(store.record(client))
    assert calls(chat) == 2


@pytest.mark.filterwarnings("ignore:an embedding is not recorded")
def test_other_requests_are_left_alone(chat: onrecord.Conversation, server: OpenAIServer) -> None:
    with chat.recording(), httpx2.Client() as http:
        http.get(f"{server.origin}/elsewhere")
        http.post(f"{server.origin}/v1/embeddings", json={"input": "x"})
    assert len(server.received) == 2
    assert chat.events(after=0) == []


def test_any_http_client_that_speaks_a_providers_wire_is_recorded(
    chat: onrecord.Conversation, server: OpenAIServer
) -> None:
    with chat.recording(), httpx2.Client() as http:
        http.post(f"{server.url}/chat/completions", json={"model": MODEL, "messages": HELLO})
    assert types(chat) == ANSWERED


def test_a_request_that_is_sent_once_more_after_its_answer_is_another_one(
    chat: onrecord.Conversation, server: OpenAIServer
) -> None:
    with chat.recording(), httpx2.Client() as http:
        asked = {"model": MODEL, "messages": HELLO}
        request = http.build_request("POST", f"{server.url}/chat/completions", json=asked)
        for _ in range(2):
            http.send(request)
    assert (calls(chat), types(chat).count("response.completed")) == (2, 2)


@pytest.mark.parametrize("kind", [openai.OpenAI, openai.AsyncOpenAI])
def test_a_call_that_cannot_be_recorded_in_its_scope_is_refused(
    chat: onrecord.Conversation, server: OpenAIServer, kind: type[Any]
) -> None:
    chat.user("Hello")
    chat.end()

    async def refused() -> BaseException:
        async with openai.AsyncOpenAI(api_key=KEY, base_url=server.url) as client:
            with pytest.raises(onrecord.NotRecorded) as caught, chat.recording():
                await ask_later(client)
        return caught.value

    if kind is openai.AsyncOpenAI:
        error = asyncio.run(refused())
    else:
        with openai.OpenAI(api_key=KEY, base_url=server.url) as client:
            with pytest.raises(onrecord.NotRecorded) as caught, chat.recording():
                ask(client)
            error = caught.value
    assert isinstance(error, openai.OpenAIError)
    assert server.received == []


def test_retries_in_a_scope_are_attempts_of_one_request(chat: onrecord.Conversation) -> None:
    with (
        OpenAIServer([Fails(500), GREETING]) as server,
        openai.OpenAI(api_key=KEY, base_url=server.url, max_retries=1) as client,
        chat.recording(),
    ):
        ask(client)
    assert types(chat) == [*ANSWERED[:2], "attempt.failed", *ANSWERED[2:]]


def test_a_stream_belongs_to_the_scope_that_it_was_begun_in(
    chat: onrecord.Conversation, other: onrecord.Conversation, client: openai.OpenAI
) -> None:
    with chat.recording():
        stream = client.chat.completions.create(model=MODEL, messages=HELLO, stream=True)
    with other.recording():
        for _ in stream:
            pass
    assert types(chat) == ANSWERED
    assert other.events(after=0) == []


def test_a_proxy_is_recorded_in_a_scope(chat: onrecord.Conversation, server: OpenAIServer) -> None:
    through = httpx2.Client(proxy=server.origin)
    with (
        openai.OpenAI(api_key=KEY, base_url="http://api.example/v1", http_client=through) as client,
        chat.recording(),
    ):
        ask(client)
    assert server.received[0].headers["host"] == "api.example"
    assert types(chat) == ANSWERED


# -- what it costs ---------------------------------------------------------------------------


def test_nothing_is_wrapped_outside_of_scopes(
    chat: onrecord.Conversation, client: openai.OpenAI
) -> None:
    http: Any = vars(client)["_client"]
    url = httpx2.URL("http://x/v1/chat/completions")
    with chat.recording():
        within = http._transport_for_url(url)
    assert within is not http._transport
    assert within.inner is http._transport
    assert http._transport_for_url(url) is http._transport


def test_a_scope_that_can_record_nothing_says_so(
    chat: onrecord.Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> None:
        """Find no module of that name."""

    monkeypatch.setattr("onrecord.adapters.wire.clients.unwrapped._hooked", set[type[Any]]())
    monkeypatch.setattr("onrecord.adapters.wire.clients.unwrapped.find_spec", missing)
    monkeypatch.setattr(
        "onrecord.adapters.wire.clients.unwrapped.kinds", dict[type[Any], type[Any]]
    )
    with (
        pytest.warns(onrecord.RecordingWarning, match="httpx2 is missing") as said,
        chat.recording(),
    ):
        pass
    assert said[0].filename == __file__


def test_threads_are_marked_once_though_no_client_is_there(
    chat: onrecord.Conversation, client: openai.OpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    with chat.recording():
        marked = threading.Thread.start
    monkeypatch.setattr("onrecord.adapters.wire.clients.unwrapped._hooked", set[type[Any]]())
    with chat.recording():
        assert threading.Thread.start is marked


def test_the_hook_is_installed_once(chat: onrecord.Conversation, client: openai.OpenAI) -> None:
    for _ in range(3):
        with chat.recording():
            ask(client)
    assert calls(chat) == 3
