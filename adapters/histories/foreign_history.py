"""A history that another program kept: what it says as events, and what of it is dubious."""

from __future__ import annotations

import hashlib
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import count
from typing import Final, Literal, NamedTuple, TypeAlias
from uuid import UUID

from onrecord.domain.encoding import encode, name_of
from onrecord.domain.events import Event, InstructionsSet, ToolCallRecorded, ToolResultRecorded
from onrecord.domain.header import microseconds_of
from onrecord.domain.new_events import lasting_id

DoubtKind = Literal[
    "opaque",
    "no call",
    "no result",
    "second result",
    "blank",
    "reused id",
    "truncated",
    "alternation",
    "left out",
]
"""What may be wrong: a kind that is not known; a result without its call, or a call without its
result; a second result of one call; blank text; an id of two calls; a text that was cut; two of one
speaker in a row; something that cannot be taken over."""


Digest: TypeAlias = Callable[[str], bytes]
"""The store's keyed digest of a text: it stands for secrets that are cut."""


class Doubt(NamedTuple):
    """Something that may not be as it was: its kind, its place in the source, and why.

    `why` names kinds and numbers, never what was said.
    """

    kind: DoubtKind
    place: str
    why: str


class Entry(NamedTuple):
    """An event of a history, its place in the source, and when it happened.

    `occurred_at` is in microseconds since 1970-01-01 UTC; None: the source does not tell.
    """

    event: Event
    place: str
    occurred_at: int | None = None


@dataclass(frozen=True, slots=True)
class Transcript:
    """What a history says: its `settings` (instructions and tools), then its entries.

    `blobs` are the bytes, by digest, that the events refer to.
    """

    entries: tuple[Entry, ...]
    settings: tuple[Event, ...] = ()
    blobs: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    doubts: tuple[Doubt, ...] = ()


@dataclass(slots=True)
class Transcriber:
    """A transcript that is being made; `responses` are the ids that its responses get, in order."""

    responses: Iterator[UUID]
    entries: list[Entry] = field(default_factory=list[Entry])
    blobs: dict[str, bytes] = field(default_factory=dict[str, bytes])
    doubts: list[Doubt] = field(default_factory=list[Doubt])
    _instructions: str = ""

    def add(self, event: Event, place: str, occurred_at: int | None) -> None:
        """Add an event, with its place in the source."""
        self.entries.append(Entry(event, place, occurred_at))

    def instruct(self, texts: Iterable[str], place: str, occurred_at: int | None) -> None:
        """Add instructions, unless they are those in force."""
        content = "\n\n".join(texts)
        if content != self._instructions:
            self._instructions = content
            self.add(InstructionsSet(content=content), place, occurred_at)

    def doubt(self, kind: DoubtKind, place: str, why: str) -> None:
        """Add a doubt."""
        self.doubts.append(Doubt(kind, place, why))

    def transcript(self) -> Transcript:
        """Return what was added."""
        return Transcript(tuple(self.entries), (), self.blobs, tuple(self.doubts))


@dataclass(frozen=True, slots=True)
class TranscriptContext:
    """What a transcript needs of the store: ids for its responses, and the keyed digest.

    `responses` gives the same ids, in the same order, whenever the history is read.
    """

    responses: Iterator[UUID]
    digest: Digest


@dataclass(frozen=True, slots=True)
class History:
    """One conversation of a source: its place there, its own name if it has one, and its words.

    `transcribe` raises InvalidInput where the source does not have the form that it should have.
    """

    place: str
    name: str | None
    transcribe: Callable[[TranscriptContext], Transcript]


@dataclass(frozen=True, slots=True)
class Histories:
    """The histories of a source: how many, and a way to read them, as often as wanted.

    `are_several` says that each needs a name of its own, even if there is only one now.
    """

    count: int
    are_several: bool
    read: Callable[[], Iterator[History]]


def microseconds(time: object) -> int | None:
    """Return a time (ISO 8601, in UTC if it does not say) in microseconds since 1970, or None."""
    try:
        moment = datetime.fromisoformat(time) if isinstance(time, str) else None
    except ValueError:
        return None
    if moment is None:
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return microseconds_of(aware)


# Ids that a history has wherever and whenever it is read, so that importing it again is free.
#
# An id stands for the tenant, the key and all that was said up to there. Ids outlive erasure, so
# they come from the store's keyed digest: without its key nobody can try what they stand for. An
# id has the form of a UUIDv7 (RFC 9562) at time 0, for a source seldom tells times and may
# correct them.

_SUBJECT: Final = "a history of another program"


class Identity:
    """The ids of what an imported conversation holds."""

    def __init__(self, digest: Digest, tenant: UUID, key: str) -> None:
        """Take the tenant and the key: they set one import apart from another."""
        self._seed = digest(f"{_SUBJECT}:{tenant}:{key}")

    def conversation(self) -> UUID:
        """Return the id of the conversation."""
        return lasting_id(self._seed, b"conversation")

    def responses(self) -> Iterator[UUID]:
        """Yield the ids of its responses, in order."""
        return (lasting_id(self._seed, b"response:%d" % number) for number in count())

    def line(self, number: int) -> UUID:
        """Return the id of a side branch of it."""
        return lasting_id(self._seed, b"line:%d" % number)

    def of_events(self, events: Iterable[Event]) -> Iterator[UUID]:
        """Yield an id for each event: it stands for that one and all before it."""
        digest = self._seed
        for event in events:
            digest = _after(digest, event)
            yield lasting_id(digest, b"event")

    def of_setting(self, event: Event, before: UUID | None) -> UUID:
        """Return the id of an event that sets something after the event of an id."""
        place = before.bytes if before else b""
        return lasting_id(_after(self._seed + place, event), b"setting")


def _after(digest: bytes, event: Event) -> bytes:
    body = encode(event)
    return hashlib.sha256(digest + name_of(event).encode() + b"\x00" + body).digest()


def with_unique_calls(transcript: Transcript, line: Callable[[int], UUID]) -> Transcript:
    """Return the history with each call under an id of its own, its result under the same.

    What was said keeps the id that it came with. A second result of a call goes to a side branch
    (`line` gives their ids): the record keeps it, requests hold the first.
    """
    calls = _Calls(line)
    entries = tuple(calls.apart(entry) for entry in transcript.entries)
    return replace(transcript, entries=entries, doubts=(*transcript.doubts, *calls.doubts))


class _Calls:
    """The calls so far: ids that are taken, and by the id they came with those not answered yet."""

    def __init__(self, line: Callable[[int], UUID]) -> None:
        self.doubts: list[Doubt] = []
        self._line = line
        self._lines = 0
        self._taken: set[str] = set()
        self._answered: set[str] = set()
        self._waiting: dict[str, deque[str]] = defaultdict(deque)

    def apart(self, entry: Entry) -> Entry:
        """Return what was said with an id that no other call has."""
        match entry.event:
            case ToolCallRecorded() as call:
                return entry._replace(event=self._called(call, entry.place))
            case ToolResultRecorded() as result:
                return entry._replace(event=self._given(result, entry.place))
            case _:
                return entry

    def _called(self, call: ToolCallRecorded, place: str) -> ToolCallRecorded:
        own = self._free(call.call_id)
        self._taken.add(own)
        self._waiting[call.call_id].append(own)
        if own == call.call_id:
            return call
        self.doubts.append(Doubt("reused id", place, "an earlier call has the same id"))
        return call.model_copy(update={"call_id": own})

    def _given(self, result: ToolResultRecorded, place: str) -> ToolResultRecorded:
        waiting = self._waiting[result.call_id]
        own = waiting.popleft() if waiting else result.call_id
        if own not in self._answered:
            self._answered.add(own)
            return result.model_copy(update={"call_id": own})
        why = "the call has a result already: this one is kept on a side branch"
        self.doubts.append(Doubt("second result", place, why))
        self._lines += 1
        return result.model_copy(update={"line": self._line(self._lines)})

    def _free(self, call_id: str) -> str:
        if call_id not in self._taken:
            return call_id
        others = (f"{call_id}-{number}" for number in count(2))
        return next(other for other in others if other not in self._taken)
