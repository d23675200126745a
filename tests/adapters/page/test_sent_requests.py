"""What the model saw is what was sent: as its recipe makes it, on each branch, beside another one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

import onrecord
from onrecord import Conversation, MessageWindow, Window
from onrecord.adapters.page.requests import request_reading
from onrecord.adapters.page.requests.compared_requests import read_comparison
from onrecord.adapters.page.requests.option_words import Difference, option_words
from onrecord.adapters.page.requests.request_reading import Wish, read_request
from onrecord.adapters.page.requests.sent_redactions import SentRedaction, SentRedactions
from onrecord.adapters.page.requests.sent_requests import (
    recorded_request,
    request_at,
    requests_sent,
)
from onrecord.adapters.page.requests.shown_request import AS_SENT, Choice, Shown, plan, read_shown
from onrecord.domain import jsontext
from onrecord.domain.events import RequestSent
from onrecord.projections.apis.request import Options, Request, recipe_of
from onrecord.projections.matching.template import split
from tests.adapters.page.parcel_chats import ANTHROPIC, answer, parcel_chat, pieces_of
from tests.adapters.service.served import served


@pytest.fixture
def chat() -> Iterator[Conversation]:
    with onrecord.connect("memory://") as store:
        yield parcel_chat(store)


def send(chat: Conversation, made: Request, *, body: bytes | None = None) -> int:
    """Record a request as it was sent: with its recipe, or of other bytes by the program itself."""
    template, _ = split(jsontext.write(dict(made.body)) if body is None else body)
    recipe = recipe_of(made.options, chat.head().version) if body is None else None
    sent = RequestSent(api=made.api, endpoint="/", template=template, recipe=recipe)
    chat.log.append(sent)
    return chat.head().version


def shown(chat: Conversation, choice: Choice) -> Shown:
    return read_shown(chat, plan(chat, choice))


def test_without_a_choice_a_request_is_shown_as_it_was_sent(chat: Conversation) -> None:
    answer(chat, uuid4())
    chat.user("And now?")
    at = send(chat, chat.request(ANTHROPIC, window=Window(exchanges=1, step=1)))
    chat.user("Go on.")
    by_itself = shown(chat, Choice(at))
    assert (by_itself.is_seen, by_itself.plan.words) == (
        True,
        ("in a window of the last exchange and the open one",),
    )
    assert by_itself.view is not None
    assert (by_itself.view.at, by_itself.view.size) == (at, recorded_request(chat, at).size)
    assert [each.why for each in by_itself.view.absent] == ["Outside of the window."]
    chosen = shown(chat, Choice(at, ANTHROPIC))
    assert (chosen.is_seen, chosen.plan.is_as_sent) == (False, False)
    later = shown(chat, Choice(chat.head().version))
    assert later.view is not None
    assert (later.plan.is_as_sent, later.plan.wish.window) == (False, Window(exchanges=1, step=1))
    assert "Where is my parcel?" not in {piece.text for piece in pieces_of(later.view)}


def test_a_choice_that_has_the_bytes_of_what_was_sent_is_shown_as_it(chat: Conversation) -> None:
    answer(chat, uuid4())
    chat.user("And now?")
    at = send(chat, chat.request("ollama", window=Window(exchanges=1, step=1), model="qwen3"))
    for window in (Window(exchanges=1, step=1), Window(exchanges=9, step=1), None):
        same = shown(chat, Choice(at, "ollama", window))
        assert (same.is_seen, same.plan.is_chosen) == (window == Window(exchanges=1, step=1), True)
    assert other_of(chat, at, "ollama") == Difference(
        "in a window of the last exchange and the open one, for the model qwen3",
        "without a window, for the model that answered before",
    )
    other = other_of(chat, at, "gemini")
    assert other is not None
    assert (other.sent.split(",")[0], other.chosen.split(",")[0]) == ("for ollama", "for gemini")


def other_of(chat: Conversation, at: int, api: str) -> Difference | None:
    return shown(chat, Choice(at, api)).plan.difference


def test_what_is_not_what_was_sent_is_never_called_seen(chat: Conversation) -> None:
    made = chat.request(ANTHROPIC)
    own = send(chat, made, body=b'{"messages":[]}')
    assert not shown(chat, Choice(own)).is_seen, "the program made it itself"
    recipe = recipe_of(made.options, own - 1)
    template, _ = split(b'{"messages":[]}')
    chat.log.append(RequestSent(api=ANTHROPIC, endpoint="/", template=template, recipe=recipe))
    other = shown(chat, Choice(own + 1))
    assert (other.plan.is_as_sent, other.is_seen) == (True, False)
    assert other.replay is not None
    assert other.replay.remark.startswith("Rendered again, it has other bytes")


def test_a_long_request_that_was_sent_is_shown_by_its_end(
    chat: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat.user("And now?")
    at = send(chat, chat.request(ANTHROPIC))
    monkeypatch.setattr(request_reading, "LONG", 5)
    monkeypatch.setattr(request_reading, "END", Window(exchanges=1, step=1))
    view = shown(chat, Choice(at)).view
    assert view is not None
    assert (view.is_end, view.at) == (True, at)


def test_a_request_of_a_side_branch_is_found_and_hides_none_of_the_main_branch(
    chat: Conversation,
) -> None:
    made = chat.request(ANTHROPIC)
    main = send(chat, made)
    template, _ = split(b"{}")
    chat.log.append(RequestSent(api=ANTHROPIC, endpoint="/", template=template, line=uuid4()))
    aside = chat.head().version
    found = request_at(chat, aside)
    assert found is not None
    assert (found.is_aside, request_at(chat, main - 1)) == (True, None)
    assert [each.version for each in requests_sent(chat, aside, 1)] == [main]
    assert not shown(chat, Choice(aside)).is_seen


def test_a_comparison_names_the_documents_that_came_and_went(chat: Conversation) -> None:
    first = send(chat, chat.request(ANTHROPIC))
    answer(chat, uuid4())
    chat.user("And now?")
    second = send(chat, chat.request(ANTHROPIC, window=Window(exchanges=1, step=1)))
    chat.user("And then?")
    before, after = Wish(AS_SENT, first), Wish(AS_SENT, second)
    view = read_comparison(chat, before, after, is_as_sent=True)
    assert (view.before.is_as_sent, view.after.is_as_sent) == (True, True)
    changes = [(each.change, each.kind) for each in view.changes if each.kind == "document"]
    assert changes == [], "the window still has the exchange before"
    third = send(chat, chat.request(ANTHROPIC, window=Window(exchanges=1, step=1)))
    gone = read_comparison(chat, after, Wish(AS_SENT, third), is_as_sent=True)
    (document,) = [each for each in gone.changes if each.kind == "document"]
    assert (document.change, document.after.why) == ("removed", "Outside of the window.")
    came = read_comparison(chat, Wish(ANTHROPIC, 10), before, is_as_sent=True)
    (document,) = [each for each in came.changes if each.kind == "document"]
    assert (document.change, document.before.why) == ("added", "Not recorded yet.")


def test_documents_that_came_after_a_request_are_not_among_those_that_it_lacks(
    chat: Conversation,
) -> None:
    view = read_request(chat, Wish(ANTHROPIC, 9))
    assert (view.unseen, len(view.later)) == ((), 1)
    (words,) = read_request(chat, Wish(ANTHROPIC)).documents
    assert words.why == "Sent as it is: anthropic-messages takes PDFs."
    answer(chat, uuid4())
    chat.user("And now?")
    (words,) = read_request(chat, Wish("ollama")).unseen
    assert words.why == "ollama takes no PDFs; a sentence stands in its place."


def test_each_option_of_a_recipe_is_told_in_words() -> None:
    options = Options(
        window=Window(exchanges=3, step=2, pinned=1),
        thinking="drop",
        cache=True,
        missing="drop",
        tags="doc-reference",
        matrix={},
    )
    told = option_words(options)
    assert told[0] == (
        "in a window of the last 3 exchanges and the open one"
        " (its edge moves 2 exchanges at a time) and the first exchange"
    )
    assert len(told) == len(options.plain())
    by_messages = Options(window=MessageWindow(messages=5), model="claude-sonnet-5")
    assert option_words(by_messages) == (
        "in a window of the last 5 messages (message-window)",
        "for the model claude-sonnet-5",
    )


def test_what_was_redacted_of_a_recorded_request_is_named(chat: Conversation) -> None:
    chat.redact(7, "redacted before it is sent, so it is not in it")
    answer(chat, uuid4())
    made = chat.request(ANTHROPIC, window=Window(exchanges=1, step=1))
    at = send(chat, made)
    by_itself = send(chat, made, body=b'{"model": "m", "messages": []}')
    assert recorded_request(chat, at).redacted == SentRedactions(is_known=True)
    chat.user("Where is it now?")
    chat.redact(2, "it is outside of the window")
    chat.redact(12, "a name stands in it")
    by = chat.head().version
    chat.redact(by - 2, "it came later than the request")
    known = recorded_request(chat, at).redacted
    assert known == SentRedactions((SentRedaction(12, by, is_own=True),), is_known=True)
    possible = recorded_request(chat, by_itself).redacted
    assert not possible.is_known
    assert [each.version for each in possible.redactions] == [2, 7, 12]


def test_instructions_and_documents_of_results_in_a_request_are_named_as_redacted(
    tmp_path: Path,
) -> None:
    paper = tmp_path / "ann.pdf"
    paper.write_bytes(b"%PDF-1.7 fish")
    with onrecord.connect("memory://") as store:
        chat = store.conversation("fish")
        chat.instruct("Be kind to Ann.")
        chat.user("Fetch it.")
        chat.assistant("", calls=[onrecord.AssistantCall("fetch", {})])
        (call,) = chat.open_calls()
        chat.tool_result(call.id, ["It is here:", paper])
        at = send(chat, chat.request(ANTHROPIC))
        fork = chat.fork("fish/again")
        of_fork = send(fork, fork.request(ANTHROPIC))
        named = ("instructions.set", "document.extracted")
        versions = [each.version for each in chat.events() if each.type in named]
        for version in versions:
            chat.redact(version)
        redacted = recorded_request(chat, at).redacted.redactions
        assert [(each.version, each.is_own) for each in redacted] == [
            (version, True) for version in versions
        ]
        redacted = recorded_request(fork, of_fork).redacted.redactions
        assert [(each.version, each.is_own) for each in redacted] == [
            (version, False) for version in versions
        ]


def test_the_page_of_a_recorded_request_leads_to_the_redactions(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'log.db'}"
    with onrecord.connect(url) as store:
        chat = parcel_chat(store)
        at = send(chat, chat.request(ANTHROPIC))
        by_itself = send(chat, chat.request(ANTHROPIC), body=b'{"model": "m"}')
        chat.redact(2, "a name stands in it")
        by = chat.head().version
    with served(url) as page:
        known = page.ask("GET", f"/c/support%2F4711/sent/{at}").data.decode()
        possible = page.ask("GET", f"/c/support%2F4711/sent/{by_itself}").data.decode()
    assert "These bytes have what was redacted:" in known
    assert "These bytes may have what was redacted" in possible
    for text in (known, possible):
        assert f'href="/c/support%2F4711?at={by}#v{by}"' in text
        assert 'href="/c/support%2F4711?at=2#v2"' in text


def test_the_page_says_whether_it_shows_what_was_sent(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'log.db'}"
    with onrecord.connect(url) as store:
        chat = parcel_chat(store)
        at = send(chat, chat.request(ANTHROPIC, window=Window(exchanges=1, step=1)))
        template, _ = split(b"{}")
        chat.log.append(RequestSent(api=ANTHROPIC, endpoint="/", template=template, line=uuid4()))
        chat.user("And now?")
    with served(url) as page:
        events = page.ask("GET", "/c/support%2F4711").data.decode()
        path = "/c/support%2F4711/requests"
        first = page.ask("GET", f"{path}?at={at}").data.decode()
        moved = page.ask("GET", f"{path}/{AS_SENT}?at={at}").data.decode()
        chosen = page.ask("GET", f"{path}/gemini?at={at}&exchanges=5").data.decode()
        before = page.ask("GET", f"{path}?at={at - 1}").data.decode()
        later = page.ask("GET", f"{path}?at={at + 2}").data.decode()
        aside = page.ask("GET", f"{path}?at={at + 1}").data.decode()
        diff = page.ask("GET", f"{path}/{AS_SENT}/diff?a=10&b={at}").data.decode()
    assert f'href="{path}?at={at}"' in events
    assert f'href="/c/support%2F4711/sent/{at + 1}"' in events, (
        "a side branch leads to what was sent"
    )
    for text in (first, moved):
        assert "This is the request as it was sent" in text
        assert 'data-exchanges="1"' in text
        assert '<span class="verdict">Seen</span>' in text
    assert '<option value="1" selected>Last and open one</option>' in first
    assert "This is not the request that was sent." in chosen
    assert "What is shown is made for gemini, in a window of the last 5 exchanges" in chosen
    assert "No request was sent at this version." in before
    assert "Would be sent as it is: anthropic-messages takes PDFs." in before
    assert "were not sent" in first
    assert f'href="{path}?at={at}">Last request that was sent: version {at}</a>' in later
    for text in (later, aside):
        assert "would not be sent" in text
        assert "were not sent" not in text
    assert "was sent on a side branch" in aside
    for text in (chosen, aside):
        assert '<span class="verdict">Seen</span>' not in text
    assert f"to version {at} (anthropic-messages, as it was sent)" in diff
