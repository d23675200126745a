"""Reading a view until it has caught up with what there was at first: a command is asked once."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Generic

from onrecord.adapters.cli import output
from onrecord.adapters.store import Store
from onrecord.adapters.views.pages import EntryT, Page
from onrecord.adapters.views.ports import Progress

_PAUSES: Final = (0.05, 0.1, 0.15, 0.3, 0.4)
"""Seconds between readings of a view that workers are at: a second, all together."""


def is_folded_by_reading(store: Store) -> bool:
    """Whether views catch up as they are read: on PostgreSQL workers fold them."""
    return not store.url.startswith("postgres")


def is_worked_at(store: Store) -> bool:
    """Whether a worker is at work, by the server's clock; which views it folds is not known."""
    working = store.views.keeper.at_work()
    return working is not None and working.workers > 0


@dataclass(frozen=True, slots=True)
class Answer(Generic[EntryT]):
    """A page of a view, and how many events of those that the log had at first it `lacks`.

    What came since does not count: under traffic there is always something that came just now.
    """

    page: Page[EntryT]
    lacks: int


def whole(store: Store, ask: Callable[[], Page[EntryT]]) -> Answer[EntryT]:
    """Return a page of a view that has all that the log had at first, as far as it gets there.

    Views that catch up as they are read are read on, with a bar on a terminal; after Ctrl-C the
    next reading goes on where this was. Workers are given a second. What stands still is shown as
    it stands.
    """
    page = ask()
    last = page.position + page.behind
    if page.behind and page.stopped is None:
        if is_folded_by_reading(store):
            page = _read_on(page, last, ask)
        elif is_worked_at(store):
            page = _awaited(page, last, ask)
    return Answer(page, max(0, last - page.position))


def _read_on(page: Page[EntryT], last: int, ask: Callable[[], Page[EntryT]]) -> Page[EntryT]:
    with _bar() as progress:
        before = -1
        while before < page.position < last and page.stopped is None:
            progress(page.position, last)
            before, page = page.position, ask()
    return page


def _awaited(page: Page[EntryT], last: int, ask: Callable[[], Page[EntryT]]) -> Page[EntryT]:
    for pause in _PAUSES:
        if page.position >= last or page.stopped is not None:
            break
        time.sleep(pause)
        page = ask()
    return page


@contextmanager
def _bar() -> Generator[Progress]:
    """Draw on standard error, which is left as it was, where that is a terminal."""
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield lambda _done, _of: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = output.console(stderr=True)
    with Bars(TextColumn("folding events"), *columns, console=console, transient=True) as bars:
        bar = bars.add_task("", total=None)
        yield lambda done, of: bars.update(bar, completed=done, total=of)
