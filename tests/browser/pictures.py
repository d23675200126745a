"""`make pictures`: takes the pictures of docs/page.md anew, of the demo's store as it is recorded now."""

from __future__ import annotations

import sys
import tempfile
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from playwright.sync_api import ViewportSize, expect, sync_playwright

from tests.browser.chromium import ARGUMENTS, MISSING, chromium
from tests.browser.demo_store import demo_served
from tests.browser.places import COMPARING
from tests.browser.watched import Watched, watched

FOLDER: Final = Path(__file__).parents[2] / "docs" / "pictures"
VIEWPORT: Final[ViewportSize] = {"width": 1040, "height": 760}
LARGEST: Final = 150_000
"""In bytes: whoever clones the repository gets every version of each picture."""


@dataclass(frozen=True)
class Picture:
    """A picture of docs/page.md: its file, the page, and texts that it shows.

    `press` names a link or a button that is pressed first, as CSS does.
    """

    name: str
    path: str
    shows: tuple[str, ...]
    press: str | None = None

    def __str__(self) -> str:
        return self.name

    def stand(self, seen: Watched) -> None:
        """Open the page as the picture has it; fail where it does not show what docs/page.md says."""
        page = seen.visit(self.path)
        if self.press is not None:
            page.locator(self.press).first.click()
        for text in self.shows:
            expect(page.get_by_text(text).filter(visible=True).first).to_be_visible()


PICTURES: Final = (
    Picture("list", "/", ("support/4711", "support/4712", "fork")),
    Picture(
        "conversation",
        "/c/support%2F4712",
        ("Here is the report of depot North.", "depot_log", "depot-north-week-38.pdf"),
    ),
    Picture(
        "request",
        "/c/support%2F4712/requests?at=31",
        ("This is the request as it was sent", "depot-north-week-38.pdf", "outside of the window."),
    ),
    Picture(
        "diff",
        "/c/support%2F4712/requests?at=22",
        ("From version 18 (anthropic-messages, as it was sent)", "Before: Sent as it is"),
        press=COMPARING,
    ),
    Picture(
        "times",
        "/c/support%2F4712/times",
        ("depot_log",),
    ),
    Picture(
        "proof",
        "/c/support%2F4711/proof",
        ("All that was sealed holds",),
        press="form.verify button",
    ),
)


def main() -> None:
    """Take all pictures, in Chromium."""
    try:
        program = chromium()
    except FileNotFoundError as error:
        sys.exit(str(error))
    if program is None:
        sys.exit(MISSING)
    FOLDER.mkdir(exist_ok=True)
    # The path of the seals is in a picture: one that any machine may have.
    with tempfile.TemporaryDirectory() as folder, chdir(folder), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        with demo_served(Path(".demo")) as answering:
            seen = watched(browser, answering.url, viewport=VIEWPORT)
            for picture in PICTURES:
                picture.stand(seen)
                seen.page.screenshot(path=FOLDER / f"{picture.name}.png")
        browser.close()


if __name__ == "__main__":
    main()
