"""Reading a view until it has caught up, where it does so by being read: a command is asked once."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from hansard.adapters.store import Store
from hansard.adapters.views.keeping import Progress
from hansard.adapters.views.page import Page


def is_folded_by_reading(store: Store) -> bool:
    """Whether views catch up as they are read: on PostgreSQL workers fold them."""
    return not store.url.startswith("postgres")


def whole(store: Store, ask: Callable[[], Page[Any]]) -> Page[Any]:
    """Return a page of a view that has all that the log had at first, with a bar on a terminal.

    What stands still is shown as it stands. After Ctrl-C the next reading goes on where this was.
    """
    page = ask()
    if not page.behind or not is_folded_by_reading(store):
        return page
    last = page.position + page.behind
    with _bar() as progress:
        before = -1
        while before < page.position < last and page.stopped is None:
            progress(page.position, last)
            before, page = page.position, ask()
    return page


@contextmanager
def _bar() -> Generator[Progress]:
    """Draw on standard error, which is left as it was, where that is a terminal."""
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield lambda _done, _of: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Bars(TextColumn("folding events"), *columns, console=console, transient=True) as bars:
        bar = bars.add_task("", total=None)
        yield lambda done, of: bars.update(bar, completed=done, total=of)
