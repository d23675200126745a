"""How views and their workers stand, in a few words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from onrecord.domain.errors import counted

if TYPE_CHECKING:
    from onrecord.adapters.views.ports import ViewStatus, Workforce

_UNKNOWN: Final = "no worker knows it: start one with --projection module:NAME"


def state_of(status: ViewStatus, working: Workforce | None) -> str:
    """Return what is to be known of a view in a few words; nothing where it does what it should."""
    parts: list[str] = []
    if status.generation is None:
        parts.append("not begun: nobody has read it" if working is None else "not begun")
    if working is not None and not working.at(status.view) and working.workers and status.behind:
        parts.append(_UNKNOWN)
    if status.paused:
        parts.append("paused")
    if status.stopped is not None:
        parts.append(f"stopped: {status.stopped}")
    if status.built is not None:
        stopped = status.build_stopped
        progress = "rebuilding" if stopped is None else f"its rebuild is stopped: {stopped}"
        parts.append(f"{progress}, {status.built:,} of {status.events:,}")
    return "; ".join(parts)


def workers_at_work(working: Workforce) -> str:
    """Return how many workers there are, and how much of the log they hold."""
    if not working.workers:
        return "no worker is at work: `onrecord worker` folds what the views lack"
    share = f"{working.held:,} of {counted(working.parts, 'part')}"
    return f"{counted(working.workers, 'worker')} at work, on {share} of the log"
