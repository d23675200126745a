"""Which event each piece of a request came from, found again from what both say.

A renderer keeps no such thing. So pieces are matched with the blocks of the history: by the texts
that they share, by the ids of calls, and else by their order.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

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


def origins(pieces: Iterable[Piece], history: History) -> tuple[Origin, ...]:
    """Return each piece of a request with the events of the history that it came from."""
    search = _Search(tuple(chain.from_iterable(turn.blocks for turn in history.turns)))
    return tuple(Origin(piece, search.places(piece)) for piece in pieces)


class _Search:
    """The blocks of a history, those that were found, and how far the search is."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self._blocks = blocks
        self._kinds = [_kind(block) for block in blocks]
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
        number = self._answering(piece)
        if number is None:
            number = self._saying(piece)
        if number is None:
            number = self._following(piece)
        if number is not None:
            self._take(number)
            self._name(piece, number)
        parts = self._parts(piece, number) if piece.kind == "text" else ()
        joined = parts if number is None else (number, *parts)
        return tuple(dict.fromkeys(self._blocks[each].place for each in joined))

    def _name(self, piece: Piece, number: int) -> None:
        """Keep under which id a call goes, for its result."""
        call_id = id_of(piece.value) if piece.kind == "call" else None
        if call_id is not None:
            self._calls[call_id] = self._blocks[number].call

    def _answering(self, piece: Piece) -> int | None:
        """Return the result of the call whose id a result bears."""
        if piece.kind != "result":
            return None
        call = self._calls.get(id_of(piece.value) or "")
        return None if call is None else self._results.get(call)

    def _saying(self, piece: Piece) -> int | None:
        """Return the block that shares most with a piece; of several alike the next one."""
        weights: dict[int, int] = defaultdict(int)
        for token in tokens_of(piece.value):
            for number in self._near(token):
                if self._may_be(piece, number):
                    weights[number] += min(len(token), _LONGEST_WEIGHT)
        if not weights:
            return None
        return max(weights, key=lambda number: (self._weight(piece, number, weights), -number))

    def _near(self, token: str) -> list[int]:
        """Return the blocks that have a token: of many, those around where the search is."""
        having = self._by_token.get(token, [])
        place = bisect_left(having, self._next)
        return having[max(0, place - _NEAR) : place + _NEAR]

    def _weight(self, piece: Piece, number: int, weights: dict[int, int]) -> tuple[int, bool, bool]:
        same = _OF_ITS_KIND if self._kinds[number] == piece.kind else 0
        return weights[number] + same, number not in self._found, number >= self._next

    def _following(self, piece: Piece) -> int | None:
        """Return the next block of a piece's kind."""
        if piece.kind not in _IN_ORDER:
            return None
        rest = range(self._next, len(self._blocks))
        following = (number for number in rest if self._kinds[number] == piece.kind)
        return next((number for number in following if number not in self._found), None)

    def _parts(self, piece: Piece, first: int | None) -> tuple[int, ...]:
        """Return the blocks near by whose texts a text joins, beside those of its first one."""
        rest = "\n".join(texts_in(piece.value))
        if first is not None:
            rest = rest.replace(self._longest(first), "", 1)
        parts: list[int] = []
        for number in range(self._next, min(self._next + _NEAR, len(self._blocks))):
            said = self._longest(number)
            if len(said) >= _SHORTEST_PART and number not in self._found and said in rest:
                rest = rest.replace(said, "", 1)
                parts.append(number)
        for number in parts:
            self._take(number)
        return tuple(parts)

    def _longest(self, number: int) -> str:
        return max(texts_in(self._blocks[number].plain), key=len, default="")

    def _may_be(self, piece: Piece, number: int) -> bool:
        kind = self._kinds[number]
        if piece.kind in _PAIRED:
            return kind == piece.kind
        return kind not in _PAIRED or piece.kind == "text"

    def _take(self, number: int) -> None:
        self._found.add(number)
        self._next = max(self._next, number + 1)


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
