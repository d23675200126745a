"""What is read by the keys of a service: by people each time, by programs how often."""

from __future__ import annotations

from pathlib import Path

import pytest

import onrecord
from onrecord.adapters.service.access import entries_in, lists_in
from onrecord.adapters.upkeep.access_log import AccessLog
from onrecord.domain.errors import StorageFull
from onrecord.domain.operators import AccessFact
from tests.adapters.service.keys import KEYS, TENANT, Keys
from tests.adapters.service.served import Served, served

CHAT = "/v1/conversations/support%2F4711"


def said(service: Served) -> None:
    done = service.ask("POST", f"{CHAT}/prompts", {"text": "swordfish"}, key="writer")
    assert done.status < 300, done.data


def test_people_are_told_of_each_time_and_programs_by_the_minute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"sqlite:///{tmp_path / 'log.db'}"
    monkeypatch.setenv("ONRECORD_ACCESS_LOG", "on")
    with served(url, keyring=Keys()) as service:
        said(service)
        for key in ("writer", "writer", "reader"):
            assert service.ask("GET", f"{CHAT}/events", key=key).status == 200
        assert service.ask("GET", "/v1/search?text=swordfish", key="reader").status == 200
        assert service.ask("GET", "/v1/conversations/none/events", key="reader").status == 404
    monkeypatch.delenv("ONRECORD_ACCESS_LOG")
    with onrecord.connect(url, tenant=TENANT) as store:
        found = sorted(store.access.entries(), key=lambda each: each.via or "")
        assert store.verify().is_whole
    counted, events, searched = found
    route = "GET /v1/conversations/{key}/events"
    assert (counted.actor_name, counted.reads) == ("writer", {route: 2})
    assert counted.key_id == KEYS["writer"].key_id
    assert (events.actor_name, events.via, events.entries) == ("reader", route, 2)
    assert (events.key, events.key_id) == ("support/4711", KEYS["reader"].key_id)
    assert (searched.via, searched.asked) == ("GET /v1/search", ("text",))
    assert searched.query is not None
    with onrecord.connect(url, tenant=TENANT) as store:
        own = store.get("support/4711").conversation_id
        assert searched.conversations == (own,)
        assert store.access.entries(conversation=own) == [searched, events]


def test_nothing_is_answered_that_cannot_be_recorded_where_that_is_required(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(log: AccessLog, fact: AccessFact, actor: str | None) -> None:
        raise StorageFull("the disk is full")

    monkeypatch.setenv("ONRECORD_ACCESS_LOG", "required")
    monkeypatch.setattr(AccessLog, "record", full)
    with served(f"sqlite:///{tmp_path / 'log.db'}", keyring=Keys()) as service:
        said(service)
        refused = service.ask("GET", f"{CHAT}/events", key="reader")
        assert refused.status == 503
        assert b"swordfish" not in refused.data
        assert service.ask("GET", f"{CHAT}/events", key="writer").status == 200


@pytest.mark.parametrize(
    ("body", "entries"),
    [(b'{"events":[1,2],"next":null}', 2), (b'{"key":"a"}', 1), (b"[1]", 1), (b"none", 1)],
)
def test_the_entries_of_an_answer_are_those_of_its_lists(body: bytes, entries: int) -> None:
    assert entries_in(lists_in(body)) == entries
