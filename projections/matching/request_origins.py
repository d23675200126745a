"""Which event each piece of a request came from, found again from what both say.

A renderer keeps no such thing. So pieces are matched with the blocks of the history: by the ids of
calls, by the texts that they share, and else by their order. Both stand in the same order, so pieces
far from the first can be matched from a landmark on: a piece that says what one block alone says.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final, cast

from onrecord.projections.history.history import Block, History
from onrecord.projections.history.responses import Place
from onrecord.projections.matching.message_pieces import (
    Piece,
    PieceKind,
    id_of,
    kind_of,
    texts_in,
    tokens_of,
)

_LONGEST_WEIGHT: Final = 64
_OF_ITS_KIND: Final = 8
_SHORTEST_PART: Final = 12
"""A text of fewer characters is in many others by chance."""

_NEAR: Final = 32
"""So many blocks are looked at: of those ahead for a text that joins some, of those alike each way."""

_PAIRED: Final = frozenset[PieceKind]({"call", "result"})
"""Kinds that match nothing else."""

_IN_ORDER: Final = frozenset[PieceKind]({"call", "result", "reasoning", "document"})
"""Kinds of which the next one matches where nothing else tells."""


@dataclass(frozen=True, slots=True)
class Origin:
    """A piece of a request, and the places of the events that it came from.

    None where a rule put it there, such as a word between two messages.
    """

    piece: Piece
    places: tuple[Place, ...]


def origins(
    pieces: Sequence[Piece], history: History, first: int = 0, last: int | None = None
) -> tuple[Origin, ...]:
    """Return pieces of a request with the events of the history that they came from.

    `pieces` are all of the request, and first <= number < last is true of those that are returned.
    """
    blocks = list(chain.from_iterable(turn.blocks for turn in history.turns))
    begin, end = _Landmarks(blocks).around(pieces, first, len(pieces) if last is None else last)
    search = _Search(blocks[begin.block : end.block])
    found = [Origin(piece, search.places(piece)) for piece in pieces[begin.piece : last]]
    return tuple(found[first - begin.piece :])


# Where a search may begin, and where its blocks may end.


@dataclass(frozen=True, slots=True)
class _Landmark:
    """A piece that surely came from one block, by the numbers of both."""

    piece: int
    block: int


class _Landmarks:
    """Finds pieces that say what one block alone says, in the same words or under the same id."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self._count = len(blocks)
        self._numbers: dict[tuple[str, str], int | None] = {}
        for number, block in enumerate(blocks):
            for name in _names_of_block(block):
                self._numbers[name] = None if name in self._numbers else number

    def around(self, pieces: Sequence[Piece], first: int, last: int) -> tuple[_Landmark, _Landmark]:
        """Return the last landmark at or before the first piece, and one well behind the last piece."""
        before = (self._at(pieces, number) for number in range(min(first, len(pieces) - 1), 0, -1))
        begin = next((each for each in before if each is not None), _Landmark(0, 0))
        behind = (self._at(pieces, number) for number in range(last + _NEAR, len(pieces)))
        ahead = (each for each in behind if each is not None and each.block >= begin.block)
        end = next(ahead, _Landmark(len(pieces), self._count))
        return begin, _Landmark(end.piece, min(end.block + _NEAR, self._count))

    def _at(self, pieces: Sequence[Piece], number: int) -> _Landmark | None:
        """Return the landmark that a piece is; None amid calls, whose results come behind them."""
        if pieces[number - 1].kind == "call":
            return None
        name = _name_of_piece(pieces[number])
        block = None if name is None else self._numbers.get(name)
        return None if block is None else _Landmark(number, block)


def _names_of_block(block: Block) -> Iterator[tuple[str, str]]:
    if block.mark in ("call", "unawaited") and block.call_id is not None:
        yield "call", block.call_id
    plain = block.plain
    said = plain["value"] if plain["kind"] == "native" else plain
    text = _text_in(said)
    if text is not None:
        yield "text", text


def _name_of_piece(piece: Piece) -> tuple[str, str] | None:
    if piece.kind == "call":
        call_id = id_of(piece.value)
        return None if call_id is None else ("call", call_id)
    text = _text_in(piece.value) if piece.kind == "text" else None
    return None if text is None or len(text) < _SHORTEST_PART else ("text", text)


def _text_in(value: Any) -> str | None:
    if isinstance(value, dict):
        value = cast("dict[str, Any]", value).get("text")
    return value if isinstance(value, str) else None


# The search: piece by piece, in order.


class _Search:
    """Matches the pieces of a request, one after the other, with blocks of its history.

    Numbers are those of blocks. What comes next is sought from `_next` on, and a block that was found
    is taken again only where no other says the same.
    """

    def __init__(self, blocks: Sequence[Block]) -> None:
        self._blocks = blocks
        self._kinds: list[PieceKind] = [_kind(block) for block in blocks]
        self._longest: dict[int, str] = {}
        self._by_token: dict[str, list[int]] = defaultdict(list)
        for number, block in enumerate(blocks):
            for token in tokens_of(block.plain):
                self._by_token[token].append(number)
        self._results = {
            block.call: number
            for number, block in enumerate(blocks)
            if block.call is not None and self._kinds[number] == "result"
        }
        self._calls: dict[str, int | None] = {}
        self._found: set[int] = set()
        self._next = 0

    def places(self, piece: Piece) -> tuple[Place, ...]:
        """Return where the events are that a piece came from."""
        number = self._by_id(piece)
        if number is None:
            number = self._by_texts(piece)
        if number is None:
            number = self._by_order(piece)
        numbers = [] if number is None else [number]
        for each in numbers:
            self._take(each)
        if numbers and piece.kind == "call":
            self._remember_call(piece, numbers[0])
        if piece.kind == "text":
            numbers += self._joined(piece, numbers)
        return tuple(dict.fromkeys(self._blocks[each].place for each in numbers))

    def _take(self, number: int) -> None:
        self._found.add(number)
        self._next = max(self._next, number + 1)

    def _remember_call(self, piece: Piece, number: int) -> None:
        """Keep under which id a call goes, for its result."""
        call_id = id_of(piece.value)
        if call_id is not None:
            self._calls[call_id] = self._blocks[number].call

    # By id: a result bears the id of its call.

    def _by_id(self, piece: Piece) -> int | None:
        if piece.kind != "result":
            return None
        call = self._calls.get(id_of(piece.value) or "")
        return None if call is None else self._results.get(call)

    # By texts: the block that shares most with a piece; of several alike the next one.

    def _by_texts(self, piece: Piece) -> int | None:
        shared: dict[int, int] = defaultdict(int)
        for token in tokens_of(piece.value):
            for number in self._near(token):
                if _may_be(piece.kind, self._kinds[number]):
                    shared[number] += min(len(token), _LONGEST_WEIGHT)
        if not shared:
            return None

        def fitness(number: int) -> tuple[int, bool, bool, int]:
            of_its_kind = _OF_ITS_KIND if self._kinds[number] == piece.kind else 0
            is_free, is_ahead = number not in self._found, number >= self._next
            return shared[number] + of_its_kind, is_free, is_ahead, -number

        return max(shared, key=fitness)

    def _near(self, token: str) -> list[int]:
        """Return the blocks that have a token: of many, those around where the search is."""
        having = self._by_token.get(token, [])
        place = bisect_left(having, self._next)
        return having[max(0, place - _NEAR) : place + _NEAR]

    # By order: the next block of a piece's kind.

    def _by_order(self, piece: Piece) -> int | None:
        if piece.kind not in _IN_ORDER:
            return None
        rest = range(self._next, len(self._blocks))
        following = (number for number in rest if self._kinds[number] == piece.kind)
        return next((number for number in following if number not in self._found), None)

    # A text may join several blocks.

    def _joined(self, piece: Piece, before: Sequence[int]) -> list[int]:
        """Return the blocks near by whose texts a text joins, beside the one `before`."""
        rest = "\n".join(texts_in(piece.value))
        for number in before:
            rest = rest.replace(self._longest_in(number), "", 1)
        joined: list[int] = []
        for number in range(self._next, min(self._next + _NEAR, len(self._blocks))):
            if len(rest) < _SHORTEST_PART:
                break
            said = self._longest_in(number)
            if len(said) >= _SHORTEST_PART and number not in self._found and said in rest:
                rest = rest.replace(said, "", 1)
                joined.append(number)
        for number in joined:
            self._take(number)
        return joined

    def _longest_in(self, number: int) -> str:
        """Return the longest text of a block."""
        if number not in self._longest:
            texts = texts_in(self._blocks[number].plain)
            self._longest[number] = max(texts, key=len, default="")
        return self._longest[number]


def _may_be(piece: PieceKind, block: PieceKind) -> bool:
    if piece in _PAIRED:
        return block == piece
    return block not in _PAIRED or piece == "text"


def _kind(block: Block) -> PieceKind:
    match block.mark:
        case "call" | "unawaited":
            return "call"
        case "result" | "missing" | "late":
            return "result"
        case "document":
            return "document"
        case _:
            pass
    plain = block.plain
    if plain["kind"] == "native":
        return kind_of(plain["value"])
    kinds: dict[str, PieceKind] = {
        "text": "text",
        "document": "document",
        "reasoning": "reasoning",
        "tool_call": "call",
        "tool_result": "result",
    }
    return kinds.get(plain["kind"], "server tool")
