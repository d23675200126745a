"""The page of a conversation: what was said in it stands there as text, and nothing of it runs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

import onrecord
from onrecord import AssistantCall
from onrecord.adapters.page.conversation.conversation import named_by
from onrecord.adapters.page.conversation.event_ranges import EventRange, events_page
from onrecord.domain import log
from onrecord.domain.content import Native
from onrecord.domain.encoding import decode
from onrecord.domain.events import MessageRecorded, ResponseCompleted
from onrecord.domain.header import parse_header
from tests.adapters.service.served import Served, served

HOSTILE = (
    "<script>alert(1)</script><svg onload=alert(2)><img src=https://x.example/p.png>"
    "\n\n[link](javascript:alert(3)) ![picture](https://x.example/q.png) {{ 7 * 7 }} \u202eevil\u202c"
    '\n\n"><a href="javascript:alert(4)" onclick=alert(5)>x</a>'
)
PNG = bytes.fromhex("89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489")
KEY = "a/<b>\u202e\"'&"
PATH = "/c/a%2F%3Cb%3E%E2%80%AE%22%27%26"


class Tags(HTMLParser):
    """The elements of a page: names and attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found = list[tuple[str, dict[str, str | None]]]()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


@pytest.fixture(scope="module")
def page(folder: Path) -> Iterator[Served]:
    url = f"sqlite:///{folder / 'log.db'}"
    picture = folder / "<b onclick=alert(6)>\u202e.png"
    picture.write_bytes(PNG)
    with onrecord.connect(url) as store:
        chat = store.conversation(KEY, actor=HOSTILE[:40])
        chat.instruct(HOSTILE)
        chat.tools.declare([{"name": "look", "description": HOSTILE, "input_schema": {}}])
        chat.user(HOSTILE, documents=[picture])
        chat.assistant(HOSTILE, calls=[AssistantCall("look", {"where": HOSTILE}, id="c1")])
        chat.tool_result("c1", HOSTILE)
        chat.signal(HOSTILE, name="<b>signal</b>")
        chat.annotate({"label": HOSTILE})
        chat.redact(chat.head().version - 1, HOSTILE)
        chat.end(HOSTILE)
        long = store.conversation("long")
        for number in range(450):
            long.user(f"message {number}")
        store.get("long").fork("fork", at=300)
    with served(url) as answering:
        yield answering


def test_a_page_reads_the_body_of_each_event_once_and_headers_only_of_what_it_shows(
    page: Served, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: Counter[str] = Counter()

    def counted(kind: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            read[kind] += 1
            return function(*arguments)

        return call

    monkeypatch.setattr(log, "decode", counted("bodies", decode))
    monkeypatch.setattr(log, "parse_header", counted("headers", parse_header))
    with onrecord.connect(f"sqlite:///{folder / 'log.db'}") as store:
        shown = events_page(store, named_by(store, "long"), EventRange(240, 440))
    assert len(shown.events) == 200
    assert read["bodies"] <= 410, "of the events shown, of the 200 before them, and few more"
    assert read["headers"] <= 202, "and the one that tells whether an import brought them"


def test_what_a_conversation_says_is_text_on_its_page(page: Served) -> None:
    for path in (PATH, "/", f"{PATH}/rows?after=0", "/?text=evil"):
        answer = page.ask("GET", path)
        assert answer.status == 200, path
        text = answer.data.decode()
        tags = Tags(text).found
        assert {name for name, _ in tags} & {"svg", "iframe", "object", "base", "style"} == set()
        for name, attributes in tags:
            assert not [each for each in attributes if each.startswith("on") or each == "style"]
            for address in (attributes.get("href"), attributes.get("src")):
                assert address is None or address.startswith(("/", "#")), (name, address)
        scripts = [attributes["src"] for name, attributes in tags if name == "script"]
        assert all((each or "").startswith("/page/static/") for each in scripts)
        assert "\u202e" not in text
        assert "\\u202e" in text
        assert "{{ 7 * 7 }}" in text or path == "/"


def test_a_picture_comes_from_the_store_and_runs_nothing(page: Served) -> None:
    tags = Tags(page.ask("GET", PATH).data.decode()).found
    (source,) = [str(attributes["src"]) for name, attributes in tags if name == "img"]
    picture = page.ask("GET", source)
    assert (picture.status, picture.data) == (200, PNG)
    assert picture.headers["content-security-policy"].startswith("sandbox; default-src 'none'")


def test_calls_and_results_point_to_each_other(page: Served) -> None:
    text = page.ask("GET", PATH).data.decode()
    result, call = re.findall(r'(?:result at|of) <a href="[^"]*#v(\d+)">', text)
    assert f'id="v{call}"' in text
    assert f'id="v{result}"' in text
    assert int(call) < int(result)
    assert "redacted: left out of requests" in text
    assert text.index("<details>") < text.index("instructions")


def test_every_event_is_on_some_page_of_at_most_200(page: Served) -> None:
    seen, path = list[int](), "/c/long/rows?after=0"
    while path:
        text = page.ask("GET", path).data.decode()
        versions = [int(each) for each in re.findall(r'<article [^>]*id="v(\d+)"', text)]
        assert 0 < len(versions) <= 200
        seen += versions
        following = re.search(r'data-more="([^"]*after=\d+)"', text)
        path = following[1] if following else ""
    assert seen == list(range(1, 452))
    around = page.ask("GET", "/c/long?at=250").data.decode()
    assert 'id="v250"' in around
    assert around.count("<article") == 200
    assert 'id="v451"' in page.ask("GET", "/c/long").data.decode()


def test_a_fork_a_forgotten_conversation_and_none_are_told_apart(page: Served, gone: UUID) -> None:
    assert "up to version 300" in page.ask("GET", "/c/fork").data.decode()
    assert 'href="/c/fork"' in page.ask("GET", "/c/long").data.decode()
    forgotten = page.ask("GET", f"/c/{gone}")
    assert (forgotten.status, "secret" in forgotten.data.decode()) == (200, False)
    assert "its content was erased" in forgotten.data.decode()
    (path,) = re.findall(r'href="(/audit\?[^"]+)">Who erased it', forgotten.data.decode())
    assert "asked for" in page.ask("GET", path.replace("&amp;", "&")).data.decode()
    missing = page.ask("GET", "/c/nobody")
    assert (missing.status, missing.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert page.ask("GET", "/c/long?at=9999").status == 422
    assert page.ask("GET", "/c/long/rows").status == 422


def test_what_is_read_on_the_page_is_in_the_access_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONRECORD_ACCESS_LOG", "on")
    url = f"sqlite:///{tmp_path / 'log.db'}"
    with onrecord.connect(url) as store:
        store.conversation("a").user("Hello")
    with served(url) as service:
        assert service.ask("GET", "/c/a").status == 200
        assert service.ask("GET", "/").status == 200
    with onrecord.connect(url) as store:
        vias = {entry.via for entry in store.access.entries()}
    assert vias >= {"GET /c/{key}", "GET /"}


def test_a_version_that_is_not_shown_is_named_with_the_way_to_its_record(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'log.db'}"
    with onrecord.connect(url) as store:
        chat = store.conversation("calls")
        chat.user("Look it up.")
        answer = uuid4()
        empty = Native(api="openai-chat", value={"role": "assistant", "content": None})
        chat.log.append(
            MessageRecorded(role="assistant", content=(empty,), response=answer, index=0),
            ResponseCompleted(response=answer, api="openai-chat", envelope={}),
        )
        versions = {event.version for event in chat.events()}
    with served(url) as answering:
        text = answering.ask("GET", "/c/calls").data.decode()
    shown = {int(each) for each in re.findall('id="v([0-9]+)"', text)}
    named = {int(each) for each in re.findall("Version ([0-9]+) has no text of its own", text)}
    assert named
    assert shown | named == versions
