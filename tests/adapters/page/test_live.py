"""A conversation that goes on: its page hears of each version, and asks for what is new since one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
import urllib3
from urllib3.util import Timeout

import onrecord
from onrecord import AssistantCall, Conversation
from onrecord.adapters.page.visitors.sessions import IDLE_SECONDS, Sessions
from onrecord.adapters.service.access import Access
from onrecord.adapters.service.bodies import Limits
from tests.adapters.page.test_sessions import Clock
from tests.adapters.page.test_visitors import OWN, TakenBack, Visited, cookie_of
from tests.adapters.service.keys import TENANT
from tests.adapters.service.served import Served, served
from tests.patience import PATIENCE, until

LIVE = "/c/a/live?after="


class Counting(TakenBack):
    """Counts how often each key is looked up."""

    def __init__(self) -> None:
        super().__init__()
        self.looks = Counter[str]()

    def access(self, token: str) -> Access | None:
        self.looks[token] += 1
        return super().access(token)


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'log.db'}"


@pytest.fixture
def page(url: str) -> Iterator[Served]:
    with served(url, limits=Limits(tail_seconds=0.05)) as service:
        yield service


@pytest.fixture
def chat(url: str) -> Iterator[Conversation]:
    with onrecord.connect(url) as store:
        chat = store.conversation("a", actor="agent")
        chat.user("Hello")
        yield chat


@pytest.fixture
def visited(url: str) -> Iterator[Visited]:
    keyring, clock, limits = TakenBack(), Clock(), Limits(tail_seconds=0.05)
    with (
        served(url, keyring=keyring, sessions=Sessions(clock), limits=limits) as service,
        onrecord.connect(url, tenant=TENANT) as store,
    ):
        store.conversation("a").user("Hello")
        yield Visited(service, keyring, clock)


@contextmanager
def stream(service: Served, path: str, **headers: str) -> Generator[Iterator[str]]:
    """The lines of a stream as they come, to its end."""
    with urllib3.PoolManager() as pool:
        response = pool.request(
            "GET",
            service.url + path,
            headers={"accept": "text/event-stream"} | headers,
            preload_content=False,
            retries=False,
            timeout=Timeout(PATIENCE),
        )
        assert response.status == 200, response.data
        assert response.headers["content-type"].startswith("text/event-stream")
        try:
            yield (line.decode().rstrip("\n") for line in response)
        finally:
            response.close()


def version_in(lines: Iterator[str]) -> int:
    """The next version that a stream tells."""
    return int(next(line[6:] for line in lines if line.startswith("data: ")))


def shown_in(text: str, part: str) -> list[int]:
    """The versions that one part of what is new shows."""
    found = re.search(rf'data-part="{part}"(.*?)(?=data-part|\Z)', text, re.DOTALL)
    assert found is not None
    return [int(each) for each in re.findall(r'<article class="event [^>]*id="v(\d+)"', found[1])]


def changes(service: Served, after: int, first: int = 1) -> str:
    answer = service.ask("GET", f"/c/a/changes?after={after}&first={first}")
    assert answer.status == 200, answer.data
    return answer.data.decode()


def test_each_version_is_told_in_order_and_none_twice(page: Served, chat: Conversation) -> None:
    told = list[int]()
    for _ in range(2):
        last = chat.head().version
        chat.user("while nobody follows")
        with stream(page, f"{LIVE}{last}") as lines:
            for number in range(5):
                told.append(version_in(lines))
                chat.user(f"message {number}")
            told.append(version_in(lines))
    assert told == list(range(3, 15))


def test_what_is_new_comes_once_however_long_nobody_looked(
    page: Served, chat: Conversation
) -> None:
    for number in range(450):
        chat.user(f"message {number}")
    seen, last, version = list[int](), 2, 0
    while last != version:
        text = changes(page, last)
        seen += shown_in(text, "new")
        last, version = (
            int(each) for each in re.findall(r'data-(?:last|version)="(\d+)"', text)[:2]
        )
    assert seen == list(range(3, 453))
    assert shown_in(changes(page, 0), "new") == list(range(1, 201))
    assert shown_in(changes(page, last), "new") == []


def test_what_changes_an_earlier_event_shows_it_again(page: Served, chat: Conversation) -> None:
    chat.assistant(calls=[AssistantCall("look", {}, id="c1")])
    call, last = chat.head().open_calls["c1"], chat.head().version
    chat.user("while it is made")
    assert shown_in(changes(page, last), "changed") == []
    last = chat.head().version
    chat.tool_result("c1", "It is in Ghent.")
    text = changes(page, last)
    assert (shown_in(text, "changed"), shown_in(text, "new")) == ([call], [last + 1])
    assert "result at" in text
    assert shown_in(changes(page, last, first=call + 1), "changed") == []
    last = chat.head().version
    chat.redact(2, "not for the model")
    assert shown_in(changes(page, last), "changed") == [2]


def test_what_was_erased_is_told_and_is_gone(page: Served, chat: Conversation) -> None:
    with stream(page, f"{LIVE}{chat.head().version}") as lines:
        path = f"/v1/log/conversations/{chat.conversation_id}/forget"
        assert page.ask("POST", path).status == 200
        version_in(lines)
    assert page.ask("GET", "/c/a/changes?after=1").status == 404
    assert page.ask("GET", f"{LIVE}1").status == 404


def test_other_conversations_are_not_told_of(page: Served, chat: Conversation) -> None:
    last = chat.head().version
    with stream(page, f"{LIVE}{last}") as lines:
        page.ask("POST", "/v1/conversations/b/prompts", {"text": "elsewhere"})
        chat.user("here")
        assert version_in(lines) == last + 1


def test_what_is_said_elsewhere_has_no_right_looked_up(url: str) -> None:
    keyring, limits = Counting(), Limits(tail_seconds=PATIENCE)
    with served(url, keyring=keyring, limits=limits) as service:
        say = partial(service.ask, "POST", json={"text": "Hello"}, key="writer")
        assert say("/v1/conversations/a/prompts").status == 201
        with stream(service, f"{LIVE}0", authorization="Bearer reader") as lines:
            last, before = version_in(lines), keyring.looks["reader"]
            for _ in range(10):
                assert say("/v1/conversations/b/prompts").status == 201
            assert say("/v1/conversations/a/prompts").status == 201
            assert version_in(lines) > last
            assert keyring.looks["reader"] == before + 1


@pytest.mark.parametrize("how", ["signed out", "revoked", "not used"])
def test_a_stream_ends_with_the_right_to_read(visited: Visited, how: str) -> None:
    cookie = cookie_of(visited.sign_in())
    with stream(visited.service, f"{LIVE}2", cookie=cookie) as lines:
        assert next(line for line in lines if line.startswith(":"))
        match how:
            case "signed out":
                visited.service.ask("POST", "/sign-out", headers=OWN | {"cookie": cookie})
            case "revoked":
                visited.keyring.keys.pop("reader")
            case _:
                # To follow is no use of a session: it goes on before an empty chair.
                visited.clock.now += IDLE_SECONDS - 1
                for path in ("/c/a/changes?after=1&first=1", "/c/a/totals"):
                    answer = visited.service.ask("GET", path, headers={"cookie": cookie})
                    assert answer.status == 200
                visited.clock.now += 1
        assert [line for line in lines if line.startswith("data: ")] == []
    headers = {"cookie": cookie, "sec-fetch-dest": "empty"}
    assert visited.service.ask("GET", "/c/a/changes?after=1", headers=headers).status == 401


def test_nobody_follows_what_another_tenant_says(visited: Visited) -> None:
    for path in ("/c/a/live?after=0", "/c/a/changes?after=0"):
        assert visited.service.ask("GET", path, key="stranger").status == 404


def test_a_stream_ends_with_the_service_and_counts_as_a_tail(
    page: Served, chat: Conversation
) -> None:
    open_tails = page.service.tails.open_tails
    with stream(page, f"{LIVE}{chat.head().version}") as lines:
        until(lambda: open_tails.total == 1)
        page.end()
        assert [line for line in lines if line.startswith("data: ")] == []
    until(lambda: open_tails.total == 0)


def test_to_follow_is_in_the_access_log(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONRECORD_ACCESS_LOG", "on")
    with onrecord.connect(url) as store:
        store.conversation("a").user("Hello")
    with served(url) as service:
        with stream(service, f"{LIVE}1") as lines:
            assert version_in(lines) == 2
        changes(service, 1)
    with onrecord.connect(url) as store:
        vias = {entry.via for entry in store.access.entries()}
    assert vias == {"GET /c/{key}/live", "GET /c/{key}/changes"}
