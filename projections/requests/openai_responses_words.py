"""Items that cannot go as they are, told in words: so that what they did is not lost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from onrecord.domain.content import (
    Document,
    ServerToolCall,
    ServerToolResult,
    Text,
    ToolCall,
    ToolResult,
)
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.history import Block
from onrecord.projections.neutral import neutral_of, outcome_of
from onrecord.projections.neutral_openai_responses import API
from onrecord.projections.requests.activity_words import words_of
from onrecord.projections.requests.document_tags import words_for
from onrecord.projections.requests.openai_responses_draft import Draft, Piece, text_part
from onrecord.projections.requests.result_words import headline
from onrecord.projections.requests.round_documents import Behind


def as_words(piece: Piece) -> Piece | None:
    """Return the message that stands for an item; None where nothing of it can be told.

    What the caller gave is the user's, all else the assistant's.
    """
    said = neutral_of(API, piece.value)
    block = piece.block
    if isinstance(said, ToolResult) and block.response is None:
        told = [headline(block), *map(_words, said.content)]
        return Piece({"role": "user", "content": "\n".join(told)}, block)
    text = "\n".join(_told(piece.value))
    if not text:
        return None
    return Piece({"role": "assistant", "content": text}, block, item=piece.value)


def show_pictures(draft: Draft) -> None:
    """Put the pictures of items that go as words behind them: the user shows them."""
    shown: list[Piece] = []
    for piece in draft.pieces:
        shown.append(piece)
        if piece.item is not None and (message := _pictures(draft, piece.item, piece.block)):
            shown.append(Piece(message, piece.block))
    draft.pieces = shown


def _pictures(draft: Draft, item: JsonObject, block: Block) -> JsonObject | None:
    """Return the message that shows the pictures that an item holds; None where it has none."""
    gave, asked = outcome_of(API, item), neutral_of(API, item)
    if gave is None or not isinstance(asked, ServerToolCall):
        return None
    behind = Behind(draft.options.tags, text_part)
    named = replace(block, name=asked.name, call_id=asked.id)
    for part in gave.content:
        if isinstance(part, Document) and (part.url or "").startswith("data:"):
            spelled = draft.router.in_message(named, part, draft.spell)
            if spelled is not None:
                behind.add(named, part, spelled)
    return {"role": "user", "content": behind.parts} if behind.parts else None


def _told(value: JsonObject) -> Iterator[str]:
    said = neutral_of(API, value)
    match said:
        case ToolCall() | ServerToolCall() | ServerToolResult():
            yield words_of(said)
        case ToolResult(call_id=call_id, content=content, is_error=is_error):
            name = str(value.get("type", "")).removesuffix("_call_output")
            yield words_of(
                ServerToolResult(call_id=call_id, name=name, content=content, is_error=is_error)
            )
        case Text(text=text):
            yield text
        case _:
            return
    gave = outcome_of(API, value)
    if gave is not None and (gave.content or gave.is_error):
        yield words_of(gave)


def _words(part: Text | Document) -> str:
    return part.text if isinstance(part, Text) else words_for(part)
