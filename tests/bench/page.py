"""What the page of a long conversation costs, beside one plain document with all of its rows.

The plain page is what one writes in an hour: all events are read, and each row becomes an element of one
document. It is made in process; ours comes over HTTP, from a process of its own. Where Chromium and playwright
are here, both are opened in it, up to the first frame of the whole document.
"""

from __future__ import annotations

import tempfile
from collections.abc import Generator, Iterator
from contextlib import ExitStack, closing, contextmanager
from html import escape
from http.client import HTTPConnection
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlsplit

import onrecord
from onrecord import Conversation
from onrecord.projections.history.timeline import timeline
from tests.bench.children import start
from tests.bench.following import follow
from tests.bench.measure import Aim, Contender, Figures, Measure, Pace, take_turns
from tests.bench.pairings import Pairing
from tests.bench.payload import API
from tests.bench.request import READS
from tests.bench.serving import serve

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

_MESSAGES: Final = 10_000
_PACE: Final = Pace(3, 3)
_FRAME: Final = (
    "new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(performance.now()))))"
)


def measures(sqlite: Pairing) -> Iterator[Measure]:
    """Yield what the server takes for a page and for a step of the slider, an append there, then the first frames."""
    size = min(_MESSAGES, sqlite.workspace.scale.sizes[-1])
    chat = sqlite.chats(size, "recorded")[0]
    sqlite.workspace.say(f"the page of {size:,} messages")
    with ExitStack() as stack:
        place: str = start(stack, serve, sqlite.url_of(size, "recorded")).recv()
        path = f"/c/{quote(chat.key or '', safe='')}"
        yield from _answers(place, path, chat, size)
        with onrecord.connect(sqlite.url_of(size, "recorded")) as store:
            yield follow(store, place, plain_page)
        yield from _frames(stack, place + path, chat, size)


def _answers(place: str, path: str, chat: Conversation, size: int) -> Iterator[Measure]:
    middle = chat.head().version // 2
    step = f"{path}/requests/{API}?at={middle}&exchanges=3"
    sides = [
        Contender(
            f"GET of the page of {size:,} messages", READS, lambda _: lambda: _got(place, path)
        ),
        Contender(
            "GET of a step of the slider, in a window of 3 exchanges",
            READS,
            lambda _: lambda: _got(place, step),
        ),
        Contender(
            "all rows in one plain document, in process", READS, lambda _: lambda: plain_page(chat)
        ),
    ]
    page, slider, plain = take_turns(sides, _PACE)
    yield Measure("page.answer", "ms", page, plain, aim=Aim(1))
    yield Measure("page.slider", "ms", slider, plain, aim=Aim(1))


def _got(place: str, path: str) -> bytes:
    """Return what is answered on a new connection: the server closes those that rest."""
    parts = urlsplit(place)
    with closing(HTTPConnection(parts.hostname or "", parts.port)) as connection:
        connection.request("GET", path)
        answer = connection.getresponse()
        assert answer.status == 200
        return answer.read()


def plain_page(chat: Conversation) -> bytes:
    """Return one document with a row for each row of the timeline, and nothing else."""
    rows = (
        f"<article><b>{row.version} {escape(row.kind)}</b><p>{escape(row.text)}</p></article>"
        for row in timeline(chat.events())
    )
    return f"<!doctype html><meta charset=utf-8><title>plain</title>{''.join(rows)}".encode()


# In a browser.


def _frames(stack: ExitStack, url: str, chat: Conversation, size: int) -> Iterator[Measure]:
    if find_spec("playwright") is None:
        return
    browser = stack.enter_context(_chromium())
    if browser is None:
        return
    file = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "plain.html"
    file.write_bytes(plain_page(chat))
    sides = [
        (f"the page of {size:,} messages, over HTTP", url),
        ("all rows in one plain document, from a file", file.as_uri()),
    ]
    page = browser.new_page()
    for _, address in sides:  # A window that opens works for itself: that is not counted.
        _first_frame(page, address)
    taken: list[list[list[float]]] = [[], []]
    for number in range(_PACE.rounds):
        for which in (0, 1) if number % 2 == 0 else (1, 0):
            taken[which].append([_first_frame(page, sides[which][1]) for _ in range(_PACE.each)])
    ours, plain = (
        Figures(what, READS, rounds) for (what, _), rounds in zip(sides, taken, strict=True)
    )
    yield Measure("page.first_frame", "ms", ours, plain, aim=Aim(0.5))


@contextmanager
def _chromium() -> Generator[Browser | None]:
    """Yield a Chromium that is here, None where there is none."""
    from playwright.sync_api import sync_playwright

    from tests.browser.chromium import ARGUMENTS, chromium

    if (program := chromium()) is None:
        yield None
        return
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield browser
        browser.close()


def _first_frame(page: Page, url: str) -> float:
    """Return the seconds from the request to the first frame of the whole document, of which nothing is kept."""
    page.goto("about:blank")
    protocol: Any = page.context.new_cdp_session(page)
    protocol.send("Network.clearBrowserCache")
    protocol.detach()
    page.goto(url)
    return float(page.evaluate(_FRAME)) / 1000
