"""A page of the browser whose every message, request and dialog is watched."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Literal, cast

from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]  # no stubs
from playwright.sync_api import (
    Browser,
    ConsoleMessage,
    Dialog,
    Page,
    Request,
    Response,
    ViewportSize,
    expect,
)

from tests.patience import PAGE_PATIENCE

Scheme = Literal["light", "dark"]

WIDE: Final[ViewportSize] = {"width": 1280, "height": 900}
NARROW: Final[ViewportSize] = {"width": 390, "height": 844}
_SERIOUS: Final = frozenset({"serious", "critical"})
_PATIENCE: Final = PAGE_PATIENCE * 1000


@dataclass(frozen=True)
class Watched:
    """A page of a browser, and what went wrong there.

    `complaints` has what the console said, what was thrown, each dialog, and each request that left the
    origin.
    """

    page: Page
    origin: str
    complaints: list[str] = field(default_factory=list[str])

    def visit(self, path: str, status: int = 200) -> Page:
        """Open a path, and return the page once its fragments are there."""
        answer = self.page.goto(self.origin + path)
        assert answer is not None
        assert answer.status == status, f"{path} answered {answer.status}"
        return self.settled()

    def settled(self) -> Page:
        """Return the page once all that it loads by itself is there."""
        expect(self.page.locator("[aria-busy=true]")).to_have_count(0)
        return self.page

    def axe(self, *rules: str) -> list[str]:
        """Return what axe finds serious or critical, by some rules or all: the rule, and where."""
        options = {"runOnly": list(rules)} if rules else None
        results = cast("Any", Axe()).run(self.page, options=options)
        found: list[dict[str, Any]] = results.response["violations"]
        return [
            f"{each['id']}: {each['help']}: {each['nodes'][0]['html']}"
            for each in found
            if each["impact"] in _SERIOUS
        ]

    def overflow(self) -> int:
        """Return by how many pixels the page is wider than its window."""
        return int(
            self.page.evaluate("document.documentElement.scrollWidth - window.innerWidth"),
        )


def watched(
    browser: Browser, origin: str, scheme: Scheme = "light", viewport: ViewportSize = WIDE
) -> Watched:
    """Return a new page in a context of its own; the context ends with the browser, or when closed."""
    context = browser.new_context(
        viewport=viewport, color_scheme=scheme, reduced_motion="reduce", timezone_id="UTC"
    )
    context.set_default_timeout(_PATIENCE)
    expect.set_options(timeout=_PATIENCE)
    page = context.new_page()
    seen = Watched(page, origin)

    def asked(request: Request) -> None:
        if not request.url.startswith(f"{origin}/"):
            seen.complaints.append(_left(request))

    def failed(request: Request) -> None:
        if request.failure == "csp" and _left(request) in seen.complaints:
            seen.complaints.remove(_left(request))  # The policy held it back.

    def said(message: ConsoleMessage) -> None:
        if "the server responded with a status of" not in message.text:
            seen.complaints.append(f"the console says: {message.text[:500]}")

    def answered(response: Response) -> None:
        if response.status >= 400 and not response.request.is_navigation_request():
            seen.complaints.append(f"{response.status}: {response.url[:200]}")

    def asks(dialog: Dialog) -> None:
        seen.complaints.append(f"a dialog opens: {dialog.message[:200]}")
        dialog.dismiss()

    page.on("request", asked)
    page.on("requestfailed", failed)
    page.on("response", answered)
    page.on("console", said)
    page.on("pageerror", lambda error: seen.complaints.append(f"thrown: {error.message[:500]}"))
    page.on("dialog", asks)
    return seen


def _left(request: Request) -> str:
    return f"a request left: {request.url[:200]}"
