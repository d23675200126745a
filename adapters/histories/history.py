"""A history that another program kept: what it says as events, and what of it is dubious."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias
from uuid import UUID

from onrecord.domain.events import Event

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


class Spoken(NamedTuple):
    """An event of a history, its place in the source, and when it happened.

    `occurred_at` is in microseconds since 1970-01-01 UTC; None: the source does not tell.
    """

    event: Event
    place: str
    occurred_at: int | None = None


@dataclass(frozen=True, slots=True)
class Heard:
    """What a history says: `settings` (instructions and tools), then all that was spoken.

    `blobs` are the bytes, by digest, that the events refer to.
    """

    spoken: tuple[Spoken, ...]
    settings: tuple[Event, ...] = ()
    blobs: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    doubts: tuple[Doubt, ...] = ()


@dataclass(frozen=True, slots=True)
class Listener:
    """What hearing a history needs of the store: ids for its responses, and the keyed digest.

    `responses` gives the same ids, in the same order, whenever the history is heard.
    """

    responses: Iterator[UUID]
    digest: Digest


@dataclass(frozen=True, slots=True)
class History:
    """One conversation of a source: its place there, its own name if it has one, and its words.

    `hear` raises InvalidInput where the source does not have the form that it should have.
    """

    place: str
    name: str | None
    hear: Callable[[Listener], Heard]


@dataclass(frozen=True, slots=True)
class Histories:
    """The histories of a source: how many, and a way to read them, as often as wanted.

    `are_several` says that each needs a name of its own, even if there is only one now.
    """

    count: int
    are_several: bool
    read: Callable[[], Iterator[History]]
