"""Results of a round of calls: a tool's message each, and one of the user's for their documents."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, cast

from hansard.domain.content import Document, Text
from hansard.domain.conversation import CANCELLED
from hansard.domain.documents import modality_of
from hansard.domain.jsontext import JsonObject
from hansard.projections.history import Block, Turn
from hansard.projections.neutral_openai_chat_parts import Part, part
from hansard.projections.requests.document_bytes import bytes_of, is_remote, text_of
from hansard.projections.requests.document_tags import PREAMBLE, tag_of, words_for
from hansard.projections.requests.openai_chat_documents import spell_document
from hansard.projections.requests.openai_chat_draft import Draft
from hansard.projections.requests.openai_chat_said import result_parts, text_part
from hansard.projections.requests.result_words import failed, words_for_nothing

_RESULTS: Final = ("result", "missing")


def results_in(turn: Turn | None) -> dict[int | None, Block]:
    """Return the results that a user's turn begins with, by call; none if it is no user's turn."""
    if turn is None or turn.role != "user":
        return {}
    return {block.call: block for block in turn.blocks if block.mark in _RESULTS}


def spell_results(draft: Draft, results: Iterable[Block]) -> list[JsonObject]:
    """Return the messages that answer the calls of one message, in their order.

    A tool's message holds text only, so documents follow in one message of the user's, each behind
    a tag that stands in the tool's message too.
    """
    documents: list[JsonObject] = []
    messages = [_result(draft, block, documents) for block in results]
    if documents:
        documents[0] = text_part(f"{PREAMBLE}\n{documents[0]['text']}")
        messages.append({"role": "user", "content": documents})
    return messages


def _result(draft: Draft, block: Block, documents: list[JsonObject]) -> JsonObject:
    if block.mark == "missing":
        why = f"no result in time: {CANCELLED!r} stands in"
        draft.note("repaired", "C1", block.version, why)
    call_id = draft.ids.of_result(block)
    value = draft.own(block)
    if value is not None and value.get("role") == "tool":
        return _own_result(draft, block, {**value, "tool_call_id": call_id}, documents)
    told = "\n".join(_texts(draft, block, result_parts(draft, block), documents))
    if told and block.is_error:
        told = failed(told)
    content = told or words_for_nothing(is_error=block.is_error)
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def _own_result(
    draft: Draft, block: Block, value: JsonObject, documents: list[JsonObject]
) -> JsonObject:
    """Return a tool's message of this API, its parts text only."""
    content = value.get("content")
    if isinstance(content, str):
        return value
    parts = cast("list[Any]", content) if isinstance(content, list) else []
    kept = [held for item in parts for held in _text_parts(draft, block, item, documents)]
    return {**value, "content": kept or words_for_nothing(is_error=block.is_error)}


def _text_parts(
    draft: Draft, block: Block, item: Any, documents: list[JsonObject]
) -> list[JsonObject]:
    match item:
        case {"type": "text"}:
            return [cast("JsonObject", item)]
        case _ if (held := part(item)) is not None:
            return [text_part(text) for text in _texts(draft, block, (held,), documents)]
        case _:
            draft.leave_out("C3", block, "a part of a result that is not known")
            return []


def _texts(
    draft: Draft, block: Block, told: Iterable[Part], documents: list[JsonObject]
) -> list[str]:
    """Return the texts of a result; put its documents among those that follow it."""
    texts: list[str] = []
    for held in told:
        if isinstance(held, Text):
            texts += [held.text] if held.text.strip() else []
        elif (text := _text_in(draft, held)) is not None:
            texts.append(text)
        elif (spelled := spell_document(held, draft.blobs, draft.reader)) is not None:
            tag = tag_of(block, held)
            texts.append(tag)
            documents += [text_part(tag), spelled]
            draft.note("moved", "C3", block.version, "a document of a result follows it")
        else:
            why = f"the model does not read {held.media_type}"
            draft.leave_out("document", block, why)
            texts.append(words_for(held))
    return texts


def _text_in(draft: Draft, document: Document) -> str | None:
    if modality_of(document.media_type) != "text" or is_remote(document):
        return None
    text = text_of(bytes_of(document, draft.blobs))
    return f"{document.name}\n{text}" if text and document.name else text
