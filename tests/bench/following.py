"""What passes from an append until a page that follows its conversation can show it.

A page has a stream that tells of each new version, and asks for what is new then. The plain side appends in
process, and makes one document of all rows anew.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from http.client import HTTPConnection, HTTPResponse
from typing import Final
from urllib.parse import quote, urlsplit

from onrecord import Conversation, Store
from tests.bench.measure import Aim, Contender, Measure, Pace, take_turns
from tests.bench.pairings import GUARANTEES
from tests.bench.payload import text
from tests.patience import PATIENCE

_MESSAGES: Final = 200
"""As many events as a page shows at once."""

_PACE: Final = Pace(3, 5)
_KEPT: Final = GUARANTEES["sqlite"]


def follow(store: Store, place: str, plain_page: Callable[[Conversation], bytes]) -> Measure:
    """Return the measure: a server at a place over a store, and what makes the plain document."""
    followed, plain = (_filled(store.conversation(key)) for key in ("followed", "plain"))
    sides = [
        Contender(
            f"an append until its row is there, over HTTP, of {_MESSAGES} messages",
            _KEPT,
            lambda _: _appended(place, followed),
        ),
        Contender(
            "an append, then all rows in one plain document, in process",
            _KEPT,
            lambda _: lambda: _appended_plainly(plain, plain_page),
        ),
    ]
    ours, peer = take_turns(sides, _PACE)
    return Measure("page.live", "ms", ours, peer, aim=Aim(2))


def _filled(chat: Conversation) -> Conversation:
    for _ in range(_MESSAGES):
        chat.user(text())
    return chat


def _appended(place: str, chat: Conversation) -> Callable[[], None]:
    """Return what appends, waits for the stream of a page, and asks for what is new."""
    name, known = quote(chat.key or "", safe=""), chat.head().version
    stream = _connected(place)
    stream.request("GET", f"/c/{name}/live?after={known}", headers={"accept": "text/event-stream"})
    told = stream.getresponse()

    def work() -> None:
        with closing(stream), closing(_connected(place)) as connection:
            body = json.dumps({"text": text()})
            headers = {"content-type": "application/json"}
            connection.request("POST", f"/v1/conversations/{name}/prompts", body, headers)
            connection.getresponse().read()
            version = _version(told)
            connection.request("GET", f"/c/{name}/changes?after={known}")
            assert f'id="v{version}"'.encode() in connection.getresponse().read()

    return work


def _appended_plainly(chat: Conversation, plain_page: Callable[[Conversation], bytes]) -> bytes:
    chat.user(text())
    return plain_page(chat)


def _connected(place: str) -> HTTPConnection:
    parts = urlsplit(place)
    return HTTPConnection(parts.hostname or "", parts.port, timeout=PATIENCE)


def _version(stream: HTTPResponse) -> int:
    """Return the version that a stream tells of next."""
    for line in stream:
        if line.startswith(b"data: "):
            return int(line.removeprefix(b"data: "))
    raise AssertionError("the stream ended")
