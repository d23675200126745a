"""What was moved from one log into another, as people and programs read it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final
from uuid import UUID

from onrecord.adapters.presentation.sizes_and_times import moment
from onrecord.adapters.settings import NO_TENANT
from onrecord.adapters.terminal import output
from onrecord.domain.errors import counted
from onrecord.domain.header import timestamp

if TYPE_CHECKING:
    from onrecord.adapters.transfer.moving import TenantMove
    from onrecord.domain.operators import LogMoved

_SHOWN: Final = 20
_NOTHING: Final = dict.fromkeys(
    ("log", "incarnation", "shard", "size", "root", "pairs", "moved_at")
)


def write_moved(found: Iterable[TenantMove], *, as_json: bool, is_plan: bool = False) -> None:
    """Write what of each tenant was moved, or would be with a plan; on standard error what is left out and why."""
    for moved in found:
        conversations, bound = len(moved.conversations), moved.bound
        if as_json:
            left = [{"conversation": str(id_), "why": why} for id_, why in moved.left_out.items()]
            counts = {"events": moved.events, "recorded": moved.recorded, "left": left}
            document = {"tenant": str(moved.tenant), "conversations": conversations, **counts}
            output.json_line(document | (_NOTHING if bound is None else _binding(bound)))
        elif output.is_drawn():
            output.sentence(
                f"{counted(conversations, 'conversation')}{_party(moved.tenant)}, "
                f"{counted(moved.events, 'event')}: {moved.recorded:,} {'would be new' if is_plan else 'new'}."
            )
        else:
            output.plain(
                moved.tenant, conversations, moved.events, moved.recorded, len(moved.left_out)
            )
        if not as_json:
            _write_left(moved)
        write_textless(moved.textless)


def write_bound(facts: Iterable[LogMoved], *, as_json: bool) -> None:
    """Write what binds two logs, where it was checked with both."""
    for fact in facts:
        if as_json:
            counts = {"tenant": str(fact.tenant), "events": fact.events}
            output.json_line(counts | _binding(fact))
        elif output.is_drawn():
            output.sentence(
                f"{counted(fact.events, 'event')}{_party(fact.tenant)}, moved at "
                f"{moment(fact.at)}: the same in both logs."
            )
        else:
            output.plain(fact.tenant, fact.events, fact.pairs, timestamp(fact.at))


def write_textless(events: int) -> None:
    """Write on standard error how many events were compared without their text, if any were."""
    if events:
        output.note(
            f"{counted(events, 'event')} compared without text: it was erased in one of the logs, which tells of it."
        )


def _party(tenant: UUID) -> str:
    """Return whose it is, for a sentence: nothing where a store serves one party only."""
    return "" if tenant == NO_TENANT else f" of the tenant {tenant}"


def _write_left(moved: TenantMove) -> None:
    for id_, why in list(moved.left_out.items())[:_SHOWN]:
        output.note(f"{id_} is left out: {why}")
    if (more := len(moved.left_out) - _SHOWN) > 0:
        output.note(f"and {more:,} more: --json lists all")


def _binding(fact: LogMoved) -> dict[str, object]:
    return {
        "log": str(fact.origin),
        "incarnation": str(fact.incarnation),
        "shard": fact.shard,
        "size": fact.size,
        "root": fact.root,
        "pairs": fact.pairs,
        "moved_at": timestamp(fact.at),
    }
