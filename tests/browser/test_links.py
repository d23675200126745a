"""Links that the page's scripts follow: a plain click is theirs, any other is the browser's."""

from __future__ import annotations

from hashlib import sha256
from typing import Any, Final

import pytest
from playwright.sync_api import expect

from tests.adapters.service.served import Served
from tests.browser.conftest import Open
from tests.browser.places import COMPARING, MAIN

_WATCHING: Final = """() => {
  for (const kind of ["click", "auxclick"]) {
    window.addEventListener(kind, (event) => {
      window.clicked = { kind, isTakenOver: event.defaultPrevented };
      event.preventDefault();
    });
  }
}"""
"""Notes of each click, behind the page's own scripts, whether they took it over; no link is followed."""

_COPYING: Final = "a[data-copy]"
_EXACT: Final = "Show what was sent, byte for byte"


@pytest.mark.parametrize(
    ("path", "link", "done"),
    [
        (f"{MAIN}/events/17", _COPYING, "#copied"),
        (f"{MAIN}/requests?at=13", COMPARING, "#seen-diff .diff"),
    ],
    ids=["copy", "fragment"],
)
@pytest.mark.parametrize(
    ("click", "kind"),
    [
        *[({"modifiers": [each]}, "click") for each in ("Shift", "Control", "Meta", "Alt")],
        ({"button": "middle"}, "auxclick"),
    ],
    ids=["Shift", "Control", "Meta", "Alt", "middle button"],
)
def test_a_click_that_opens_or_saves_a_link_is_left_to_the_browser(
    demo: Served, opened: Open, path: str, link: str, done: str, click: dict[str, Any], kind: str
) -> None:
    seen = opened(demo.url)
    page = seen.visit(path)
    page.evaluate(_WATCHING)
    place = page.locator(link).first
    place.click(**click)
    assert page.evaluate("window.clicked") == {"kind": kind, "isTakenOver": False}
    place.click()
    expect(page.locator(done)).not_to_be_empty()
    assert page.evaluate("window.clicked") == {"kind": "click", "isTakenOver": True}
    assert seen.complaints == []


def test_what_was_sent_is_shown_byte_for_byte_beside_the_request(
    demo: Served, opened: Open
) -> None:
    seen = opened(demo.url)
    page = seen.visit(f"{MAIN}/requests?at=13")
    address = page.url
    page.get_by_role("link", name=_EXACT).click()
    beside = page.locator("#seen-diff")
    expect(beside.get_by_role("heading")).to_have_text("The request that was sent at version 13")
    sent = beside.locator("pre.sent").text_content() or ""
    assert beside.locator("code").first.text_content() == sha256(sent.encode()).hexdigest()
    assert page.url == address
    assert seen.complaints == []
