"""Calls that wait for a person: shown to who may read, decided once by who may write."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import urlencode

import pytest
import urllib3

import onrecord
from onrecord import AssistantCall, Conversation, Store
from onrecord.adapters.conversation import approvals
from onrecord.adapters.conversation.approvals import request_approval
from onrecord.adapters.conversation.conversation import stream_of
from onrecord.adapters.conversation.open_calls import open_calls
from onrecord.adapters.page.approvals import confirmation, pending, routes
from onrecord.adapters.page.approvals.pending import ApprovalsPage, Cursor
from onrecord.adapters.presentation.pending_calls import DOUBT
from onrecord.domain.errors import VersionConflict
from tests.adapters.page.test_visitors import FORM, OWN
from tests.adapters.service.keys import KEYS, TENANT, Keys
from tests.adapters.service.served import Served, served

KEY = "a/<b>"
PLACE = "/c/a%2F%3Cb%3E"
APPROVE = f"{PLACE}/calls/c%2F1/approve"
DENY = f"{PLACE}/calls/c%2F1/deny"


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'log.db'}"


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with onrecord.connect(url, tenant=TENANT) as store:
        yield store


@pytest.fixture
def chat(store: Store) -> Conversation:
    """A conversation with a pending call."""
    return chat_with_pending_call(store, KEY)


@pytest.fixture
def page(url: str, chat: Conversation) -> Iterator[Served]:
    with served(url, keyring=Keys()) as service:
        yield service


def chat_with_pending_call(store: Store, key: str, *, unsure: bool = False) -> Conversation:
    chat = store.conversation(key, actor="agent")
    chat.user("Pay it.")
    chat.assistant(calls=[AssistantCall("pay", {"to": "<b>\u202eada"}, id="c/1")])
    _ask(chat, unsure=unsure)
    return chat


def _ask(chat: Conversation, *, unsure: bool = False) -> None:
    """Ask a person about the one call that is open."""
    stream = stream_of(chat)
    (open_call,) = open_calls(stream)
    request_approval(stream, open_call, unsure=unsure)


def text_of(page: Served, path: str, key: str = "writer") -> str:
    answer = page.ask("GET", path, key=key)
    assert answer.status == 200, answer.data
    return answer.data.decode()


def keys_in(text: str) -> list[str]:
    """Return the conversations whose calls a page lists, in its order."""
    return [unescape(key) for key in re.findall(r' in <a href="/c/[^"]*">([^<]*)</a>, since', text)]


def status_of(text: str) -> str | None:
    """Return what a page confirms, as it reads."""
    line = re.search(r'<p role="status">(.*?)</p>', text, re.DOTALL)
    return None if line is None else unescape(re.sub(r"<[^>]+>", "", line[1])).strip()


def press(
    page: Served, path: str, key: str | None = "writer", **fields: str
) -> urllib3.BaseHTTPResponse:
    """Press a button on the first question about the call of event 3, or on another question."""
    form = urlencode({"question": "3:0"} | fields).encode()
    return page.ask("POST", path, body=form, headers=FORM | OWN, key=key)


def test_a_call_that_waits_is_shown_with_buttons_to_who_may_decide(page: Served) -> None:
    for path in ("/approvals", PLACE, f"{PLACE}/changes?after=1"):
        text = text_of(page, path)
        assert '"to": "&lt;b&gt;\\u202eada"' in text.replace("&#34;", '"')
        assert f'action="{APPROVE}"' in text
        assert f'formaction="{DENY}"' in text
        reader = text_of(page, path, "reader")
        assert "waits for approval" in reader
        assert APPROVE not in reader
        assert DENY not in reader
    assert 'href="/approvals"' in text_of(page, "/")
    assert "waits for approval" in text_of(page, "/")
    assert "pay" not in text_of(page, "/approvals", "stranger")


def test_whoever_presses_decides_and_returns_to_where_that_was(
    page: Served, chat: Conversation, store: Store
) -> None:
    answer = press(page, APPROVE, next=f"{PLACE}#approvals", reason="a known payee", actor="eve")
    place = answer.headers["location"]
    assert (answer.status, place) == (303, f"{PLACE}?question=3%3A0&call=c%2F1#approvals")
    confirmed = text_of(page, place.partition("#")[0])
    assert status_of(confirmed) == f"{KEYS['writer'].name} approved the call c/1 of pay in a/<b>."
    assert f'href="{PLACE}?at=3#v3"' in confirmed
    for kind in ("approval", "granted"):
        row = re.search(rf">{kind}</b>(.*?)</p>", confirmed, re.DOTALL)
        assert row is not None
        assert f'of <a href="{PLACE}?at=3#v3">3</a>' in row[1]
    assert re.search(rf"granted</b>\s*<span class=.quiet.>{KEYS['writer'].name}</span>", confirmed)
    assert chat.approvals() == ()
    assert "No call waits for a person." in text_of(page, "/approvals")
    assert "1 call open" in text_of(page, "/")
    (deed,) = store.views.audit(type="approval.decided").entries
    assert deed.actor_name == KEYS["writer"].name


@pytest.mark.parametrize(
    ("first", "word"), [(APPROVE, "approved"), (DENY, "denied")], ids=["approved", "denied"]
)
def test_who_comes_second_is_told_what_the_first_decided_and_nothing_is_recorded(
    page: Served, chat: Conversation, first: str, word: str
) -> None:
    place = press(page, first, reason="<i>sure</i>").headers["location"]
    assert place == "/approvals?question=3%3A0&call=c%2F1&key=a%2F%3Cb%3E"
    confirmed = text_of(page, place)
    assert status_of(confirmed) == f"writer {word} the call c/1 of pay in a/<b>."
    assert confirmed.index('role="status"') < confirmed.index("No call waits for a person.")
    assert ('How it went">denied at' in text_of(page, f"{PLACE}/times")) is (word == "denied")
    version = chat.head().version
    for second in (APPROVE, DENY):
        answer = press(page, second, "operator", reason="no", next="//evil.example")
        text = answer.data.decode()
        assert answer.status == 409
        assert re.search(rf"writer {word} the call .* That was at", text)
        assert "&lt;i&gt;sure&lt;/i&gt;" in text
        assert "evil" not in text
    assert chat.head().version == version


def test_an_old_page_decides_no_later_call_of_the_same_id(page: Served, chat: Conversation) -> None:
    (old,) = re.findall(r'name="question" value="(\d+:\d+)"', text_of(page, PLACE))
    chat.cancel("c/1")
    chat.assistant(calls=[AssistantCall("pay", {"to": "eve"}, id="c/1")])
    _ask(chat)
    (new,) = re.findall(r'name="question" value="(\d+:\d+)"', text_of(page, PLACE))
    version = chat.head().version
    for button in (APPROVE, DENY):
        answer = press(page, button, question=old, reason="no")
        assert answer.status == 409
        assert "this is another call now" in answer.data.decode()
    for question in ("", "x", "2", "2:-1", "9" * 20 + ":0"):
        assert press(page, APPROVE, question=question).status == 422
    assert chat.head().version == version
    assert press(page, APPROVE, question=new).status == 303
    assert chat.approvals() == ()


def test_an_old_page_tells_what_became_of_the_call_that_it_shows(
    page: Served, chat: Conversation
) -> None:
    press(page, DENY, reason="not this one")
    chat.assistant(calls=[AssistantCall("pay", {"to": "eve"}, id="c/1")])
    _ask(chat)
    answer = press(page, APPROVE)
    assert answer.status == 409
    assert re.search("writer denied the call .* That was at", answer.data.decode())
    assert len(chat.approvals()) == 1


def test_a_denial_says_why_and_a_call_that_nobody_asks_about_is_not_decided(
    page: Served, chat: Conversation
) -> None:
    version = chat.head().version
    silent = press(page, DENY)
    assert silent.status == 422
    assert "say why: the model reads the reason" in silent.data.decode()
    assert press(page, f"{PLACE}/calls/other/approve").status == 409
    assert press(page, "/c/nobody/calls/c1/approve").status == 404
    assert press(page, APPROVE, "reader").status == 403
    assert press(page, APPROVE, "stranger").status == 404
    for headers in (FORM, FORM | {"sec-fetch-site": "cross-site"}):
        assert page.ask("POST", APPROVE, body=b"", headers=headers, key="writer").status == 403
    assert chat.head().version == version


def test_a_call_that_may_have_been_made_is_told_as_such(page: Served, store: Store) -> None:
    assert DOUBT not in text_of(page, "/approvals")
    chat_with_pending_call(store, "b", unsure=True)
    assert text_of(page, "/approvals").count(DOUBT) == 1


def test_every_call_that_waits_is_reached_page_by_page_wherever_most_others_are(
    page: Served, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        chat_with_pending_call(store, f"waits/{number}")
        store.conversation(f"other/{number}", actor="agent").user("Nothing is open here.")
    fork = store.get(KEY).fork("fork")
    _ask(fork)
    whole = keys_in(text_of(page, "/approvals"))
    assert sorted(whole) == sorted([KEY, "fork", *(f"waits/{number}" for number in range(5))])
    monkeypatch.setattr(pending, "MOST", 2)
    path, keys, pages = "/approvals", list[str](), 0
    while path:
        text = text_of(page, path)
        keys += keys_in(text)
        pages += 1
        further = re.search(r'href="(/approvals\?after=[^"]*)">Look further back', text)
        path = "" if further is None else unescape(further[1])
    assert (keys, pages) == (
        whole,
        6,
    )  # Each of six others has sent no request, so it may be a fork.


def test_who_decides_on_a_page_further_back_returns_to_it(
    page: Served, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat_with_pending_call(store, "later")
    monkeypatch.setattr(pending, "MOST", 1)
    (further,) = re.findall(r'href="(/approvals\?after=[^"]*)"', text_of(page, "/approvals"))
    (place,) = re.findall(r'name="next" value="([^"]*)"', text_of(page, further))
    assert place == further
    answer = press(page, APPROVE, next=unescape(place))
    assert answer.headers["location"].startswith(f"{unescape(further)}&question=")
    text = text_of(page, answer.headers["location"])
    assert status_of(text) == "writer approved the call c/1 of pay in a/<b>."
    assert "In these no call waits for a person." in text
    assert 'href="/approvals">' in text
    assert page.ask("GET", "/approvals?after=x", key="writer").status == 422


def test_what_was_not_decided_is_not_confirmed(page: Served, chat: Conversation) -> None:
    for query in (
        "question=3%3A0&call=c%2F1",
        "question=3%3A0&call=c%2F1&key=nobody",
        "call=c%2F1",
    ):
        assert status_of(text_of(page, f"/approvals?{query}")) is None
    assert status_of(text_of(page, f"{PLACE}?question=3%3A0&call=c%2F1")) is None
    chat.deny("c/1", reason="no", actor="ben")
    assert status_of(text_of(page, f"{PLACE}?question=3%3A1&call=c%2F1")) is None
    denied = status_of(text_of(page, f"{PLACE}?question=3%3A0&call=c%2F1"))
    assert denied == "ben denied the call c/1 of pay in a/<b>."
    assert page.ask("GET", f"{PLACE}?question=approved&call=c%2F1", key="writer").status == 422


def test_a_page_reads_only_the_last_events_for_what_was_decided_just_now(
    page: Served, chat: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(confirmation, "_MOST", 3)
    place = press(page, DENY, reason="no").headers["location"]
    chat.signal("news")
    assert status_of(text_of(page, place)) is not None
    chat.signal("more news")
    chat.signal("old news")
    assert status_of(text_of(page, place)) is None
    assert "writer denied the call" in press(page, APPROVE).data.decode()


def test_a_decision_that_another_writer_came_before_is_a_conflict(
    page: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(*_: object) -> None:
        raise VersionConflict(3, 4)

    monkeypatch.setattr(approvals, "deny", late)
    assert press(page, DENY, reason="no").status == 409


def test_a_long_look_for_calls_holds_up_nobody(
    page: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    statuses = list[int]()

    def approvals_page(_: Store, __: Cursor | None) -> ApprovalsPage:
        statuses.append(page.ask("GET", PLACE, key="writer").status)
        return ApprovalsPage((), (), further=None)

    monkeypatch.setattr(routes, "approvals_page", approvals_page)
    text_of(page, "/approvals")
    assert statuses == [200]


def test_the_access_log_is_told_whose_calls_and_words_a_page_shows(
    url: str, chat: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONRECORD_ACCESS_LOG", "on")
    with served(url, keyring=Keys()) as page:
        for path in ("/", "/?text=pay", "/approvals", "/audit?type=tool_call.recorded"):
            text_of(page, path, "reader")
        text_of(page, "/operations", "own operator")
        assert press(page, APPROVE).status == 303
        assert press(page, APPROVE, "own operator").status == 409
    monkeypatch.delenv("ONRECORD_ACCESS_LOG")
    own = chat.conversation_id
    with onrecord.connect(url, tenant=TENANT) as store:
        entries = [entry for entry in store.access.entries()[::-1] if entry.via is not None]
    assert [(each.via, each.entries, each.conversations) for each in entries] == [
        ("GET /", 1, (own,)),
        ("GET /", 2, (own,)),
        ("GET /approvals", 1, (own,)),
        ("GET /audit", 1, (own,)),
        ("GET /operations", 0, ()),
        ("POST /c/{key}/calls/{call_id}/approve", 1, ()),
    ]
    assert [each.showed(own) for each in entries] == [True, True, True, True, False, True]


def test_a_call_of_a_fork_waits_there_too(page: Served, chat: Conversation, store: Store) -> None:
    fork = store.get(KEY).fork("fork")
    _ask(fork)
    assert 'action="/c/fork/calls/c%2F1/approve"' in text_of(page, "/approvals")
    answer = press(page, "/c/fork/calls/c%2F1/approve", question="0:0")
    text = text_of(page, answer.headers["location"])
    assert status_of(text) == "writer approved the call c/1 of pay in fork."
    last = fork.head().version
    assert f'href="/c/fork?at={last}#v{last}"' in text
    assert len(chat.approvals()) == 1


def test_this_machine_says_who_decides(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONRECORD_ACTOR", "ada")
    with served(url) as service, onrecord.connect(url) as store:
        chat = chat_with_pending_call(store, KEY)
        text = service.ask("GET", "/approvals").data.decode()
        assert 'name="actor" value="ada" required' in text
        assert press(service, APPROVE, None, actor="bob").status == 303
        assert "bob approved the call" in press(service, APPROVE, None, actor="eve").data.decode()
        assert chat.approvals() == ()
