"""The pages that the tests look at in a browser. A new page is one more line of PAGES.

`tests/adapters/page/test_browser_places.py` tells which page is missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.browser.watched import Watched


@dataclass(frozen=True)
class Place:
    """A page of the demo's store: its name in the tests, its path, and how it answers.

    `form` is the action of a form that is sent first: the page is what answers it.
    """

    name: str
    path: str
    status: int = 200
    form: str | None = None

    def __str__(self) -> str:
        return self.name

    def open(self, seen: Watched) -> Page:
        """Open the page, and return it once all that it loads is there."""
        page = seen.visit(self.path, self.status)
        if self.form is not None:
            with page.expect_navigation():
                page.locator(f'form[method="post"][action="{self.form}"] button').click()
        return seen.settled()


COMPARING: Final = 'a[data-into][href*="/diff?"]'
"""What compares a request with the one before, as CSS finds it."""

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
    Place("words in a conversation", f"{MAIN}/search?text=parcel"),
    Place("event as JSON", f"{MAIN}/events/17"),
    Place("request", f"{MAIN}/requests?at=72"),
    Place("request in a window", f"{REPORT}/requests?at=30&exchanges=1"),
    Place("compared requests", f"{MAIN}/requests/anthropic-messages/diff?a=5&b=13"),
    Place("request as it was sent", f"{MAIN}/sent/13"),
    Place("time and cost", f"{MAIN}/times?by=cost"),
    Place("proof", f"{MAIN}/proof"),
    Place("verified conversation", f"{MAIN}/proof", form=f"{MAIN}/proof"),
    Place("share", f"{MAIN}/share"),
    Place("approvals", "/approvals"),
    Place("audit", "/audit"),
    Place("usage", "/usage"),
    Place("operations", "/operations"),
    Place("verified log", "/operations", form="/operations/verification"),
    Place("sign in", "/sign-in"),
    Place("no conversation", "/c/nobody", 404),
)
