"""Who did what, on the page: filters, pages, and the ways to the events."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest

import onrecord
from tests.adapters.page.test_proof import words
from tests.adapters.service.served import Served, served


@pytest.fixture
def gone(tmp_path: Path) -> UUID:
    """Two conversations: in one an event was redacted, the other was erased; the id of that."""
    with onrecord.connect(f"sqlite:///{tmp_path}/talks.db") as store:
        store.conversation("kept", actor="ana").user("Hello")
        store.conversation("kept", actor="ben").redact(2, "named somebody")
        erased = store.conversation("erased", actor="ana")
        erased.user("My name is Ann.")
        store.forget("erased", reason="asked to, ticket 88", actor="carla")
        return erased.conversation_id


@pytest.fixture
def page(gone: UUID, tmp_path: Path) -> Iterator[Served]:
    del gone
    with served(f"sqlite:///{tmp_path}/talks.db") as answering:
        yield answering


def test_one_link_says_who_erased_what_and_why(page: Served, gone: UUID) -> None:
    assert b'href="/audit?about=erasures"' in page.ask("GET", "/audit").data
    answer = page.ask("GET", "/audit?about=erasures")
    text = words(answer)
    assert "carla: asked to, ticket 88" in text
    assert f'href="/c/{gone}"'.encode() in answer.data
    assert b'href="/c/kept?at=3#v3"' in answer.data
    assert "message.recorded" not in text
    ofs = words(page.ask("GET", f"/audit?about=erasures&conversation_id={gone}"))
    assert "carla" in ofs
    assert "content.redacted" not in ofs


def test_a_redaction_names_the_event_that_it_leaves_out_and_why(
    page: Served, tmp_path: Path
) -> None:
    answer = page.ask("GET", "/audit?about=erasures&conversation=kept")
    assert "redacts version 2 : named somebody" in words(answer)
    assert b'href="/c/kept?at=2#v2"' in answer.data
    with onrecord.connect(f"sqlite:///{tmp_path}/talks.db") as store:
        store.forget("kept", reason="asked to, ticket 89", actor="carla")
    answer = page.ask("GET", "/audit?about=erasures")
    assert "content.redacted" in words(answer), "that it was done stays"
    assert b"named somebody" not in answer.data, "the reason was content of the conversation"


def test_filters_combine_and_what_is_left_empty_is_not_asked(page: Served) -> None:
    text = words(page.ask("GET", "/audit?actor=ben&type=&since=2001-01-01&until=&conversation="))
    assert "content.redacted" in text
    assert "carla" not in text
    assert "No entry matches." in words(page.ask("GET", "/audit?until=2001-01-01"))
    nowhere = page.ask("GET", "/audit?conversation=nobody")
    assert nowhere.status == 200
    assert "No conversation has this key." in words(nowhere)
    assert page.ask("GET", "/audit?type=a&about=erasures").status == 422


def test_the_pages_list_each_entry_once(page: Served) -> None:
    path, listed = "/audit?limit=2", list[str]()
    while path:
        text = page.ask("GET", path).data.decode()
        listed += re.findall(r'<th scope="row">(\S+)', text)
        following = re.search(r'href="(/audit\?[^"]*after=[^"]*)"', text)
        path = following[1].replace("&amp;", "&") if following else ""
    every = re.findall(r'<th scope="row">(\S+)', page.ask("GET", "/audit").data.decode())
    assert listed == every
    assert len(every) > 6
