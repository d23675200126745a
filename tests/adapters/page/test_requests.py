"""What the model saw: each block with its event, what is not there and why, and the routes that show it."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID, uuid4

import pytest

import onrecord
from onrecord import Conversation, Store, Window
from onrecord.adapters.conversation.conversation import stream_of
from onrecord.adapters.conversation.history_queries import request_content
from onrecord.adapters.page.requests.request_view import RequestView, request_view
from onrecord.domain.content import Native
from onrecord.domain.events import Event, ServerToolCallRecorded, ServerToolResultRecorded
from tests.adapters.service.served import Served, served
from tests.factories import native_answer, tool_call, tool_result

ANTHROPIC = "anthropic-messages"
APIS = (
    *(ANTHROPIC, "openai-chat", "openai-responses"),
    *("gemini", "bedrock-converse", "ollama"),
)
PDF = b"%PDF-1.7\n%a report of parcels\n%%EOF\n"


@pytest.fixture
def store() -> Iterator[Store]:
    with onrecord.connect("memory://") as store:
        yield store


@pytest.fixture
def chat(store: Store) -> Conversation:
    """Given: a prompt (2), a text, a call and its result (3, 4, 6), a search (8 to 10), a PDF (12)."""
    chat = store.conversation("support/4711")
    chat.user("Where is my parcel?")
    response = uuid4()
    answer(chat, response, tool_call("bad id!", "find parcel"))
    chat.log.append(tool_result("bad id!", "It is in Ghent."))
    chat.user("How is the weather there?")
    response = uuid4()
    answer(chat, response, *searched(response))
    chat.user("Read this.", documents=[PDF])
    return chat


def answer(chat: Conversation, response: UUID, *events: Event) -> None:
    said = native_answer(response, "Let me look at that.")
    chat.log.append(
        said, *events, onrecord.ResponseCompleted(response=response, api=ANTHROPIC, envelope={})
    )


def searched(response: UUID) -> tuple[Event, Event]:
    call = {
        "type": "server_tool_use",
        "id": "srvtoolu_1",
        "name": "web_search",
        "input": {"query": "weather in Ghent"},
    }
    hit = {
        "type": "web_search_result",
        "url": "https://weather.example/ghent",
        "title": "Ghent: rain all day",
        "encrypted_content": "eHg=",
    }
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [hit]}
    return (
        ServerToolCallRecorded(
            response=response,
            index=1,
            call_id="srvtoolu_1",
            name="web_search",
            content=Native(api=ANTHROPIC, value=call),
        ),
        ServerToolResultRecorded(
            response=response,
            index=2,
            call_id="srvtoolu_1",
            content=Native(api=ANTHROPIC, value=found),
        ),
    )


def seen(
    chat: Conversation, api: str, at: int | None = None, window: Window | None = None
) -> RequestView:
    made, content = request_content(chat, at, api, window)
    return request_view(
        made, content, stream_of(chat).read_through(content.version), chat.documents()
    )


def versions(view: RequestView) -> list[tuple[str, tuple[int, ...]]]:
    return [
        (piece.kind, tuple(origin.version for origin in piece.origins))
        for message in view.messages
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
    pieces = [piece for message in view.messages for piece in message.pieces]
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


def test_a_fork_names_the_events_of_its_origin_as_such(chat: Conversation) -> None:
    fork = chat.fork("support/4711/again", at=6)
    fork.user("Is it still there?")
    view = seen(fork, ANTHROPIC)
    owners = [piece.origins[0].is_own for message in view.messages for piece in message.pieces]
    assert owners == [False, False, False, False, True]


@pytest.fixture(scope="module")
def page() -> Iterator[Served]:
    with served() as answering:
        for text in ("Where is my <b>parcel</b>?", "When does it come?"):
            answering.ask("POST", "/v1/conversations/support%2F1/prompts", {"text": text})
        yield answering


PAGE = "/c/support%2F1/requests"


def test_the_page_shows_the_request_at_a_version_and_what_changed(page: Served) -> None:
    whole = page.ask("GET", f"{PAGE}?at=2&exchanges=3").data.decode()
    assert f'data-fragment="{PAGE}/anthropic-messages?at=2&amp;exchanges=3"' in whole
    assert 'src="/page/static/slider.js"' in whole
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
    assert "Before: Recorded later." in changed
    assert page.ask("GET", f"{PAGE}/gemini/diff?a=2&b=2").data.decode().count("<li") == 0


def test_a_request_that_cannot_be_made_says_why(page: Served) -> None:
    for path, status in (
        (f"{PAGE}/gemini?at=1", 422),
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
