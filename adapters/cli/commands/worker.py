"""`onrecord worker`: its arguments and its help; working.py does it."""

from __future__ import annotations

from typing import Annotated

import typer

from onrecord.adapters.cli.commands.options import Url
from onrecord.adapters.cli.commands.program import opened


def worker(
    context: typer.Context,
    views: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="Keep these views only.", show_default="all views"),
    ] = None,
    threads: Annotated[int, typer.Option(min=1, max=32, help="Fold so many parts at once.")] = 1,
    metrics_port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, metavar="PORT", help="Let Prometheus read metrics there."),
    ] = None,
    once: Annotated[
        bool, typer.Option("--once", help="Catch up with what is there, then end.")
    ] = False,
    url: Url = None,
) -> None:
    """Keep the views of a PostgreSQL store up to date.

    Start as many as you like, on as many machines: they share the work, and if one ends, however,
    the others take over within seconds. Ctrl-C or SIGTERM finishes what is at hand and gives back
    the rest; a second one ends at once, and loses nothing either. A SQLite store needs no worker:
    its views catch up when they are read.

    Example: `onrecord worker --url postgresql://localhost/agents`
    """
    from onrecord.adapters.cli.workers import Task, work
    from onrecord.adapters.settings import settings

    chosen = None if views is None else [name.strip() for name in views.split(",")]
    # By the database's own URL where a pooler stands before it: a worker prepares its statements.
    place = url or context.obj or settings().listen or settings().url
    with opened(context, url, made=not place.startswith("sqlite:")) as store:
        work(store, Task(place, chosen, threads, metrics_port, once))
