"""A person looks: from the list to a conversation, to what the model saw, to what changed there."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.adapters.service.served import Served
from tests.browser.conftest import Open
from tests.browser.places import COMPARING


def test_a_person_goes_from_the_list_to_what_changed_in_a_request(
    demo: Served, opened: Open
) -> None:
    seen = opened(demo.url)
    page = seen.visit("/")
    page.get_by_role("link", name="support/4711", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("support/4711")
    page.locator("main nav a[href$='/requests']").click()
    page.wait_for_url("**/requests")
    seen.settled()
    slider = page.get_by_role("slider")
    slider.focus()
    page.keyboard.press("Home")
    for _ in range(8):
        page.keyboard.press("ArrowRight")
    expect(page.locator("form.seen-at output")).to_have_text("9")
    page.wait_for_url(lambda url: "at=9" in url)
    seen.settled()
    page.locator(COMPARING).first.click()
    expect(page.locator("#seen-diff .diff")).to_be_visible()
    assert seen.complaints == []
