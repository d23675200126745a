"""Items that cannot go as they are, told in words: so that what they did is not lost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from hansard.domain.content import (
    Document,
    ServerToolCall,
    ServerToolResult,
    Text,
    ToolCall,
    ToolResult,
)
from hansard.domain.jsontext import JsonObject
from hansard.projections.neutral import neutral_of, outcome_of
from hansard.projections.neutral_openai_responses import API
from hansard.projections.requests.activity_words import words_of
from hansard.projections.requests.document_tags import PREAMBLE, tag_of, words_for
from hansard.projections.requests.openai_responses_documents import spell_document
from hansard.projections.requests.openai_responses_draft import Draft, Piece
from hansard.projections.requests.result_words import headline


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
    return Piece({"role": "assistant", "content": text}, block, shown=_pictures(piece))


def show_pictures(draft: Draft) -> None:
    """Put the pictures of items that go as words behind them: the user shows them."""
    draft.pieces = [
        shown
        for piece in draft.pieces
        for shown in ([piece] if piece.shown is None else [piece, Piece(piece.shown, piece.block)])
    ]


def _pictures(piece: Piece) -> JsonObject | None:
    """Return the message that shows the pictures that an item holds; None where it has none."""
    gave, asked = outcome_of(API, piece.value), neutral_of(API, piece.value)
    if gave is None or not isinstance(asked, ServerToolCall):
        return None
    named = replace(piece.block, name=asked.name, call_id=asked.id)
    told: list[JsonObject] = []
    for part in gave.content:
        if isinstance(part, Document) and (part.url or "").startswith("data:"):
            tag = tag_of(named, part)
            spelled = spell_document(part, {})
            told += [_text(tag if told else f"{PREAMBLE}\n{tag}"), spelled] if spelled else []
    return {"role": "user", "content": told} if told else None


def _text(text: str) -> JsonObject:
    return {"type": "input_text", "text": text}


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
