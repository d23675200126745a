"""What holds for each page of Onrecord in a browser. A new page is one more line of PAGES."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pytest

from tests.adapters.service.served import Served
from tests.browser.conftest import Open
from tests.browser.watched import NARROW, Scheme


@dataclass(frozen=True)
class Place:
    """A page of the demo's store: its name in the tests, its path, and how it answers."""

    name: str
    path: str
    status: int = 200

    def __str__(self) -> str:
        return self.name


MAIN: Final = "/c/support%2F4711"
REPORT: Final = "/c/support%2F4712"

PAGES: Final = (
    Place("list", "/"),
    Place("search", "/?text=parcel"),
    Place("nothing found", "/?actor=nobody"),
    Place("conversation", MAIN),
    Place("event", f"{MAIN}?at=17#v17"),
    Place("tools and redaction", REPORT),
    Place("approval", "/c/support%2F4713"),
    Place("request", f"{MAIN}/requests?at=72"),
    Place("request in a window", f"{REPORT}/requests?at=30&exchanges=1"),
    Place("time and cost", f"{MAIN}/times?by=cost"),
    Place("sign in", "/sign-in"),
    Place("no conversation", "/c/nobody", 404),
)
SCHEMES: Final[tuple[Scheme, ...]] = ("light", "dark")

_FOCUS: Final = """
(place => place && { text: place.textContent, isInMain: Boolean(place.closest("main")) })(document.activeElement)
"""


@pytest.mark.parametrize("place", PAGES, ids=str)
def test_a_page_is_silent_keeps_to_its_origin_and_fits_a_phone(
    demo: Served, opened: Open, place: Place
) -> None:
    seen = opened(demo.url)
    seen.visit(place.path, place.status)
    seen.page.set_viewport_size(NARROW)
    seen.settled()
    assert seen.overflow() <= 0
    assert seen.complaints == []


@pytest.mark.parametrize("place", PAGES, ids=str)
def test_axe_finds_nothing_serious_neither_light_nor_dark(
    demo: Served, opened: Open, place: Place
) -> None:
    seen = opened(demo.url)
    page = seen.visit(place.path, place.status)
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        assert (scheme, seen.axe()) == (scheme, [])


@pytest.mark.parametrize("place", PAGES, ids=str)
def test_the_keyboard_reaches_the_content_by_the_first_link(
    demo: Served, opened: Open, place: Place
) -> None:
    page = opened(demo.url).visit(place.path, place.status)
    page.locator("body").evaluate("() => document.activeElement?.blur()")
    page.keyboard.press("Tab")
    first = page.evaluate(_FOCUS)
    if not first["isInMain"]:
        assert first["text"] == "Skip to the content"
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        assert page.evaluate(_FOCUS)["isInMain"]
