"""What a check of a store came to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

from onrecord.domain.errors import counted
from onrecord.domain.seals.merkle import Root
from onrecord.projections.verification.verification import Fault


@dataclass(frozen=True, slots=True)
class VerifiedView:
    """A view of which `rows` were compared; `behind` events of the log it has not folded yet.

    `parked` conversations wait in it, and were compared up to there.
    """

    view: str
    rows: int
    behind: int
    parked: int


@dataclass(frozen=True, slots=True)
class VerifiedSeal:
    """How far a shard is sealed at a place: up to `size` events, `pending` behind them not yet.

    That is by the largest checkpoint there that the log still has; `largest` is the size of the largest one
    that is there, which is more where the log was changed. `sealed_at` is when it was made, in
    microseconds since 1970-01-01 UTC, None where there is none. `checkpoints` is how many the log
    still has, `keys` the public keys that signed them, and `is_pinned` whether somebody named those keys.
    `is_checked` is false where the place could not be read, or no key is known. `stamped` is the size of
    the largest checkpoint that an authority's timestamp is of, as far as its certificates were named, and
    `stamped_at` that time.
    """

    shard: int
    place: str
    size: int
    sealed_at: int | None
    pending: int
    checkpoints: int
    keys: tuple[str, ...]
    is_pinned: bool
    is_checked: bool
    largest: int = 0
    stamped: int = 0
    stamped_at: int | None = None


@dataclass(frozen=True, slots=True)
class Verified:
    """What was checked, and what does not hold; `is_whole` if all does.

    `roots` are those of the shards as they are now, to be written down. `checked` says what was
    looked at, `unchecked` what could not be, a sentence each.
    `views` are those that were compared with the events, `seals` how far each shard is sealed at each
    place. What is `recorded` are the operators' streams, which count among the events and not among the
    conversations. `unfinished` are conversations whose erasure was begun and
    not finished, which is no fault.
    """

    events: int
    erased: int
    conversations: int
    faults: tuple[Fault, ...]
    roots: tuple[Root, ...] = ()
    checked: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()
    unfinished: tuple[UUID, ...] = ()
    views: tuple[VerifiedView, ...] = ()
    seals: tuple[VerifiedSeal, ...] = ()
    recorded_erasures: int = 0
    recorded_keys: int = 0
    recorded_holds: int = 0
    recorded_classes: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether all that was checked holds, and each seal that was asked for could be checked."""
        return not self.faults and all(seal.is_checked for seal in self.seals)


def unread_events(newer: int, locked: int) -> Iterator[str]:
    """Yield what is not checked of so many conversations of a newer release, and of encrypted events without a key."""
    if newer:
        yield (
            f"{counted(newer, 'conversation')} with events of a newer release: what those did to their heads, and "
            "which documents they refer to"
        )
    if locked:
        yield (
            f"{counted(locked, 'encrypted event')} without a key: what they say, what that did to their heads, and "
            "which documents they refer to"
        )
