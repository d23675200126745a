"""A page that shows the end of a conversation follows it: what is new comes without being asked for."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.adapters.service.served import served
from tests.browser.conftest import Open


def test_new_events_come_and_a_reader_above_is_told_how_many(opened: Open) -> None:
    with served() as service:

        def say(text: str) -> None:
            answer = service.ask("POST", "/v1/conversations/followed/prompts", {"text": text})
            assert answer.status < 300

        for number in range(40):
            say(f"Parcel {number}")
        seen = opened(service.url)
        page = seen.visit("/c/followed")
        page.evaluate("window.scrollTo(0, 0)")
        say("Is it late?")
        unread = page.locator("[data-unread]")
        expect(unread).to_have_text("1 new event")
        say("Is it lost?")
        expect(unread).to_have_text("2 new events")
        unread.click()
        expect(unread).to_be_hidden()
        expect(page.get_by_text("Is it lost?")).to_be_visible()
        page.get_by_role("switch").uncheck()
        say("Is it here?")
        page.get_by_role("switch").check()
        expect(page.get_by_text("Is it here?")).to_have_count(1)
        assert seen.complaints == []
