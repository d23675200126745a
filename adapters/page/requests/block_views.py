"""The blocks of a request, for showing: what each is and says, and the events that it came from; pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final, cast
from uuid import UUID

from onrecord.projections.api import known_api
from onrecord.projections.apis.request import Request
from onrecord.projections.history.history import Note
from onrecord.projections.history.responses import Place
from onrecord.projections.matching.message_pieces import Piece, id_of, message_pieces
from onrecord.projections.matching.request_diff import RequestContent
from onrecord.projections.matching.request_origins import Origin, origins

BLOCKS: Final = 200
"""The most blocks that are shown at once."""

NO_REDACTIONS: Final[Mapping[Place, int]] = {}
"""Nothing was redacted later."""

_LONGEST: Final = 20_000
_LONGEST_MEMBER: Final = 400


@dataclass(frozen=True, slots=True)
class OriginView:
    """The event that something came from; `is_own` is False where a fork's origin has it.

    `redacted_at` is the version at which its own conversation redacted it later; None where it did not.
    """

    version: int
    is_own: bool
    redacted_at: int | None = None


@dataclass(frozen=True, slots=True)
class PieceView:
    """A block of a message: what it is, what it says, and the events that it came from.

    `cut` counts the characters of the text that are not shown. `notes` are what the report says of
    these events.
    """

    kind: str
    title: str
    text: str
    cut: int
    origins: tuple[OriginView, ...]
    notes: tuple[Note, ...]


@dataclass(frozen=True, slots=True)
class MessageView:
    """A message of a request."""

    role: str
    pieces: tuple[PieceView, ...]


@dataclass(frozen=True, slots=True)
class BlockStretch:
    """Blocks in a row, by messages: those from number `first` to number `last` of `count`.

    `message_count` is how many messages the request has.
    """

    messages: tuple[MessageView, ...]
    first: int
    last: int
    count: int
    message_count: int

    @property
    def has_earlier(self) -> bool:
        """Whether blocks stand before these."""
        return self.first > 1


def block_stretch(
    request: Request,
    content: RequestContent,
    notes: Mapping[Place, tuple[Note, ...]],
    upto: int | None,
    redactions: Mapping[Place, int],
) -> BlockStretch:
    """Return the blocks of a request up to a number, at most 200; without a number, the last ones.

    `notes` are what the report says of the events that go. `redactions` are the versions that redacted
    events later.
    """
    sent = request.body[known_api(request.api).messages]
    pieces = list(message_pieces(sent))
    last = len(pieces) if upto is None else min(upto, len(pieces))
    first = max(0, last - BLOCKS)
    piece_origins = origins(pieces, content.history, first, last)
    return BlockStretch(
        messages=tuple(_messages(piece_origins, content.conversation, notes, redactions)),
        first=first + 1,
        last=last,
        count=len(pieces),
        message_count=len(sent),
    )


def _messages(
    piece_origins: Iterable[Origin],
    conversation: UUID,
    notes: Mapping[Place, tuple[Note, ...]],
    redactions: Mapping[Place, int],
) -> Iterator[MessageView]:
    for _, group in groupby(piece_origins, lambda origin: origin.piece.message):
        of_message = list(group)
        shown = (_piece(origin, conversation, notes, redactions) for origin in of_message)
        yield MessageView(of_message[0].piece.role, tuple(shown))


def _piece(
    origin: Origin,
    conversation: UUID,
    notes: Mapping[Place, tuple[Note, ...]],
    redactions: Mapping[Place, int],
) -> PieceView:
    text = _text_of(origin.piece)
    said = (note for place in origin.places for note in notes.get(place, ()))
    return PieceView(
        kind=origin.piece.kind,
        title=_title(origin.piece),
        text=text[:_LONGEST],
        cut=max(0, len(text) - _LONGEST),
        origins=tuple(origin_view(place, conversation, redactions) for place in origin.places),
        notes=tuple(dict.fromkeys(said)),
    )


def origin_view(
    place: Place, conversation: UUID, redactions: Mapping[Place, int] = NO_REDACTIONS
) -> OriginView:
    """Return how the event at a place is named in a conversation."""
    owner, version = place
    redacted_at = redactions.get((owner or conversation, version))
    return OriginView(version, owner in (None, conversation), redacted_at)


def _title(piece: Piece) -> str:
    """Return the name of the tool that a call is of, or the id of the call that a result answers."""
    if piece.kind == "call":
        return next(names_in(piece.value), "")
    return id_of(piece.value) or "" if piece.kind == "result" else ""


def _text_of(piece: Piece) -> str:
    match piece.value:
        case str() as text if piece.kind != "document":
            return text
        case {"text": str() as text} if piece.kind in ("text", "reasoning"):
            return text
        case {"thinking": str() as text}:
            return text
        case _:
            return as_json(piece.value)


def names_in(value: Any) -> Iterator[str]:
    """Yield the names in an object, the outermost ones only."""
    match value:
        case {"name": str() as text}:
            yield text
        case dict():
            for item in cast("dict[str, Any]", value).values():
                yield from names_in(item)
        case list():
            for item in cast("list[Any]", value):
                yield from names_in(item)
        case _:
            return


def as_json(value: Any) -> str:
    """Return JSON with its long strings shortened, such as the bytes of documents."""
    return json.dumps(_shortened(value), indent=2, ensure_ascii=False)


def _shortened(value: Any) -> Any:
    match value:
        case str() if len(value) > _LONGEST_MEMBER and value.isascii() and " " not in value[:200]:
            return f"{value[:48]}… ({len(value):,} characters)"
        case dict():
            members = cast("dict[str, Any]", value).items()
            return {name: _shortened(member) for name, member in members}
        case list():
            return [_shortened(item) for item in cast("list[Any]", value)]
        case bytes():
            return f"{len(value):,} bytes"
        case _:
            return value
