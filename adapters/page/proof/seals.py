"""What places keep of the seals of one conversation's shard: which checkpoints, and what they cover."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache
from typing import Final
from uuid import UUID

from onrecord.adapters.encryption.encrypted_log import stored_of
from onrecord.adapters.presentation.conversations import NamedConversation
from onrecord.adapters.seals.checkpoints import SealedCheckpoint, ShardSeals
from onrecord.adapters.seals.places import place_at
from onrecord.adapters.seals.trust import TrustedKeys, trusted_keys
from onrecord.adapters.settings import SealSettings
from onrecord.adapters.store import Store, backend_of
from onrecord.domain.errors import CorruptRecord, InvalidInput, NotInstalled, StorageUnavailable
from onrecord.domain.header import microseconds_of
from onrecord.domain.log import Backend
from onrecord.domain.seals.checkpoint import log_id_of

LISTED: Final = 20
"""The most checkpoints of a place that are listed at once."""

_A_DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class ListedCheckpoint:
    """A checkpoint, when it was sealed, and how many events of the conversation it covers.

    `sealed_at` is in microseconds since 1970-01-01 UTC, by the log's clock.
    """

    size: int
    sealed_at: int
    root: str
    note: str
    covered: int


@dataclass(frozen=True, slots=True)
class SealsAtPlace:
    """What one place keeps: its last checkpoint, and some of all, the latest first.

    `whole` is the first one that covers all events of the conversation. `older` is the size of the last one that is listed, where there are older ones. `problem` says what is
    wrong with the place.
    """

    place: str
    last: ListedCheckpoint | None = None
    whole: ListedCheckpoint | None = None
    checkpoints: tuple[ListedCheckpoint, ...] = ()
    older: int | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class ConversationSeals:
    """The seals of a conversation's shard, and the public keys that are believed.

    The keys are pinned where somebody named them; else they follow from the private key's file.
    """

    shard: int
    places: tuple[SealsAtPlace, ...]
    keys: tuple[str, ...]
    is_pinned: bool


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which checkpoints are listed: those before a size, or those up to the end of a day (UTC)."""

    before: int | None = None
    day: date | None = None


class EventPositions:
    """Where in its shard each event of a conversation is. Each is read once, when it is needed."""

    def __init__(self, backend: Backend, conversation: NamedConversation) -> None:
        """Read nothing yet."""
        self._backend = stored_of(backend)
        self._id: UUID = conversation.conversation_id
        self._versions = range(1, conversation.head.version + 1)
        self._position = cache(self._read)

    def last(self) -> int:
        """Return the position of the last event."""
        return self._position(self._versions[-1])

    def covered(self, size: int) -> int:
        """Return how many events of the conversation are among the first so many of the shard."""
        return bisect_right(self._versions, size, key=self._position)

    def _read(self, version: int) -> int:
        read = self._backend.read(self._id, after=version - 1, until=version)
        return next((event.position for event in read), 0)


def shard_seals(
    store: Store, settings: SealSettings, shard: int
) -> tuple[TrustedKeys, list[ShardSeals]]:
    """Return whose signatures are believed, and what each place keeps of a shard.

    InvalidInput for an URL of no place, and for a text or a file that holds no key; NotInstalled where a
    library is missing that reaches a place.
    """
    log_id, trusted = log_id_of(backend_of(store).digest), trusted_keys(settings)
    urls = dict.fromkeys(settings.places) if trusted.keys else ()
    return trusted, [ShardSeals(place_at(url), log_id, shard, trusted.keys) for url in urls]


def shard_of(store: Store, conversation: NamedConversation) -> int:
    """Return the shard that a conversation is in."""
    first = next(stored_of(backend_of(store)).read(conversation.conversation_id, limit=1), None)
    return 0 if first is None else first.shard


def seals_of_conversation(
    store: Store, conversation: NamedConversation, settings: SealSettings, wanted: Wanted
) -> ConversationSeals:
    """Return what is sealed of a conversation, and where; settings that are wrong are told as a place."""
    shard = shard_of(store, conversation)
    try:
        trusted, kept = shard_seals(store, settings, shard)
    except (InvalidInput, NotInstalled) as error:
        wrong = SealsAtPlace("the places in ONRECORD_SEALS", problem=str(error))
        return ConversationSeals(shard, (wrong,), (), is_pinned=False)
    positions = EventPositions(backend_of(store), conversation)
    places = tuple(_at_place(seals, positions, wanted) for seals in kept)
    return ConversationSeals(shard, places, tuple(map(str, trusted.keys)), trusted.is_pinned)


def _at_place(seals: ShardSeals, positions: EventPositions, wanted: Wanted) -> SealsAtPlace:
    place = f"{seals.place}"
    try:
        last = seals.last()
        sizes = seals.sizes()
        until = _until(seals, sizes, wanted)
        first = max(0, until - LISTED)
        checkpoints = [seals.at(size) for size in reversed(sizes[first:until])]
        covering = sizes[bisect_left(sizes, positions.last()) :][:1]
        whole = next((seals.at(size) for size in covering), None)
    except (CorruptRecord, StorageUnavailable) as error:
        return SealsAtPlace(place, problem=str(error))
    return SealsAtPlace(
        place,
        last=None if last is None else _listed(last, positions),
        whole=None if whole is None else _listed(whole, positions),
        checkpoints=tuple(_listed(each, positions) for each in checkpoints if each is not None),
        older=sizes[first] if first else None,
    )


def _until(seals: ShardSeals, sizes: Sequence[int], wanted: Wanted) -> int:
    """Return how many of the sizes come before what is wanted."""
    if wanted.day is not None:
        end = datetime(wanted.day.year, wanted.day.month, wanted.day.day, tzinfo=UTC) + _A_DAY

        def sealed_at(size: int) -> int:
            sealed = seals.at(size)
            return 0 if sealed is None else sealed.checkpoint.sealed_at

        return bisect_left(sizes, microseconds_of(end), key=sealed_at)
    return len(sizes) if wanted.before is None else bisect_left(sizes, wanted.before)


def _listed(sealed: SealedCheckpoint, positions: EventPositions) -> ListedCheckpoint:
    checkpoint = sealed.checkpoint
    return ListedCheckpoint(
        size=checkpoint.size,
        sealed_at=checkpoint.sealed_at,
        root=str(checkpoint.root),
        note=sealed.note.decode(),
        covered=positions.covered(checkpoint.size),
    )
