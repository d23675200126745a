"""`onrecord views`, `parked`, `pause`, `resume`, `retry`, `rebuild`: they keep the views."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from onrecord.adapters.cli.program.options import AsJson, Projections, Url
from onrecord.adapters.cli.program.stores import open_store, register_projections
from onrecord.adapters.presentation.control_characters import flat
from onrecord.adapters.presentation.conversations import require_conversation
from onrecord.adapters.presentation.view_entries import conversation_name, entry_document
from onrecord.adapters.presentation.view_states import state_of, workers_at_work
from onrecord.adapters.store import Store
from onrecord.adapters.terminal import output
from onrecord.adapters.terminal.tables import Cell, Column, Kind, show_rows
from onrecord.domain.errors import counted
from onrecord.domain.header import timestamp

if TYPE_CHECKING:
    from onrecord.adapters.views.ports import Keeper, Parked, ViewStatus, Workforce

View = Annotated[str, typer.Argument(help="The view's name: `onrecord views` lists them.")]

_STATUS_COLUMNS: Final = (
    *(Column("view"), Column("generation", Kind.COUNT), Column("position", Kind.COUNT)),
    *(Column("behind", Kind.COUNT), Column("parked", Kind.COUNT), Column("state", Kind.NAME)),
)
_PARKED: Final = (
    *(Column("view"), Column("conversation", Kind.KEY), Column("version", Kind.COUNT)),
    *(Column("type"), Column("attempts", Kind.COUNT), Column("tried again")),
    Column("error", Kind.NAME),
)

_NAMED: Final = 10
"""How many other tenants are named, at the most."""


def views(
    context: typer.Context,
    projection: Projections = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Show the state of the views: how far each has come, what is parked, which are stopped.

    And, on standard error, whether workers are at work, and what is parked of other tenants.
    Piped: view, generation that is read, position, events that it is behind, conversations of this
    tenant that are parked, state.

    Example: `onrecord views`
    """
    with open_store(context, url) as store:
        register_projections(store, projection)
        keeper = store.views.keeper
        statuses, working = keeper.status(), keeper.at_work()
        read = {(status.view, status.generation) for status in statuses}
        waiting = [event for event in keeper.parked() if (event.view, event.generation) in read]
        own = Counter(event.view for event in waiting if event.tenant == store.tenant)
        if as_json:
            for status in statuses:
                output.json_line(_status_document(status, own[status.view], working))
            return
        rows = [_status_row(each, own[each.view], working) for each in statuses]
        show_rows(_STATUS_COLUMNS, rows)
        _note_other_tenants(store, waiting)
        if working is not None:
            output.note(workers_at_work(working))


def parked(
    context: typer.Context,
    view: Annotated[str | None, typer.Argument(help="Of this view.", show_default="all")] = None,
    projection: Projections = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Show the events that a view could not fold; later events of their conversations wait.

    Piped: view, key, version, type, attempts, when it is tried again, error.

    Example: `onrecord parked search`
    """
    with open_store(context, url) as store:
        register_projections(store, projection)
        everywhere = store.views.keeper.parked(view)
        waiting = [event for event in everywhere if event.tenant == store.tenant]
        if as_json:
            for event in waiting:
                output.json_line(entry_document(event))
            return
        show_rows(_PARKED, [_parked(event) for event in waiting])
        if not waiting:
            output.note("nothing is parked")
        _note_other_tenants(store, everywhere)


def pause(
    context: typer.Context,
    view: View,
    projection: Projections = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Stop updating a view until it is resumed; it can still be read.

    Example: `onrecord pause search`
    """
    with open_store(context, url) as store:
        register_projections(store, projection)
        store.views.keeper.pause(view)
    _report(view, "paused", as_json=as_json)


def resume(
    context: typer.Context,
    view: View,
    projection: Projections = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Update a view again that was paused, or that stopped by itself.

    Example: `onrecord resume search`
    """
    with open_store(context, url) as store:
        register_projections(store, projection)
        store.views.keeper.resume(view)
    _report(view, "resumed", as_json=as_json)


def retry(
    context: typer.Context,
    view: View,
    conversation: Annotated[
        str | None,
        typer.Option(
            "--conversation", "-c", metavar="KEY", help="This one only.", show_default="all"
        ),
    ] = None,
    projection: Projections = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Try parked events again now.

    Example: `onrecord retry search --conversation support/4711`
    """
    with open_store(context, url) as store:
        register_projections(store, projection)
        which = (
            None
            if conversation is None
            else require_conversation(store, conversation).conversation_id
        )
        count = store.views.keeper.retry(view, which)
    if as_json:
        output.json_line({"view": view, "retried": count})
    else:
        output.sentence(f"{counted(count, 'parked conversation')} of {view} tried again.")


def rebuild(
    context: typer.Context,
    view: View,
    abandon: Annotated[
        bool, typer.Option("--abandon", help="Drop what an unfinished rebuild has made.")
    ] = False,
    projection: Projections = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Build a view again from the log, beside the current one, and switch when it has caught up.

    After Ctrl-C, the same command goes on where it was.

    Example: `onrecord rebuild search`
    """
    with open_store(context, url) as store:
        register_projections(store, projection)
        keeper = store.views.keeper
        if not abandon:
            rebuild_view(keeper, view, as_json=as_json)
            return
        done = "abandoned" if keeper.abandon(view) else "there was nothing to abandon"
    _report(view, done, as_json=as_json)


def _report(view: str, done: str, *, as_json: bool) -> None:
    if as_json:
        output.json_line({"view": view, "done": done})
    else:
        output.sentence(f"{view}: {done}.")


def rebuild_view(keeper: Keeper, view: str, *, as_json: bool) -> None:
    """Rebuild a view, with a bar on a terminal."""
    if not as_json and output.is_drawn():
        _rebuild_drawn(keeper, view)
    else:
        keeper.rebuild(view)
    [parked] = [status.parked for status in keeper.status() if status.view == view]
    if parked:
        output.note(
            f"{counted(parked, 'conversation')} could not be folded: see `onrecord parked {view}`"
        )
    _report(view, "rebuilt", as_json=as_json)


def _rebuild_drawn(keeper: Keeper, view: str) -> None:
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (
        TextColumn(flat(view), markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Bars(*columns, console=output.console()) as bars:
        bar = bars.add_task(view, total=None)

        keeper.rebuild(view, lambda done, total: bars.update(bar, completed=done, total=total))


def _note_other_tenants(store: Store, waiting: Iterable[Parked]) -> None:
    """Say what is parked of other tenants, where the role may see that, for it counts nowhere else."""
    counts = Counter(event.tenant for event in waiting if event.tenant != store.tenant)
    if counts:
        listed = ", ".join(f"{tenant} ({count:,})" for tenant, count in counts.most_common(_NAMED))
        more = f" and {len(counts) - _NAMED:,} more" if len(counts) > _NAMED else ""
        output.note(f"parked of other tenants, each by its ONRECORD_TENANT: {listed}{more}")


def _status_row(status: ViewStatus, parked: int, working: Workforce | None) -> tuple[Cell, ...]:
    counts = (status.generation, status.position, status.behind, parked)
    return status.view, *counts, state_of(status, working)


def _status_document(status: ViewStatus, parked: int, working: Workforce | None) -> dict[str, Any]:
    return {
        "view": status.view,
        "generation": status.generation,
        "revision": status.revision,
        "position": status.position,
        "events": status.events,
        "behind": status.behind,
        "parked": parked,
        "parked_elsewhere": max(0, status.parked - parked),
        "paused": status.paused,
        "stopped": status.stopped,
        "building": status.building,
        "built": status.built,
        "build_stopped": status.build_stopped,
        "workers": None if working is None else working.at(status.view),
    }


def _parked(event: Parked) -> tuple[Cell, ...]:
    due = "when asked" if event.retry_at is None else timestamp(event.retry_at)
    columns = (event.attempts, due, event.error)
    return event.view, conversation_name(event), event.version, event.type, *columns
