"""Under which rules something was done: the policy and the deployment that a caller names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import openai
import pytest

import onrecord
from tests.adapters.openai_clients import Clients
from tests.adapters.openai_server import OpenAIServer, Says

Rules = tuple[str | None, str | None]


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(lambda _: Says("Hello!")) as running:
        yield running


@pytest.fixture
def clients() -> Iterator[Clients]:
    with Clients() as made:
        yield made


@pytest.fixture
def store(tmp_path: Path) -> Iterator[onrecord.Store]:
    url = f"sqlite:///{tmp_path / 'talks.db'}"
    with onrecord.connect(url, policy="2026-11", deployment="eu-1@4f9c2d1") as opened:
        yield opened


def rules(store: onrecord.Store, key: str = "talk") -> list[Rules]:
    headers = [event.client_header() for event in store.conversation(key).events()]
    return [(header.policy, header.deployment) for header in headers]


def test_where_nobody_names_rules_headers_have_none() -> None:
    with onrecord.connect("memory://") as store:
        store.conversation("talk").user("Hello")
        assert rules(store) == [(None, None)] * 2
        (first, _) = store.conversation("talk").events()
        assert first.client_header().metadata == {}


def test_rules_stand_in_headers_in_clear(store: onrecord.Store) -> None:
    store.conversation("talk").user("Hello")
    (first, _) = store.conversation("talk").events()
    assert first.client_header().metadata == {
        "onrecord:policy": "2026-11",
        "onrecord:deployment": "eu-1@4f9c2d1",
    }


def test_rules_given_to_connect_come_before_those_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ONRECORD_POLICY", "2026-10")
    monkeypatch.setenv("ONRECORD_DEPLOYMENT", "eu-1")
    for policy, holds in ((None, "2026-10"), ("2026-11", "2026-11")):
        with onrecord.connect("memory://", policy=policy) as store:
            store.conversation("talk").user("Hello")
            assert rules(store) == [(holds, "eu-1")] * 2


def test_each_rule_is_that_of_the_nearest_that_names_it(
    store: onrecord.Store, server: OpenAIServer, clients: Clients
) -> None:
    chat = store.conversation("talk", policy="2026-12")
    client = chat.record(clients.of(openai.OpenAI, server))
    with chat.recording(deployment="eu-2"):
        clients.ask(client)
    chat.user("And then?")
    assert set(rules(store)[:5]) == {("2026-12", "eu-2")}
    assert rules(store)[5:] == [("2026-12", "eu-1@4f9c2d1")]


def test_the_header_of_a_call_names_its_rules_and_so_does_the_answer(
    store: onrecord.Store, server: OpenAIServer, clients: Clients
) -> None:
    client = store.record(clients.of(openai.OpenAI, server))
    theirs = store.conversation("talk", policy="v1.2:beta", on_behalf_of="ana")
    clients.ask(client, extra_headers=theirs.headers)
    assert set(rules(store)) == {("v1.2:beta", "eu-1@4f9c2d1")}
    assert all(each.client_header().on_behalf_of for each in theirs.events())


def test_a_header_whose_rules_were_changed_is_refused(
    store: onrecord.Store, server: OpenAIServer, clients: Clients
) -> None:
    client = store.record(clients.of(openai.OpenAI, server))
    ((name, proven),) = store.conversation("talk", policy="2026-11").headers.items()
    with pytest.raises(onrecord.NotRecorded, match="not one of this store"):
        clients.ask(client, extra_headers={name: proven.replace("2026-11", "2026-12")})
    assert server.received == []


@pytest.mark.parametrize("name", ["", " ", "a b", "a;b", "Zoë", "a\n", "x" * 129, 7])
@pytest.mark.parametrize("which", ["policy", "deployment"])
@pytest.mark.parametrize("opened", [onrecord.connect, onrecord.Store.conversation])
def test_what_names_no_version_is_refused_and_not_repeated(
    store: onrecord.Store, opened: Callable[..., object], which: str, name: object
) -> None:
    where = "memory://" if opened is onrecord.connect else store
    more = () if opened is onrecord.connect else ("talk",)
    with pytest.raises(onrecord.InvalidContent) as refused:
        opened(where, *more, **{which: name})
    assert which in str(refused.value)
    assert "Zoë" not in str(refused.value)
    assert list(store.conversation("talk").events()) == []


def test_a_tool_context_cannot_name_rules_and_stands_beside_them(store: onrecord.Store) -> None:
    chat = store.conversation("talk")
    chat.user("Where is it?")
    with pytest.raises(onrecord.InvalidContent, match="kept for Onrecord"):
        chat.set_tool_context({"onrecord:policy": "2026-12"}, persist=["onrecord:policy"])
    chat.set_tool_context({"case": "88"}, persist=["case"])
    assert set(rules(store)) == {("2026-11", "eu-1@4f9c2d1")}
    assert dict(chat.tool_context()) == {"case": "88"}
