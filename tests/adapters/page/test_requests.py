"""What the model saw: each block with its event, what is not there and why, and the routes that show it."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest

import onrecord
from onrecord import Conversation, Store, Window
from onrecord.adapters.page.requests import block_views, request_reading
from onrecord.adapters.page.requests.block_views import OriginView, PieceView
from onrecord.adapters.page.requests.compared_requests import read_comparison
from onrecord.adapters.page.requests.request_reading import Wish, read_request
from onrecord.adapters.page.requests.request_view import RequestView
from onrecord.adapters.page.requests.sent_requests import (
    recorded_request,
    requests_sent,
)
from onrecord.adapters.page.static_files import edition
from onrecord.domain import jsontext
from onrecord.domain.events import (
    RequestSent,
)
from onrecord.projections.apis.request import recipe_of
from onrecord.projections.matching.template import split
from tests.adapters.frameworks.recorded_runs import FIRST, RUNS
from tests.adapters.page.parcel_chats import ANTHROPIC, answer, parcel_chat, pieces_of
from tests.adapters.service.served import Served, served
from tests.factories import tool_call, tool_result

APIS = (
    *(ANTHROPIC, "openai-chat", "openai-responses"),
    *("gemini", "bedrock-converse", "ollama"),
)


@pytest.fixture
def store() -> Iterator[Store]:
    with onrecord.connect("memory://") as store:
        yield store


@pytest.fixture
def chat(store: Store) -> Conversation:
    return parcel_chat(store)


def seen(
    chat: Conversation, api: str, at: int | None = None, window: Window | None = None
) -> RequestView:
    return read_request(chat, Wish(api, at, window))


def versions(view: RequestView) -> list[tuple[str, tuple[int, ...]]]:
    return [
        (piece.kind, tuple(origin.version for origin in piece.origins))
        for message in view.blocks.messages
        for piece in message.pieces
    ]


@pytest.mark.parametrize("api", APIS)
def test_each_block_of_a_request_names_the_event_that_it_came_from(
    chat: Conversation, api: str
) -> None:
    view = seen(chat, api, at=10)
    found = versions(view)
    assert found[:3] == [("text", (2,)), ("text", (3,)), ("call", (4,))]
    assert found[3:5] == [("result", (6,)), ("text", (7,))]
    said = [version for _, origins in found[5:] for version in origins]
    assert said == [8, 9, 10]
    rules = {note.origin.version for note in view.notes if note.origin is not None}
    assert 4 in rules, "the call is repaired or translated, and the report says so of its event"
    pieces = [piece for message in view.blocks.messages for piece in message.pieces]
    assert "It is in Ghent." in pieces[3].text
    assert view.absent == ()


def test_a_document_says_whether_it_was_seen_and_why_not(chat: Conversation) -> None:
    (before,) = seen(chat, ANTHROPIC, at=9).documents
    assert not before.is_seen
    assert before.why == "Recorded later: 3 versions after the request."
    (after,) = seen(chat, ANTHROPIC).documents
    assert (after.is_seen, after.version) == (True, 12)
    chat.user("Go on.")
    answer(chat, uuid4())
    chat.user("And now?")
    (outside,) = seen(chat, ANTHROPIC, window=Window(exchanges=1, step=1)).documents
    assert (outside.is_seen, outside.why) == (False, "Outside of the window.")
    chat.redact(12, "a name stands in it")
    assert seen(chat, ANTHROPIC).documents == (), "what was redacted is no document any more"


def test_events_that_are_not_in_a_request_stand_together_by_their_reason(
    chat: Conversation,
) -> None:
    answer(chat, uuid4())
    chat.user("And now?")
    view = seen(chat, ANTHROPIC, window=Window(exchanges=1, step=1))
    (outside,) = view.absent
    assert (outside.first, outside.last) == (2, 10)
    assert (outside.count, outside.why) == (8, "Outside of the window.")
    assert outside.texts[0] == (2, "text", "Where is my parcel?")
    chat.redact(7, "a name stands in it")
    redacted = next(each for each in seen(chat, ANTHROPIC).absent if each.first == 7)
    assert (redacted.last, redacted.why) == (7, "Redacted.")


def test_what_was_redacted_since_has_its_mark_where_a_request_still_has_it(
    chat: Conversation,
) -> None:
    fork = chat.fork("support/4711/again", at=6)
    fork.user("Is it still there?")
    chat.redact(2, "a name stands in it")
    at = chat.head().version
    marks = [
        origin for piece in pieces_of(seen(chat, ANTHROPIC, at=10)) for origin in piece.origins
    ]
    assert marks[0] == OriginView(2, is_own=True, redacted_at=at)
    assert {each.redacted_at for each in marks[1:]} == {None}
    assert all(
        origin.redacted_at is None
        for piece in pieces_of(seen(chat, ANTHROPIC))
        for origin in piece.origins
    ), "now it is left out"
    window = Window(exchanges=1, step=1)
    outside = seen(chat, ANTHROPIC, at=12, window=window).absent[0]
    assert (outside.why, outside.redactions) == ("Outside of the window.", {2: at})
    before, after = Wish(ANTHROPIC, 12), Wish(ANTHROPIC, 12, window)
    first = read_comparison(chat, before, after, is_as_sent=False).changes[0]
    assert first.origin == OriginView(2, is_own=True, redacted_at=at)
    of_fork = pieces_of(seen(fork, ANTHROPIC))[0]
    assert of_fork.origins == (OriginView(2, is_own=False, redacted_at=at),)


def test_a_fork_names_the_events_of_its_origin_as_such(chat: Conversation) -> None:
    fork = chat.fork("support/4711/again", at=6)
    fork.user("Is it still there?")
    view = seen(fork, ANTHROPIC)
    owners = [
        piece.origins[0].is_own for message in view.blocks.messages for piece in message.pieces
    ]
    assert owners == [False, False, False, False, True]


@pytest.mark.parametrize("api", APIS)
def test_the_end_of_a_long_request_is_shown_as_all_of_it_has_it(
    chat: Conversation, api: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The end is rendered alone: its blocks, their events and notes are as the whole has them."""
    for number in range(4):
        chat.user(f"And parcel {number}?")
        response = uuid4()
        answer(chat, response, tool_call(f"bad id {number}!", "find parcel"))
        chat.log.append(tool_result(f"bad id {number}!", f"Parcel {number} is in Ghent."))
    whole = seen(chat, api)
    monkeypatch.setattr(request_reading, "LONG", 10)
    monkeypatch.setattr(request_reading, "END", Window(exchanges=2, step=1))
    end = seen(chat, api)
    assert (whole.is_end, end.is_end) == (False, True)
    found, expected = pieces_of(end), pieces_of(whole)
    assert 0 < len(found) < len(expected)
    assert found == expected[-len(found) :]
    assert end.not_looked_through > 0
    assert (end.absent, whole.absent) == ((), ()), "what was not rendered is not absent"
    assert "window" not in {note.rule for note in end.notes}
    all_of_it = read_request(chat, Wish(api, is_whole=True))
    assert (all_of_it.is_end, pieces_of(all_of_it)) == (False, expected)


def test_blocks_are_shown_in_stretches_and_the_last_ones_first(
    chat: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = pieces_of(seen(chat, ANTHROPIC))
    monkeypatch.setattr(block_views, "BLOCKS", 4)
    found: list[PieceView] = []
    upto: int | None = None
    while upto != 0:
        view = read_request(chat, Wish(ANTHROPIC, upto=upto))
        assert 0 < len(pieces_of(view)) <= 4
        found = [*pieces_of(view), *found]
        upto = view.blocks.first - 1
        assert view.blocks.has_earlier == (upto > 0)
    assert found == expected


def test_a_request_names_the_events_that_set_its_instructions_and_tools(
    chat: Conversation,
) -> None:
    chat.instruct("Be brief.")
    set_at = chat.head().version
    view = seen(chat, ANTHROPIC)
    assert (view.system, view.system_origin) == ("Be brief.", OriginView(set_at, is_own=True))
    assert view.tools_origin is None
    made = chat.request(ANTHROPIC)
    assert view.size == len(jsontext.write(dict(made.body))), "as `onrecord request` writes it"


def test_items_that_were_recorded_off_the_wire_too_are_said_to_be(store: Store) -> None:
    with RUNS["Agents"](store) as run:
        run.session.record(run.prompt(FIRST))
        run.session.record(run.ask())
        (linked,) = seen(run.conversation, "openai-chat").absent
    assert linked.rule == "linked"
    assert linked.why.startswith("Recorded off the wire too")


def test_a_request_is_compared_with_one_for_another_api(chat: Conversation) -> None:
    before, after = Wish(ANTHROPIC, at=10), Wish("gemini", at=12)
    view = read_comparison(chat, before, after, is_as_sent=False)
    changes = {each.origin.version: each for each in view.changes if each.origin is not None}
    assert (changes[12].change, changes[12].before.why) == ("added", "Not recorded yet.")
    assert {note.rule for note in changes[4].before.notes}, "Anthropic's rules mend its id"
    assert 2 in {each.version for each in view.alike}
    same = read_comparison(chat, after, after, is_as_sent=False)
    assert same.changes == ()


def test_a_request_is_shown_as_it_was_sent_and_compared_as_such(chat: Conversation) -> None:
    made = chat.request(ANTHROPIC, window=Window(exchanges=1, step=1))
    recipe = recipe_of(made.options, chat.head().version)
    for body in (jsontext.write(dict(made.body)), b'{"messages":[]}'):
        template, _ = split(body)
        sent = RequestSent(api=ANTHROPIC, endpoint="/", template=template, recipe=recipe)
        chat.log.append(sent)
    version = chat.head().version
    shown = recorded_request(chat, version - 1)
    assert shown.text.encode() == jsontext.write(dict(made.body))
    assert (shown.is_proven, shown.proofs[-1]) == (True, "Rendered again, it has the same bytes.")
    other = recorded_request(chat, version)
    assert (other.is_whole, other.is_proven) == (True, False)
    assert [each.version for each in requests_sent(chat, version)] == [version, version - 1]
    view = read_comparison(chat, Wish("gemini", at=version), Wish("gemini"), is_as_sent=True)
    assert (view.before.api, view.before.is_as_sent) == (ANTHROPIC, True)
    outside = {each.origin.version for each in view.changes if each.origin and each.before.why}
    assert 2 in outside, "the window that it was sent with is kept"


@pytest.fixture(scope="module")
def page() -> Iterator[Served]:
    with served() as answering:
        for text in ("Where is my <b>parcel</b>?", "When does it come?"):
            answering.ask("POST", "/v1/conversations/support%2F1/prompts", {"text": text})
        yield answering


PAGE = "/c/support%2F1/requests"


def test_the_page_shows_the_request_at_a_version_and_what_changed(page: Served) -> None:
    whole = page.ask("GET", f"{PAGE}?at=2&exchanges=3").data.decode()
    assert "Where is my &lt;b&gt;parcel&lt;/b&gt;?" in whole, "nothing has to be fetched for it"
    assert f'src="/page/static/{edition()}/slider.js"' in whole
    answer = page.ask("GET", f"{PAGE}/gemini?at=2")
    text = answer.data.decode()
    assert (answer.status, "Where is my &lt;b&gt;parcel&lt;/b&gt;?" in text) == (200, True)
    assert 'href="/c/support%2F1?at=2#v2"' in text
    assert "When does it come?" not in text
    tag = answer.headers["etag"]
    again = page.ask("GET", f"{PAGE}/gemini?at=2", headers={"if-none-match": tag})
    assert again.status == 304
    changed = page.ask("GET", f"{PAGE}/gemini/diff?a=2&b=3").data.decode()
    assert "When does it come?" in changed
    assert "Before: Not recorded yet." in changed
    assert changed.startswith("<!doctype html>"), "its own address is a whole page"
    same = page.ask("GET", f"{PAGE}/gemini/diff?a=2&b=2").data.decode()
    _, mark, part = same.partition("<div data-as-fragment>")
    assert mark, "scripts of the page put this part of it into another one"
    assert "Nothing changed." in part


def test_a_request_that_cannot_be_made_says_why(page: Served) -> None:
    first = page.ask("GET", f"{PAGE}?at=1")
    assert first.status == 200, "the slider stays"
    assert "version 1: " in first.data.decode()
    beyond = page.ask("GET", f"{PAGE}?at=99&exchanges=&messages=").data.decode()
    assert "There is no version 99: the conversation is at 3, which is shown." in beyond
    for path, status in (
        (f"{PAGE}/gemini?at=1", 422),
        (f"{PAGE}/gemini?at=99", 422),
        (f"{PAGE}/gemini?exchanges=1&messages=2", 422),
        ("/c/support%2F1/sent/2", 422),
        (f"{PAGE}/other?at=2", 422),
        (f"{PAGE}/gemini?exchanges=0", 422),
        ("/c/nobody/requests", 404),
        ("/c/nobody/requests/gemini", 404),
    ):
        answer = page.ask("GET", path)
        assert (answer.status, answer.headers["content-type"]) == (
            status,
            "text/html; charset=utf-8",
        ), path
