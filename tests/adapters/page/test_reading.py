"""What a reader does with a conversation: search in it, see an event as JSON, copy a stretch."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest

import onrecord
from onrecord import AssistantCall
from onrecord.adapters.page.conversation import event_page
from onrecord.adapters.page.conversation.word_search import pieces
from onrecord.adapters.page.share import copying
from tests.adapters.service.served import Served, served

KEY = "support/<b>47"
PATH = "/c/support%2F%3Cb%3E47"
FENCE = "```"


@pytest.fixture(scope="module")
def page(folder: Path) -> Iterator[Served]:
    url = f"sqlite:///{folder / 'log.db'}"
    with onrecord.connect(url) as store:
        chat = store.conversation(KEY, actor="ana")
        chat.user(f"Where is my <i>parcel</i>? \u202e {FENCE}")
        chat.assistant("I look.", calls=[AssistantCall("find_parcel", {"id": 7}, id="c1")])
        chat.tool_result("c1", f"The parcel is in Ghent. {FENCE}")
        store.conversation("other").user("Another parcel")
    with served(url) as answering:
        yield answering


def test_the_search_of_a_conversation_finds_its_events_alone_and_marks_the_words(
    page: Served,
) -> None:
    text = page.ask("GET", f"{PATH}/search?text=PARCEL").data.decode()
    found = re.findall(rf'<li><a href="{re.escape(PATH)}\?at=(\d+)#v\1">', text)
    assert [int(each) for each in found] == sorted(map(int, found), reverse=True)
    assert len(found) == 3
    assert "&lt;i&gt;<mark>parcel</mark>&lt;/i&gt;" in text
    assert "Another" not in text
    assert 'action="/c/support%2F%3Cb%3E47/search"' in page.ask("GET", PATH).data.decode()


def test_a_search_that_finds_nothing_says_what_is_looked_through(page: Served) -> None:
    text = page.ask("GET", f"{PATH}/search?text=bicycle").data.decode()
    assert "No event of this conversation says that." in text
    assert "It does not look through reasoning, instructions" in text
    assert page.ask("GET", f"{PATH}/search").status == 200
    assert page.ask("GET", f"{PATH}/search?text=-parcel").status == 422
    assert page.ask("GET", "/c/nobody/search?text=a").status == 404


def test_words_are_marked_as_the_search_reads_them() -> None:
    assert [
        (piece.text, piece.is_found)
        for piece in pieces("A find_parcel, Paket!", frozenset(("parcel", "paket")))
    ] == [
        ("A find_", False),
        ("parcel", True),
        (", ", False),
        ("Paket", True),
        ("!", False),
    ]
    assert [piece.text for piece in pieces("東京都", frozenset("京"))] == ["東", "京", "都"]


def test_an_event_is_shown_as_the_json_that_is_recorded(
    page: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = page.ask("GET", PATH).data.decode()
    assert f'href="{PATH}/events/2"' in rows
    text = page.ask("GET", f"{PATH}/events/2").data.decode()
    assert "&lt;i&gt;parcel&lt;/i&gt;" in text
    assert "\u202e" not in text
    assert "\\u202e" in text
    assert page.ask("GET", f"{PATH}/events/99").status == 404
    monkeypatch.setattr(event_page, "_LONGEST", 40)
    cut = page.ask("GET", f"{PATH}/events/2").data.decode()
    assert "These are the first 40 characters of" in cut
    assert "parcel&lt;" not in cut
    assert f'href="{PATH}/copy?as=json&amp;after=1&amp;until=2"' in cut


def test_a_stretch_is_copied_as_markdown_that_says_what_is_said(page: Served) -> None:
    answer = page.ask("GET", f"{PATH}/copy?as=markdown&after=1")
    assert (answer.status, answer.headers["content-type"]) == (200, "text/plain; charset=utf-8")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "content-disposition" not in answer.headers
    text = answer.data.decode()
    assert text.startswith("# support/<b>47\n\n## Exchange 1, ")
    assert "**user** (ana) · version 2\n\nWhere is my <i>parcel</i>? \\u202e" in text
    assert '**tool call** `find_parcel` · version 4\n\n```\n{"id":7}\n```' in text
    assert "· of version 4\n\n````\nfind_parcel: The parcel is in Ghent. ```\n````" in text


def test_a_stretch_is_copied_as_json_and_says_where_it_ends_early(
    page: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = page.ask("GET", f"{PATH}/copy?as=json&after=1&until=3").data.decode()
    events = [json.loads(line) for line in text.splitlines()]
    assert [event["version"] for event in events] == [2, 3]
    assert "\u202e" in events[0]["body"]["content"][0]["text"]
    monkeypatch.setattr(copying, "_MOST_EVENTS", 1)
    short = page.ask("GET", f"{PATH}/copy?as=json").data.decode().splitlines()
    assert [*json.loads(short[-1])] == ["incomplete"]
    assert "It ends at version 1, " in page.ask("GET", f"{PATH}/copy").data.decode()
    assert page.ask("GET", f"{PATH}/copy?as=pdf").status == 422


def test_nothing_that_was_forgotten_is_copied_or_shown(page: Served, gone: UUID) -> None:
    for path in ("", "/events/2", "/copy?as=json", "/copy", "/search?text=parcel"):
        answer = page.ask("GET", f"/c/{gone}{path}")
        assert (answer.status, "secret" in answer.data.decode()) == (200, False), path


def test_a_copy_leaves_out_what_was_redacted_and_says_so(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'log.db'}"
    with onrecord.connect(url) as store:
        chat = store.conversation("card", actor="bo")
        card = chat.user("My card is 4000 0012.").last
        chat.user("And now?")
        chat.redact(card, "a number of a card")
    with served(url) as answering:
        assert "4000 0012" in answering.ask("GET", "/c/card").data.decode()
        for form in ("markdown", "json"):
            text = answering.ask("GET", f"/c/card/copy?as={form}").data.decode()
            assert "4000 0012" not in text
            assert "redacted in the record" in text
            assert "And now?" in text


def test_no_copy_repeats_by_a_request_that_was_sent_what_was_redacted(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'log.db'}"
    sent = {"model": "m", "messages": [{"role": "user", "content": "My card is 4000 0012."}]}
    with onrecord.connect(url) as store:
        chat = store.conversation("card", actor="bo")
        request = chat.record_request(json.dumps(sent), api="anthropic-messages").last
        (prompt,) = (each.version for each in chat.events() if each.type == "message.recorded")
        chat.redact(prompt, "a number of a card")
    with served(url) as answering:
        lines = answering.ask("GET", "/c/card/copy?as=json").data.decode()
    assert "4000 0012" not in lines
    (line,) = (each for each in map(json.loads, lines.splitlines()) if each["version"] == request)
    assert (line["body"], line["hidden"]) == (None, "may repeat what was redacted in the record")
