"""Requests that name no conversation find theirs by what they say, across restarts too."""

from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID

import anthropic
import openai
import pytest

import onrecord
from onrecord import Store
from onrecord.adapters.demo.services.scenes import Answer, JsonObject, PlainAnswer
from onrecord.adapters.demo.services.server import DemoServer
from onrecord.adapters.proxy import known_histories
from onrecord.adapters.recording.spool import Spool
from onrecord.adapters.storage.memory.memory import Memory
from onrecord.domain.events import AnnotationAdded
from onrecord.domain.log import CatalogueEntry
from tests.adapters.demo.demo_client import HELLO, MODEL
from tests.adapters.proxy.proxied import PROVIDER_KEY, Proxied, at, proxied
from tests.adapters.recorded_calls import said
from tests.factories import TENANT

SESSION = {"x-claude-code-session-id": "5e55"}


def telling() -> Any:
    """A model that says something else each time."""
    numbers = count(1)

    def script(_: JsonObject) -> Answer:
        return Answer(content=({"type": "text", "text": f"Answer {next(numbers)}."},))

    return script


@contextmanager
def calling(store: Store) -> Generator[tuple[Proxied, anthropic.Anthropic]]:
    with (
        DemoServer(telling()) as server,
        proxied(store, at(server.url)) as proxy,
        anthropic.Anthropic(
            api_key=PROVIDER_KEY, base_url=proxy.base("anthropic"), max_retries=0
        ) as client,
    ):
        yield proxy, client


def asked(client: anthropic.Anthropic, messages: Any = HELLO, **more: Any) -> Any:
    create: Any = client.messages.create
    return create(model=MODEL, max_tokens=64, messages=messages, **more)


def went_on(reply: Any, text: str = "And then?") -> list[JsonObject]:
    return [*HELLO, said(reply), {"role": "user", "content": text}]


def test_what_goes_on_from_an_answer_is_of_its_conversation(store: Store) -> None:
    with calling(store) as (proxy, client):
        reply = asked(client)
        asked(client, went_on(reply))
        texts = [turn.text for turn in proxy.only().history()]
    assert texts == ["Hello", "Answer 1.", "And then?", "Answer 2."]


def test_programs_that_begin_alike_are_kept_apart_by_their_answers(store: Store) -> None:
    with calling(store) as (proxy, client):
        replies = [asked(client) for _ in range(9)]
        for reply in replies:
            asked(client, went_on(reply))
        keys = proxy.keys()
    histories = [store.get(key).history() for key in keys]
    assert len(histories) == 9
    assert sorted(history[1].text for history in histories) == [
        f"Answer {number}." for number in range(1, 10)
    ]
    assert {len(history) for history in histories} == {4}


def test_an_edited_prompt_begins_another_conversation(store: Store) -> None:
    with calling(store) as (proxy, client):
        reply = asked(client)
        edited = [{"role": "user", "content": "Hi"}, *went_on(reply)[1:]]
        asked(client, edited)
        assert len(proxy.keys()) == 2


def test_a_conversation_is_found_that_another_process_recorded(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'log.db'}"
    with onrecord.connect(url) as store, calling(store) as (_, client):
        reply = asked(client)
    with onrecord.connect(url) as store, calling(store) as (proxy, client):
        asked(client, went_on(reply))
        assert len(proxy.only().history()) == 4


def test_a_conversation_that_was_forgotten_is_not_found(store: Store) -> None:
    with calling(store) as (proxy, client):
        reply = asked(client)
        asked(client, went_on(reply))
        store.forget(proxy.only().conversation_id, reason="asked to", actor="ana")
        asked(client, went_on(reply))
        (listed,) = [one for one in store.conversations() if one.key]
    assert (listed.key or "").startswith("unbound/")


def test_a_conversation_of_another_tenant_is_not_found(store: Store, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'log.db'}"
    with calling(store) as (_, client):
        reply = asked(client)
    with (
        onrecord.connect(url, tenant=UUID(int=7)) as theirs,
        calling(theirs) as (proxy, client),
    ):
        asked(client, went_on(reply))
        assert proxy.only().history()[0].text == "Hello"
        assert len(list(store.conversations())) == 1


class Listed(Memory):
    """A log that counts how often its catalogue is listed."""

    def __init__(self) -> None:
        super().__init__()
        self.listings = 0

    def conversations(self, tenant: UUID) -> Iterator[CatalogueEntry]:
        self.listings += 1
        return super().conversations(tenant)


@contextmanager
def sharing(backend: Memory, folder: Path, *tenants: UUID) -> Generator[list[anthropic.Anthropic]]:
    """Programs of several proxies on one log, each for its tenant; none knows what another recorded."""
    with ExitStack() as stack:
        server = stack.enter_context(DemoServer(telling()))
        clients: list[anthropic.Anthropic] = []
        for number, tenant in enumerate(tenants):
            spool = Spool(folder / f"spool-{number}")
            store = Store(backend, "a store", spool=spool, tenant=tenant)
            proxy = stack.enter_context(proxied(store, at(server.url)))
            options: Any = {"api_key": PROVIDER_KEY, "base_url": proxy.base("anthropic")}
            clients.append(stack.enter_context(anthropic.Anthropic(**options)))
        yield clients


def test_the_catalogue_is_listed_for_the_first_lookup_alone(tmp_path: Path) -> None:
    backend = Listed()
    with sharing(backend, tmp_path, TENANT, TENANT) as (one, other):
        for _ in range(3):
            asked(other, went_on(asked(one)))
            asked(one, went_on(asked(other)))
        assert backend.listings == 2
    heads = [entry.head for entry in backend.conversations(TENANT)]
    assert len(heads) == 6  # Each was gone on with by the other one.


def test_the_catalogue_is_listed_again_where_too_much_came(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known_histories, "_MOST_PAGES", 0)
    backend = Listed()
    with sharing(backend, tmp_path, TENANT, TENANT) as (one, other):
        for _ in range(2):
            asked(other, went_on(asked(one)))
        assert backend.listings == 2
    assert len(list(backend.conversations(TENANT))) == 2


def test_what_came_in_the_log_of_another_tenant_is_not_found(tmp_path: Path) -> None:
    backend = Listed()
    stranger = UUID(int=7)
    with sharing(backend, tmp_path, TENANT, stranger) as (one, other):
        asked(other, went_on(asked(other)))  # From now on it reads the end of the log.
        asked(other, went_on(asked(one)))
    assert len(list(backend.conversations(TENANT))) == 1
    assert len(list(backend.conversations(stranger))) == 2


def test_a_session_of_claude_code_is_a_conversation_and_its_agents_have_their_own(
    store: Store,
) -> None:
    with calling(store) as (proxy, client):
        asked(client, extra_headers=SESSION)
        asked(client, extra_headers={**SESSION, "x-claude-code-agent-id": "a1"})
        assert proxy.keys() == ["claude-code/5e55", "claude-code/5e55/a1"]


def test_a_conversation_of_an_agent_says_once_which_one_began_it(store: Store) -> None:
    agent = {**SESSION, "x-claude-code-agent-id": "a1"}
    with calling(store) as (_, client):
        reply = asked(client, extra_headers=agent)
        asked(client, went_on(reply), extra_headers=agent)
    chat = store.get("claude-code/5e55/a1")
    remarks = [event.event() for event in chat.events() if event.type == "annotation.added"]
    assert remarks == [AnnotationAdded(labels={"parent": "claude-code/5e55"})]
    texts = [turn.text for turn in chat.history()]
    assert texts == ["Hello", "Answer 1.", "And then?", "Answer 2."]


def test_a_side_call_of_a_session_is_beside_its_history(store: Store) -> None:
    with calling(store) as (proxy, client):
        reply = asked(client, extra_headers=SESSION)
        title = [{"role": "user", "content": "Write a title of five words."}]
        asked(client, title, extra_headers=SESSION)
        asked(client, went_on(reply), extra_headers=SESSION)
        texts = [turn.text for turn in proxy.only().history()]
    assert texts == ["Hello", "Answer 1.", "And then?", "Answer 3."]


@pytest.mark.parametrize("is_restarted", [False, True])
def test_a_response_is_gone_on_from_by_its_id(tmp_path: Path, *, is_restarted: bool) -> None:
    url = f"sqlite:///{tmp_path / 'log.db'}"
    with DemoServer([], openai=lambda _, __: PlainAnswer(text="Good day.")) as server:
        with onrecord.connect(url) as store:
            first = responded(store, server)
            if not is_restarted:
                gone_on_by_id(store, server, first)
        if is_restarted:
            with onrecord.connect(url) as store:
                gone_on_by_id(store, server, first)


def responded(store: Store, server: DemoServer, **more: Any) -> str:
    with (
        proxied(store, at(server.url)) as proxy,
        openai.OpenAI(api_key=PROVIDER_KEY, base_url=proxy.base("openai", "/v1")) as client,
    ):
        create: Any = client.responses.create
        return str(create(model="gpt-5", input="Hello", **more).id)


def gone_on_by_id(store: Store, server: DemoServer, first: str) -> None:
    with suppress(openai.BadRequestError):  # The demo's service holds nothing.
        responded(store, server, previous_response_id=first)
    (listed,) = store.conversations()
    types = [event.type for event in store.get(listed.conversation_id).events()]
    assert types.count("request.sent") == 2


def test_a_session_goes_where_its_header_says_and_reaches_no_provider(store: Store) -> None:
    with (
        DemoServer(telling()) as server,
        proxied(store, at(server.url)) as proxy,
        anthropic.Anthropic(api_key=PROVIDER_KEY, base_url=proxy.base("anthropic")) as client,
    ):
        asked(client, extra_headers={"X-Onrecord-Conversation": "a", **SESSION})
        (received,) = server.requests
        assert proxy.keys() == ["a"]
        assert "x-onrecord-conversation" not in received.headers
        assert received.headers["x-claude-code-session-id"] == "5e55"
