"""Whatever a conversation says: nothing of it runs on a page, nothing leaves it, and the page stays of use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Page, expect

import onrecord
from onrecord import Store
from tests.adapters.service.served import Served, served
from tests.browser.conftest import Open
from tests.browser.hostile import ELSEWHERE, HOSTILE, PATHS, record_attacks
from tests.browser.shared_files import shared_file

_LONG: Final = "a line of <b>ten</b> megabytes "
_TIMES: Final = 10_000_000 // len(_LONG)

_HREFS: Final = """() => [...document.querySelectorAll("[href], [src], [action], [style], [onerror], [onload]")]
  .filter((each) => !["http:", "https:", "mailto:"].includes(new URL(
    each.getAttribute("href") ?? each.getAttribute("src") ?? each.getAttribute("action") ?? "javascript:",
    location.href).protocol))
  .map((each) => each.outerHTML.slice(0, 200))"""


@pytest.fixture(scope="module")
def hostile(browser: object, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    url = f"sqlite:///{tmp_path_factory.mktemp('hostile') / 'hostile.db'}"
    with onrecord.connect(url) as store:
        record_attacks(store)
        _record_a_long_line(store)
    with served(url) as answering:
        yield answering


def _record_a_long_line(store: Store) -> None:
    store.conversation("long").user(_LONG * _TIMES)


def _open_details(page: Page) -> None:
    page.evaluate(
        "() => document.querySelectorAll('details').forEach((each) => { each.open = true; })"
    )


def _nothing_ran(page: Page) -> None:
    for frame in page.frames:
        assert frame.evaluate("window.canary") is None


@pytest.mark.parametrize("path", PATHS)
def test_nothing_that_is_said_runs_or_leaves_a_page(
    hostile: Served, opened: Open, path: str
) -> None:
    seen = opened(hostile.url)
    page = seen.visit(path)
    _open_details(page)
    page.mouse.move(200, 200)
    _nothing_ran(page)
    assert page.evaluate(_HREFS) == []
    assert (
        page.locator("main :is(iframe, object, embed, base, style, script, form form)").count() == 0
    )
    assert seen.complaints == []
    assert seen.overflow() <= 0
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.locator(".brand").click()
    expect(page).to_have_url(f"{hostile.url}/")


def test_nothing_that_is_said_runs_or_leaves_a_shared_file(
    hostile: Served, opened: Open, tmp_path: Path
) -> None:
    seen = opened("file://")
    seen.page.goto(shared_file(hostile, HOSTILE, tmp_path).as_uri())
    _open_details(seen.page)
    _nothing_ran(seen.page)
    assert seen.complaints == []
    assert seen.overflow() <= 0
    expect(seen.page.get_by_role("heading", level=1)).to_be_visible()


def test_a_document_that_holds_scripts_runs_none_of_them(hostile: Served, opened: Open) -> None:
    listing = opened(hostile.url).visit(HOSTILE)
    links = listing.locator("figcaption a").all()
    paths = {link.get_attribute("href") for link in links}
    assert len(paths) == 2
    for path in paths:
        seen = opened(hostile.url)
        try:
            seen.page.goto(f"{hostile.url}{path}")
        except Exception as error:  # noqa: BLE001 - a file that is saved is not shown
            assert "Download is starting" in str(error)
        _nothing_ran(seen.page)
        assert not [each for each in seen.complaints if not each.startswith("the console says")]


def test_links_of_a_conversation_that_stay_tell_no_other_place_where_one_was(
    hostile: Served, opened: Open
) -> None:
    page = opened(hostile.url).visit(HOSTILE)
    for link in page.locator(f"main .text a[href^='{ELSEWHERE}']").all():
        assert "noreferrer" in (link.get_attribute("rel") or "")


@pytest.mark.parametrize("path", ["/c/long", "/c/long/requests"])
def test_a_line_of_ten_megabytes_leaves_the_page_of_use(
    hostile: Served, opened: Open, path: str
) -> None:
    seen = opened(hostile.url)
    page = seen.visit(path)
    expect(page.get_by_text("characters more").first).to_be_visible()
    assert seen.overflow() <= 0
    page.locator(".brand").click()
    expect(page).to_have_url(f"{hostile.url}/")
    assert seen.complaints == []
