"""The builds of views that a worker feeds, and those that it leaves alone, with the reason."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from onrecord.projections.views.view import Feed, View

Status = Literal["building", "live", "retired"]


@dataclass(frozen=True, slots=True)
class Build:
    """A generation of a view as the database has it; `stopped` says why it stands still."""

    view: str
    number: int
    revision: int
    status: Status
    paused: bool = False
    stopped: str | None = None


@dataclass(frozen=True, slots=True)
class Feeding:
    """What is fed, what is ready to be compared and switched, what is swept, and what is told."""

    feeds: frozenset[Feed] = frozenset()
    building: tuple[tuple[str, int, int], ...] = ()
    retired: tuple[tuple[str, int], ...] = ()
    told: tuple[str, ...] = ()


def feeding(builds: Iterable[Build], views: Mapping[str, View]) -> Feeding:
    """Return what a worker that knows these views does with the builds that there are.

    `building` has for each view the number that is built and the live one.
    """
    known = [build for build in builds if build.view in views]
    live = {build.view: build.number for build in known if build.status == "live"}
    kept = [build for build in known if build.status != "retired"]
    return Feeding(
        frozenset(Feed(views[at.view], at.number) for at in kept if _is_fed(at, views[at.view])),
        tuple(
            (build.view, build.number, live[build.view])
            for build in kept
            if build.status == "building" and _is_fed(build, views[build.view])
        ),
        tuple((build.view, build.number) for build in known if build.status == "retired"),
        tuple(why for build in kept if (why := _why_not(build, views[build.view]))),
    )


def _is_fed(build: Build, view: View) -> bool:
    return _why_not(build, view) is None


def _why_not(build: Build, view: View) -> str | None:
    if build.stopped is not None:
        which = "the rebuild of " if build.status == "building" else ""
        return f"{which}{build.view} is stopped: {build.stopped}"
    if build.paused:
        return f"{build.view} is paused"
    if build.revision != view.revision:
        return (
            f"the {build.status} rows of {build.view} were made by revision {build.revision} of it "
            f"and this release has revision {view.revision}: run `onrecord rebuild {build.view}`"
        )
    return None
