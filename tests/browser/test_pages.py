"""What holds for each page of Onrecord in a browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.adapters.page.local_issuer import local_issuer
from tests.adapters.page.page_with_issuer import served_by
from tests.adapters.page.test_sessions import Clock
from tests.adapters.service.served import Served
from tests.browser.conftest import Open
from tests.browser.places import PAGES, REPORT, Place
from tests.browser.shared_files import shared_file
from tests.browser.watched import NARROW, Watched


@pytest.mark.parametrize("place", PAGES, ids=str)
def test_a_page_is_silent_keeps_to_its_origin_fits_a_phone_and_serves_everybody(
    demo: Served, opened: Open, place: Place
) -> None:
    seen = opened(demo.url)
    place.open(seen)
    _serves_everybody(seen)
    seen.page.set_viewport_size(NARROW)
    seen.settled()
    assert seen.overflow() <= 0
    assert seen.complaints == []


@pytest.mark.parametrize("place", PAGES, ids=str)
def test_the_keyboard_reaches_the_content_by_the_first_link(
    demo: Served, opened: Open, place: Place
) -> None:
    page = place.open(opened(demo.url))
    if page.locator("main [autofocus]").count() == 1:
        expect(page.locator("main [autofocus]")).to_be_focused()
        return
    page.keyboard.press("Tab")
    _, _, target = place.path.partition("#")
    if target:
        assert _is_focus_in(page, f"#{target}"), "the keyboard goes on where the address leads"
        return
    expect(page.locator("a.skip")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert _is_focus_in(page, "main")


def test_a_shared_file_loads_nothing_and_serves_everybody(
    demo: Served, opened: Open, tmp_path: Path
) -> None:
    seen = opened("file://")
    page = seen.page
    asked = list[str]()
    page.on("request", lambda request: asked.append(request.url))
    file = shared_file(demo, REPORT, tmp_path)
    page.goto(file.as_uri())
    assert asked == [file.as_uri()]
    _serves_everybody(seen)
    page.set_viewport_size(NARROW)
    assert seen.overflow() <= 0
    assert seen.complaints == []


def test_the_way_to_an_issuer_and_out_of_it_serves_everybody(opened: Open) -> None:
    with local_issuer() as issuer, served_by(issuer, Clock()) as service:
        issuer.metadata["end_session_endpoint"] = f"{issuer.url}/end"
        assert service.ask("GET", "/sign-in/issuer").status == 303, "the issuer was not asked"
        seen = opened(service.url)
        page = seen.visit("/sign-in?signed_out=true")
        expect(page.get_by_role("link", name="Sign in with")).to_be_visible()
        expect(page.get_by_role("link", name="sign out there, too")).to_be_visible()
        _serves_everybody(seen)
        page.set_viewport_size(NARROW)
        assert seen.overflow() <= 0
        assert seen.complaints == []


def _serves_everybody(seen: Watched) -> None:
    """Fail where axe finds something serious, light or dark."""
    assert seen.axe() == []
    seen.page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    assert seen.axe("color-contrast") == []


def _is_focus_in(page: Page, place: str) -> bool:
    return bool(page.locator(place).evaluate("place => place.contains(document.activeElement)"))
