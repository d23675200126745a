"""Reasoning and what came of it, which go together or not at all (O3, O4), and ids (O5).

A response is taken as a whole: from its first reasoning on, all items go as they came, ids and all;
or the reasoning is left out, and what came after it goes without ids. The service knows which
reasoning an item came of by the item's id, so neither half may go without the other:
"Item 'rs_...' of type 'reasoning' was provided without its required following item." and "Item
'fc_...' of type 'function_call' was provided without its required 'reasoning' item: 'rs_...'."
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, Final, NamedTuple

from onrecord.domain.content import (
    Document,
    ServerToolCall,
    ServerToolResult,
    Text,
    ToolCall,
    ToolResult,
)
from onrecord.domain.events import ResponseCompleted
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.api import neutral_of, outcome_of
from onrecord.projections.apis.answers import headline
from onrecord.projections.apis.documents import Behind, words_for
from onrecord.projections.apis.foreign import words_of
from onrecord.projections.apis.openai_responses.draft import (
    Piece,
    ResponsesDraft,
    piece_of,
    text_part,
)
from onrecord.projections.apis.openai_responses.items import has_fitting_id, id_of, without_id
from onrecord.projections.apis.openai_responses.read import NAME
from onrecord.projections.history.history import Block

# Items that cannot go as they are, told in words: so that what they did is not lost.


def as_words(piece: Piece) -> Piece | None:
    """Return the message that stands for an item; None where nothing of it can be told.

    What the caller gave is the user's, all else the assistant's.
    """
    neutral = neutral_of(NAME, piece.value)
    block = piece.block
    if isinstance(neutral, ToolResult) and block.response is None:
        lines = [headline(block), *map(_words, neutral.content)]
        return Piece({"role": "user", "content": "\n".join(lines)}, block)
    text = "\n".join(_told(piece.value))
    if not text:
        return None
    return Piece({"role": "assistant", "content": text}, block, item=piece.value)


def show_pictures(draft: ResponsesDraft) -> None:
    """Put the pictures of items that go as words behind them: the user shows them."""
    pieces: list[Piece] = []
    for piece in draft.pieces:
        pieces.append(piece)
        if piece.item is not None and (message := _pictures(draft, piece.item, piece.block)):
            pieces.append(Piece(message, piece.block))
    draft.pieces = pieces


def _pictures(draft: ResponsesDraft, item: JsonObject, block: Block) -> JsonObject | None:
    """Return the message that shows the pictures that an item holds; None where it has none."""
    result, call = outcome_of(NAME, item), neutral_of(NAME, item)
    if result is None or not isinstance(call, ServerToolCall):
        return None
    behind = Behind(draft.options.tags, text_part, draft.as_sent)
    named = replace(block, name=call.name, call_id=call.id)
    for part in result.content:
        if isinstance(part, Document) and (part.url or "").startswith("data:"):
            encoded = draft.router.in_message(named, part, draft.encode)
            if encoded is not None:
                behind.add(named, part, encoded)
    return {"role": "user", "content": behind.parts} if behind.parts else None


def _told(value: JsonObject) -> Iterator[str]:
    neutral = neutral_of(NAME, value)
    match neutral:
        case ToolCall() | ServerToolCall() | ServerToolResult():
            yield words_of(neutral)
        case ToolResult(call_id=call_id, content=content, is_error=is_error):
            name = str(value.get("type", "")).removesuffix("_call_output")
            yield words_of(
                ServerToolResult(call_id=call_id, name=name, content=content, is_error=is_error)
            )
        case Text(text=text):
            yield text
        case _:
            return
    result = outcome_of(NAME, value)
    if result is not None and (result.content or result.is_error):
        yield words_of(result)


def _words(part: Text | Document) -> str:
    return part.text if isinstance(part, Text) else words_for(part)


_REASONING: Final = "reasoning"
_CAME_OF_IT: Final = frozenset({"image_generation_call", "compaction"})
"""What a response may end with after reasoning, beside a message or a call of the caller's tools."""


class _Objection(NamedTuple):
    """Why the items of a response from `start` on cannot go as they came, by which rule."""

    start: int
    rule: str
    why: str


_AGAIN: Final = _Objection(0, "O5", "an item with the same id stands before it")
_UNFIT: Final = _Objection(0, "O5", "its id is none that the service gives")


def check_reasoning(draft: ResponsesDraft) -> None:
    """Leave out the reasoning that would be refused, and the ids of what came of it."""
    checked = _Checked(draft)
    draft.pieces = [
        piece
        for response, group in groupby(draft.pieces, _response_of)
        for piece in checked.kept(response, list(group))
    ]


class _Checked:
    """What is known of the items that were looked at so far."""

    def __init__(self, draft: ResponsesDraft) -> None:
        self._draft = draft
        self._options = draft.options
        self._responses = draft.history.responses
        self._readers = self._responses.readers(NAME, draft.options.model)
        self._gone = draft.history.torn
        self._seen: set[Any] = set()
        self._bare: set[str] = set()

    def kept(self, response: str | None, pieces: list[Piece]) -> Iterator[Piece]:
        """Yield the items of the next response, or of what stands between two, as they go."""
        is_clear = any(map(_is_clear, pieces)) and not self._is_anothers_model(pieces[0].block)
        unfit = [self._unfit(piece, is_clear=is_clear) for piece in pieces]
        worst = next(filter(None, unfit), None)
        objection = None if response is None else self._objection(response, pieces, worst)
        if objection is None and worst is None:
            yield from pieces
            return
        start = len(pieces) if objection is None else objection.start
        for place, piece in enumerate(pieces):
            why = objection if place >= start else unfit[place]
            yield from [piece] if why is None else self._bared(piece, why)
        if response is not None and objection is not None:
            self._bare.add(response)

    def _unfit(self, piece: Piece, *, is_clear: bool) -> _Objection | None:
        """Return why an item cannot go by its id; None where it can, and no other after it."""
        item_id = _id_of(piece)
        if item_id is not None and item_id in self._seen:
            return _AGAIN
        self._seen.add(item_id)
        return None if is_clear or has_fitting_id(piece.value) else _UNFIT

    def _bared(self, piece: Piece, objection: _Objection) -> Iterator[Piece]:
        """Yield what stands for an item that does not go as it came."""
        version = piece.block.version
        if piece.kind == _REASONING:
            self._draft.note("left out", objection.rule, version, objection.why)
            return
        value = without_id(piece.value)
        if value is piece.value:
            yield piece
        elif value is not None:
            why = f"goes without its id: {objection.why}"
            self._draft.note("repaired", objection.rule, version, why)
            yield piece_of(value, piece.block)
        elif (words := as_words(piece)) is not None:
            self._draft.note("translated", objection.rule, version, f"as words: {objection.why}")
            yield words
        else:
            self._draft.note("left out", objection.rule, version, objection.why)

    def _objection(
        self, response: str, pieces: list[Piece], unfit: _Objection | None
    ) -> _Objection | None:
        """Return why items of a response cannot go as they came; None where all of them can."""
        if response in self._bare or self._is_torn(pieces):
            return _Objection(0, "O3", "other items of the response are gone")
        first, account = pieces[0].block, self._options.account
        if self._responses.is_of_another(response, first.asked, account):
            return _Objection(0, "O4", "the response was made for another account")
        places = [place for place, piece in enumerate(pieces) if piece.kind == _REASONING]
        if not places:
            return None
        if self._options.thinking == "drop":
            return _Objection(places[0], "thinking", "reasoning is dropped, as asked")
        if (why := self._draft.broken.get(response)) is not None:
            return _Objection(places[0], "O3", why)
        if unfit is not None:
            return _Objection(places[0], unfit.rule, unfit.why)
        if any(map(_is_nameless, pieces[places[0] :])) and not any(map(_is_clear, pieces)):
            return _Objection(places[0], "O3", "its message came without an id")
        if (why := self._unreadable([pieces[place] for place in places])) is not None:
            return _Objection(places[0], "O4", why)
        ending = 1 + max((n for n, piece in enumerate(pieces) if _comes_of_it(piece)), default=-1)
        alone = next((place for place in places if place >= ending), None)
        return None if alone is None else _Objection(alone, "O3", "nothing came of the reasoning")

    def _is_torn(self, pieces: Sequence[Piece]) -> bool:
        """Whether an event amid the response's, or right before them, is left out."""
        if not self._gone:
            return False
        first, last = pieces[0].block, pieces[-1].block
        versions = range(first.version - 1, last.version + 1)
        return any((first.conversation, version) in self._gone for version in versions)

    def _is_anothers_model(self, block: Block) -> bool:
        if not self._readers or self._responses.model_of(block.response or "") in self._readers:
            return False
        models = self._responses.of(block.response or "", block.asked).models
        return bool(models) and self._readers.isdisjoint(models)

    def _unreadable(self, reasoning: Sequence[Piece]) -> str | None:
        """Return why the service could not read a response's reasoning; None where it can.

        It reads what it was sent encrypted, and what it holds: a whole response that it stored.
        "Item with id 'rs_...' not found. Items are not persisted when `store` is set to false."
        Compatible servers give reasoning in clear, store nothing, and take it back.
        """
        block = reasoning[0].block
        if self._is_anothers_model(block):
            return "the reasoning is another model's"
        if all(piece.value.get("encrypted_content") or _is_clear(piece) for piece in reasoning):
            return None
        closing = self._responses.of(block.response or "", block.asked).closing
        is_stored = isinstance(closing, ResponseCompleted) and closing.envelope.get("store") is True
        return None if is_stored else "the reasoning is neither held by the service nor encrypted"


def _response_of(piece: Piece) -> str | None:
    return piece.block.response


def _id_of(piece: Piece) -> str | None:
    """Return an item's id; None where that is only a name of something else."""
    if piece.kind in ("local_shell_call_output", "item_reference"):
        return None
    return id_of(piece.value)


def _comes_of_it(piece: Piece) -> bool:
    if piece.kind == "message":
        return piece.value.get("role") == "assistant"
    return piece.block.call is not None or piece.kind in _CAME_OF_IT


def _is_clear(piece: Piece) -> bool:
    """Whether an item is reasoning that can be read, as OpenAI's own never can."""
    return piece.kind == _REASONING and bool(piece.value.get("content"))


def _is_nameless(piece: Piece) -> bool:
    return piece.kind == "message" and piece.value.get("id") is None
