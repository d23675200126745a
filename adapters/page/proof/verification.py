"""What a verification came to, as the page shows it, and how few run at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeVar

from onrecord.adapters.page.proof.comparison import SealComparison
from onrecord.adapters.presentation.verification import sealed_line, verified_summary
from onrecord.adapters.service.quotas import Quota
from onrecord.adapters.service.route import Call
from onrecord.adapters.upkeep.verified import Verified
from onrecord.projections.verification.verification import Fault

T = TypeVar("T")

_MOST_AT_ONCE: Final = 2
"""How many verifications run at once; of one tenant, half of them."""

_MOST_FAULTS: Final = 100


@dataclass(frozen=True, slots=True)
class ShownFault:
    """Something that does not hold, and where its event is shown; `path` is None where it is of no event."""

    version: int
    why: str
    path: str | None


@dataclass(frozen=True, slots=True)
class ShownVerification:
    """What a verification came to, as the page shows it.

    `at` is when it was made, in microseconds since 1970-01-01 UTC. `comparison` is with the checkpoint that
    was chosen, if one was. `more_faults` is how many are not among `faults`, `seals` how far each shard is
    sealed at each place, where all of the log was verified.
    """

    at: int
    summary: str
    verified: Verified
    comparison: SealComparison | None
    faults: tuple[ShownFault, ...]
    more_faults: int
    seals: tuple[str, ...]

    @property
    def count(self) -> int:
        """How many faults there are."""
        return len(self.faults) + self.more_faults

    @property
    def is_whole(self) -> bool:
        """Whether all that was to be checked was checked, and holds."""
        unread = self.comparison is not None and self.comparison.unread is not None
        return self.verified.is_whole and not (self.faults or unread)

    @property
    def tells_of_all(self) -> bool:
        """Whether it would tell of events that were taken away, too, as far as a seal covers them."""
        return self.comparison is not None and self.comparison.is_shard_whole


class Verifications:
    """Runs verifications beside the event loop: few at once, for each reads much.

    `under_way` counts them, those of other routes too.
    """

    def __init__(self) -> None:
        """Have none under way."""
        self.under_way = Quota(_MOST_AT_ONCE)

    async def run(self, call: Call[Any, Any], step: Callable[[], T]) -> T:
        """Return what a step gives; Problem where too many are under way."""
        return await self.under_way.run(call.tenant, partial(call.steps.run_long, step))


def shown_verification(
    verified: Verified, at: int, comparison: SealComparison | None = None
) -> ShownVerification:
    """Return what the page shows of a verification, and of the comparison with a checkpoint."""
    faults = dict.fromkeys((*verified.faults, *_besides(verified.faults, comparison)))
    return ShownVerification(
        at=at,
        summary=verified_summary(verified),
        verified=verified,
        comparison=comparison,
        faults=tuple(map(_shown_fault, faults))[:_MOST_FAULTS],
        more_faults=max(0, len(faults) - _MOST_FAULTS),
        seals=tuple(map(sealed_line, verified.seals)),
    )


def _besides(known: Sequence[Fault], comparison: SealComparison | None) -> list[Fault]:
    """Return the faults of a comparison but for those of events that have one already."""
    named = {(fault.conversation_id, fault.version) for fault in known if fault.version}
    faults = () if comparison is None else comparison.faults
    return [fault for fault in faults if (fault.conversation_id, fault.version) not in named]


def _shown_fault(fault: Fault) -> ShownFault:
    path = None
    if fault.conversation_id is not None:
        path = f"/c/{fault.conversation_id}"
        if fault.version:
            path += f"?at={fault.version}#v{fault.version}"
    return ShownFault(fault.version, fault.why, path)
