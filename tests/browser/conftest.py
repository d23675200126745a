"""A browser for the tests in this folder, and the demo's store behind a service."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.adapters.service.served import Served
from tests.browser.chromium import ARGUMENTS, MISSING, chromium
from tests.browser.demo_store import demo_served
from tests.browser.watched import WIDE, Scheme, Watched, watched

SCREENSHOTS: Final = Path(__file__).parents[2] / ".screenshots"
_FAILED: Final = pytest.StashKey[bool]()

Open = Callable[..., Watched]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what lies here."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note of a test whether it failed, for the picture of it."""
    report = yield
    item.stash[_FAILED] = item.stash.get(_FAILED, False) or report.failed
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say once why tests were skipped."""
    skipped = terminalreporter.stats.get("skipped", [])
    count = sum(MISSING in str(report.longrepr) for report in skipped)
    if count:
        terminalreporter.write_line(f"{count} skipped: {MISSING}")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A Chromium that is here; without one the tests are skipped."""
    try:
        program = chromium()
    except FileNotFoundError as error:
        pytest.exit(str(error), pytest.ExitCode.USAGE_ERROR)
    if program is None:
        pytest.skip(MISSING)
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield launched
        launched.close()


@pytest.fixture(scope="session")
def demo(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The demo's store, served; ONRECORD_DEMO names a folder in which it may be already."""
    folder = os.environ.get("ONRECORD_DEMO") or tmp_path_factory.mktemp("demo") / "store"
    with demo_served(Path(folder)) as answering:
        yield answering


@pytest.fixture
def opened(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Open]:
    """What opens a watched page at an origin; of a test that fails there is a picture of each."""
    pages = list[Watched]()

    def page_at(origin: str, scheme: Scheme = "light", viewport: object = WIDE) -> Watched:
        pages.append(watched(browser, origin, scheme, viewport))  # type: ignore[arg-type]
        return pages[-1]

    yield page_at
    for number, each in enumerate(pages):
        if request.node.stash.get(_FAILED, False):
            SCREENSHOTS.mkdir(exist_ok=True)
            name = re.sub(r"[^\w-]+", "-", request.node.name)
            each.page.screenshot(path=SCREENSHOTS / f"{name}-{number}.png", full_page=True)
        each.page.context.close()
