"""A link to an event, and a key, lead where they say: however tall what stands around is."""

from __future__ import annotations

from typing import Final

import pytest
from playwright.sync_api import ViewportSize, expect

from tests.adapters.service.served import Served
from tests.browser.conftest import Open
from tests.browser.watched import NARROW, WIDE, Watched

_STANDS: Final = """(place) => {
  const at = document.querySelector(place).getBoundingClientRect().top;
  const room = document.documentElement.scrollHeight - innerHeight - scrollY;
  return at >= 0 && (at <= 40 || room < 2) && at < innerHeight / 2;
}"""
"""Whether an element stands at the top of the window, or as high as the end of the page lets it."""

_FOCUS_IS_SEEN: Final = """() => {
  const place = document.activeElement.getBoundingClientRect();
  return place.top >= 0 && place.bottom <= document.querySelector("#live").getBoundingClientRect().top;
}"""


@pytest.mark.parametrize("viewport", [NARROW, WIDE], ids=["phone", "desk"])
def test_a_link_and_the_keys_lead_to_the_event_they_name(
    demo: Served, opened: Open, viewport: ViewportSize
) -> None:
    seen: Watched = opened(demo.url, viewport=viewport)
    seen.page.emulate_media(reduced_motion="no-preference")
    for version in (96, 20):
        page = seen.visit(f"/c/support%2F4711?at={version}#v{version}")
        page.wait_for_function(_STANDS, arg=f"#v{version}")
    for _ in range(9):
        page.keyboard.press("n")
    expect(page.locator("h2.exchange:focus")).to_be_visible()
    page.wait_for_function(_FOCUS_IS_SEEN)
    for _ in range(3):
        page.keyboard.press("j")
    expect(page.locator("article.event:focus")).to_be_visible()
    page.wait_for_function(_FOCUS_IS_SEEN)
    assert seen.complaints == []


def test_a_page_shows_the_keys_that_do_something_there_and_escape_leaves_the_search(
    demo: Served, opened: Open
) -> None:
    page = opened(demo.url).visit("/")
    page.keyboard.press("/")
    search = page.get_by_role("searchbox")
    expect(search).to_be_focused()
    page.keyboard.press("Escape")
    expect(search).not_to_be_focused()
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text("Search", exact=True)).to_be_visible()
    expect(dialog.get_by_text("Next and previous event")).to_be_hidden()
