"""One recorded client for all conversations of a store: what binds each call to one of them."""

import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import UUID

import openai
import pytest

import onrecord
from onrecord.adapters.store import backend_of
from onrecord.domain.events import MessageRecorded
from tests.adapters.openai_clients import (
    ANSWERED,
    APIS,
    KINDS,
    Api,
    Clients,
    types,
)
from tests.adapters.openai_server import Fails, JsonObject, OpenAIServer, Redirects, Says
from tests.adapters.recorded_calls import known, requests_of

HEADER = "onrecord-conversation"
GREETING = Says("Hello! What can I do for you?")
TENANT = UUID(int=7)


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(lambda _: GREETING) as running:
        yield running


@pytest.fixture
def clients() -> Iterator[Clients]:
    with Clients() as made:
        yield made


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'talks.db'}"


@pytest.fixture
def store(url: str) -> Iterator[onrecord.Store]:
    with onrecord.connect(url) as opened:
        yield opened


@pytest.fixture
def client(store: onrecord.Store, clients: Clients, server: OpenAIServer) -> openai.OpenAI:
    recorded: openai.OpenAI = store.record(clients.of(openai.OpenAI, server), unbound="refuse")
    return recorded


def keys(store: onrecord.Store) -> list[str]:
    return sorted(listed.key or "" for listed in store.conversations())


# -- by header -------------------------------------------------------------------------------


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_header_binds_a_call_and_never_leaves_the_machine(
    store: onrecord.Store,
    clients: Clients,
    server: OpenAIServer,
    kind: type[openai.OpenAI],
    api: Api,
) -> None:
    client = store.record(clients.of(kind, server))
    one, other = store.conversation("one"), store.conversation("other")
    for chat in (one, other, one):
        clients.ask(client, api, extra_headers=chat.headers)
    assert types(other) == ANSWERED
    assert types(one).count("request.sent") == 2
    assert keys(store) == ["one", "other"]
    assert not any(HEADER in received.headers for received in server.received)


def test_the_header_is_not_stored(
    store: onrecord.Store, clients: Clients, client: openai.OpenAI, tmp_path: Path
) -> None:
    chat = store.conversation("one")
    clients.ask(client, extra_headers=chat.headers)
    ((name, value),) = chat.headers.items()
    assert name == "onrecord-conversation"
    for file in tmp_path.iterdir():
        content = file.read_bytes() if file.is_file() else b""
        assert value.encode() not in content
        assert value.partition(".")[2].encode() not in content


def test_the_header_is_taken_out_of_calls_that_are_no_turn(
    store: onrecord.Store, client: openai.OpenAI, server: OpenAIServer
) -> None:
    with pytest.raises(openai.NotFoundError):
        client.models.list(extra_headers=store.conversation("one").headers)
    assert HEADER not in server.received[0].headers


def test_the_header_binds_all_attempts_of_a_call(store: onrecord.Store, clients: Clients) -> None:
    chat = store.conversation("one")
    with OpenAIServer([Fails(500), GREETING]) as server:
        client = store.record(clients.of(openai.OpenAI, server, max_retries=1), unbound="refuse")
        clients.ask(client, extra_headers=chat.headers)
        assert [HEADER in received.headers for received in server.received] == [False, False]
    assert types(chat) == [*ANSWERED[:2], "attempt.failed", *ANSWERED[2:]]


def test_the_header_goes_on_to_no_place_that_a_call_is_sent_on_to(
    store: onrecord.Store, clients: Clients, server: OpenAIServer
) -> None:
    chat = store.conversation("one")
    with OpenAIServer([Redirects(f"{server.url}/chat/completions")]) as gate:
        client = store.record(clients.of(openai.OpenAI, gate), unbound="refuse")
        clients.ask(client, extra_headers=chat.headers)
        received = [*gate.received, *server.received]
    assert [HEADER in it.headers for it in received] == [False, False]
    assert types(chat) == [*ANSWERED[:2], "attempt.failed", *ANSWERED[2:]]


@pytest.mark.parametrize("how", ["forged", "altered", "cut", "empty", "of another store"])
def test_a_header_that_this_store_did_not_give_is_refused(
    store: onrecord.Store,
    clients: Clients,
    client: openai.OpenAI,
    server: OpenAIServer,
    tmp_path: Path,
    how: str,
) -> None:
    given = store.conversation("one").headers[HEADER]
    name, _, proof = given.partition(".")
    other = store.conversation("other").headers[HEADER].partition(".")[0]
    with onrecord.connect(f"sqlite:///{tmp_path / 'other.db'}") as elsewhere:
        values = {
            "forged": f"{name}.{'0' * len(proof)}",
            "altered": f"{other}.{proof}",
            "cut": name,
            "empty": "",
            "of another store": elsewhere.conversation("one").headers[HEADER],
        }
    with pytest.raises(onrecord.NotRecorded, match="not one of this store") as refused:
        clients.ask(client, extra_headers={HEADER: values[how]})
    assert isinstance(refused.value, openai.OpenAIError)
    assert server.received == []
    assert keys(store) == []


def test_a_header_of_another_tenant_is_refused(
    store: onrecord.Store, url: str, clients: Clients, client: openai.OpenAI, server: OpenAIServer
) -> None:
    with onrecord.connect(url, tenant=TENANT) as theirs:
        headers = theirs.conversation("one").headers
    with pytest.raises(onrecord.NotRecorded, match="not one of this store"):
        clients.ask(client, extra_headers=headers)
    assert server.received == []


def test_another_process_may_have_given_the_header(
    store: onrecord.Store, url: str, clients: Clients, client: openai.OpenAI
) -> None:
    with onrecord.connect(url) as elsewhere:
        chat = elsewhere.conversation("one")
        headers = chat.headers
        with pytest.raises(onrecord.NotRecorded, match="nothing was said in the conversation"):
            clients.ask(client, extra_headers=headers)
        chat.user("Hello")
        clients.ask(client, said=chat.request("openai-chat")["messages"], extra_headers=headers)
    assert types(store.conversation("one")) == ANSWERED


def test_a_request_that_was_rendered_is_known_by_whichever_client_sends_it(
    store: onrecord.Store, clients: Clients, client: openai.OpenAI
) -> None:
    chat = store.conversation("one")
    chat.user("Hello")
    for wanted in ("openai-chat", "openai-chat"):
        request = chat.request(wanted)
        clients.ask(client, said=request["messages"], extra_headers=chat.headers)
        chat.user("Go on")
    assert all(sent.recipe is not None and sent.line is None for sent in requests_of(chat))


# -- what is more specific -------------------------------------------------------------------


def test_the_header_comes_before_the_client_and_the_client_before_the_scope(
    store: onrecord.Store, clients: Clients, server: OpenAIServer
) -> None:
    header, client, scope = (store.conversation(key) for key in ("header", "client", "scope"))
    plain = clients.of(openai.OpenAI, server)
    of_client, of_store = client.record(plain), store.record(plain)
    with scope.recording():
        clients.ask(of_client, extra_headers=header.headers)
        assert keys(store) == ["header"]
        clients.ask(of_client)
        assert keys(store) == ["client", "header"]
        clients.ask(of_store)
        assert keys(store) == ["client", "header", "scope"]
        clients.ask(plain, extra_headers=header.headers)
    assert types(header).count("request.sent") == 2
    assert types(client) == types(scope) == ANSWERED
    assert not any(HEADER in received.headers for received in server.received)


def test_a_client_of_the_store_may_be_taken_over_by_a_conversation(
    store: onrecord.Store, clients: Clients, client: openai.OpenAI
) -> None:
    chat = store.conversation("one")
    clients.ask(chat.record(client))
    assert types(chat) == ANSWERED


def test_a_client_is_wrapped_once_for_a_store(
    store: onrecord.Store, clients: Clients, server: OpenAIServer
) -> None:
    once = store.record(clients.of(openai.OpenAI, server))
    assert store.record(once) is once
    assert store.record(once, unbound="refuse") is not once


# -- by nothing ------------------------------------------------------------------------------


def test_a_call_that_nothing_binds_has_a_conversation_of_its_own(
    store: onrecord.Store,
    clients: Clients,
    server: OpenAIServer,
    caplog: pytest.LogCaptureFixture,
) -> None:
    client = store.record(clients.of(openai.OpenAI, server))
    with caplog.at_level(logging.WARNING, "onrecord"):
        clients.ask(client)
        clients.ask(client)
    found = keys(store)
    assert len(found) == 2
    assert all(key.startswith("unbound/") for key in found)
    assert [types(store.conversation(key)) for key in found] == [ANSWERED] * 2
    assert [record.getMessage() for record in caplog.records].count(caplog.messages[0]) == 1
    assert "bound to no conversation" in caplog.messages[0]


def test_attempts_of_an_unbound_call_share_its_conversation(
    store: onrecord.Store, clients: Clients
) -> None:
    with OpenAIServer([Fails(500), Fails(503), GREETING]) as server:
        clients.ask(store.record(clients.of(openai.OpenAI, server, max_retries=2)))
    (key,) = keys(store)
    assert types(store.conversation(key)).count("attempt.failed") == 2


@pytest.mark.parametrize("kind", KINDS)
def test_a_call_that_nothing_binds_is_refused_where_that_is_wanted(
    store: onrecord.Store, clients: Clients, server: OpenAIServer, kind: type[openai.OpenAI]
) -> None:
    client = store.record(clients.of(kind, server, max_retries=3), unbound="refuse")
    with pytest.raises(onrecord.NotRecorded, match=r"extra_headers=chat\.headers") as refused:
        clients.ask(client)
    assert isinstance(refused.value, openai.OpenAIError)
    assert server.received == []
    assert keys(store) == []


# -- many at once ----------------------------------------------------------------------------


def test_threads_share_a_client_and_each_call_is_where_it_belongs(
    store: onrecord.Store, clients: Clients
) -> None:
    def echo(request: JsonObject) -> Says:
        return Says(f"You said {request['messages'][-1]['content']}")

    with OpenAIServer(echo) as server:
        client = store.record(clients.of(openai.OpenAI, server), unbound="refuse")

        def ask(number: int) -> None:
            chat = store.conversation(f"talk/{number % 5}")
            said = [{"role": "user", "content": f"{number % 5}: {number}"}]
            clients.ask(client, said=said, extra_headers=chat.headers)

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(ask, range(40)))
    for number in range(5):
        chat = store.conversation(f"talk/{number}")
        texts = [
            event.model_dump_json()
            for event in map(known, chat.events(after=0))
            if isinstance(event, MessageRecorded)
        ]
        assert types(chat).count("response.completed") == 8
        assert all(f"{number}: " in text for text in texts)


def test_the_header_says_nothing_of_the_conversations_key(store: onrecord.Store) -> None:
    chat = store.conversation("patient/Erika Mustermann")
    assert "Erika" not in str(chat.headers)
    assert chat.headers == chat.headers


# -- what a request goes on from -------------------------------------------------------------


def test_the_first_request_of_a_client_goes_on_from_where_it_is_told_to(
    store: onrecord.Store, clients: Clients, server: OpenAIServer
) -> None:
    chat = store.conversation("one")
    plain = clients.of(openai.OpenAI, server)
    first = [{"role": "user", "content": "Hello"}]
    clients.ask(chat.record(plain), said=first)
    answered = chat.head().version
    before = [*first, {"role": "assistant", "content": GREETING.text}]
    clients.ask(chat.record(plain), said=[*before, {"role": "user", "content": "Bonn?"}])
    edited = [*before, {"role": "user", "content": "Ulm?"}]
    client = chat.record(plain, after=answered)
    clients.ask(client, said=edited)
    assert contents(chat) == ["Hello", GREETING.text, "Ulm?", GREETING.text]
    on = [{"role": "assistant", "content": GREETING.text}, {"role": "user", "content": "And now?"}]
    clients.ask(client, said=[*edited, *on])
    assert contents(chat)[4:] == ["And now?", GREETING.text]


def contents(chat: onrecord.Conversation) -> list[str]:
    """The texts of the conversation's history."""
    return [message["content"] for message in chat.request("openai-chat")["messages"]]


@pytest.mark.parametrize("after", [0, 99, "1"])
def test_a_version_that_is_not_there_is_refused(
    store: onrecord.Store, clients: Clients, server: OpenAIServer, after: int
) -> None:
    chat = store.conversation("one")
    chat.user("Hello")
    with pytest.raises(onrecord.InvalidInput):
        chat.record(clients.of(openai.OpenAI, server), after=after)


# -- what is given by mistake ----------------------------------------------------------------


def test_only_what_is_known_may_become_of_unbound_calls(
    store: onrecord.Store, clients: Clients, server: OpenAIServer
) -> None:
    wrong: Any = "drop"
    with pytest.raises(onrecord.InvalidInput, match='unbound is "record" or "refuse"'):
        store.record(clients.of(openai.OpenAI, server), unbound=wrong)


def test_recording_a_client_writes_nothing(
    store: onrecord.Store, clients: Clients, server: OpenAIServer
) -> None:
    chat = store.conversation("one")
    chat.record(clients.of(openai.OpenAI, server))
    with chat.recording():
        pass
    assert backend_of(store).find(store.tenant, "one") is None
