"""How views stand, what is parked in them, and how a rebuild goes on: what the commands show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

from onrecord.adapters.cli import output
from onrecord.adapters.cli.output import counted, named
from onrecord.adapters.cli.pages import Cell, Column, Kind, Names, show_rows, told_of
from onrecord.adapters.store import Store
from onrecord.adapters.views.ports import Keeper, Parked, Progress, ViewStatus, Workforce
from onrecord.domain.header import timestamp

_STANDING: Final = (
    *(Column("view"), Column("generation", Kind.COUNT), Column("position", Kind.COUNT)),
    *(Column("behind", Kind.COUNT), Column("parked", Kind.COUNT), Column("state", Kind.NAME)),
)
_PARKED: Final = (
    *(Column("view"), Column("conversation", Kind.NAME), Column("version", Kind.COUNT)),
    *(Column("type"), Column("attempts", Kind.COUNT), Column("tried again")),
    Column("error", Kind.NAME),
)

_NAMED: Final = 10
"""How many other tenants are named, at the most."""


def status(store: Store, *, as_json: bool) -> None:
    """Show how each view stands, and what of the store's tenant is parked in what is read of it."""
    keeper = store.views.keeper
    standings, working = keeper.status(), keeper.at_work()
    read = {(standing.view, standing.generation) for standing in standings}
    waiting = [event for event in keeper.parked() if (event.view, event.generation) in read]
    own = Counter(event.view for event in waiting if event.tenant == store.tenant)
    if as_json:
        for standing in standings:
            output.json_line(_standing_document(standing, own[standing.view], working))
        return
    show_rows(_STANDING, [_standing(at, own[at.view], working) for at in standings])
    _tell_elsewhere(store, waiting)
    if working is not None:
        output.told(_at_work(working))


def parked(store: Store, view: str | None, *, as_json: bool) -> None:
    """Show the events that views could not fold."""
    names, everywhere = Names(store), store.views.keeper.parked(view)
    waiting = [event for event in everywhere if event.tenant == store.tenant]
    if as_json:
        for event in waiting:
            output.json_line(told_of(event, names))
    else:
        show_rows(_PARKED, [_parked(event, names) for event in waiting])
        if not waiting:
            output.told("nothing is parked")
        _tell_elsewhere(store, everywhere)


def changed(view: str, done: str, *, as_json: bool) -> None:
    """Say what was done to a view."""
    if as_json:
        output.json_line({"view": view, "done": done})
    else:
        output.sentence(f"{view}: {done}.")


def retried(store: Store, view: str, conversation: str | None, *, as_json: bool) -> None:
    """Have parked events tried again, and say how many."""
    which = None if conversation is None else named(store, conversation).conversation_id
    count = store.views.keeper.retry(view, which)
    if as_json:
        output.json_line({"view": view, "retried": count})
    else:
        output.sentence(f"{counted(count, 'parked conversation')} of {view} tried again.")


def rebuilt(keeper: Keeper, view: str, *, as_json: bool) -> None:
    """Rebuild a view, with a bar on a terminal."""
    if not as_json and output.is_drawn():
        _rebuild_drawn(keeper, view)
    else:
        keeper.rebuild(view)
    [parked] = [standing.parked for standing in keeper.status() if standing.view == view]
    if parked:
        output.told(
            f"{counted(parked, 'conversation')} could not be folded: see `onrecord parked {view}`"
        )
    changed(view, "rebuilt", as_json=as_json)


def _rebuild_drawn(keeper: Keeper, view: str) -> None:
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (
        TextColumn(output.flat(view), markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Bars(*columns, console=output.console()) as bars:
        bar = bars.add_task(view, total=None)

        def told(done: int, of: int) -> None:
            bars.update(bar, completed=done, total=of)

        progress: Progress = told
        keeper.rebuild(view, progress)


def _tell_elsewhere(store: Store, waiting: Iterable[Parked]) -> None:
    """Say what is parked of other tenants, where the role may see that, for it counts nowhere else."""
    of = Counter(event.tenant for event in waiting if event.tenant != store.tenant)
    if of:
        named = ", ".join(f"{tenant} ({count:,})" for tenant, count in of.most_common(_NAMED))
        more = f" and {len(of) - _NAMED:,} more" if len(of) > _NAMED else ""
        output.told(f"parked of other tenants, each by its ONRECORD_TENANT: {named}{more}")


def _at_work(working: Workforce) -> str:
    if not working.workers:
        return "no worker is at work: `onrecord worker` folds what the views lack"
    held = f"{working.held:,} of {counted(working.parts, 'part')}"
    return f"{counted(working.workers, 'worker')} at work, on {held} of the log"


def _standing(standing: ViewStatus, parked: int, working: Workforce | None) -> tuple[Cell, ...]:
    counts = (standing.generation, standing.position, standing.behind, parked)
    return standing.view, *counts, _state(standing, working)


def _state(standing: ViewStatus, working: Workforce | None) -> str:
    """Return what is to be known of a view in a few words."""
    said: list[str] = []
    if standing.generation is None:
        said.append("not begun: nobody has read it" if working is None else "not begun")
    if standing.paused:
        said.append("paused")
    if standing.stopped is not None:
        said.append(f"stopped: {standing.stopped}")
    if standing.built is not None:
        stopped = standing.build_stopped
        went = "rebuilding" if stopped is None else f"its rebuild is stopped: {stopped}"
        said.append(f"{went}, {standing.built:,} of {standing.events:,}")
    return "; ".join(said)


def _standing_document(
    standing: ViewStatus, parked: int, working: Workforce | None
) -> dict[str, Any]:
    return {
        "view": standing.view,
        "generation": standing.generation,
        "revision": standing.revision,
        "position": standing.position,
        "events": standing.events,
        "behind": standing.behind,
        "parked": parked,
        "parked_elsewhere": max(0, standing.parked - parked),
        "paused": standing.paused,
        "stopped": standing.stopped,
        "building": standing.building,
        "built": standing.built,
        "build_stopped": standing.build_stopped,
        "workers": None if working is None else working.workers,
    }


def _parked(event: Parked, names: Names) -> tuple[Cell, ...]:
    due = "when asked" if event.retry_at is None else timestamp(event.retry_at)
    told = (event.attempts, due, event.error)
    return event.view, names.of(event), event.version, event.type, *told
