"""Results of a round of calls: a tool's message each, and one of the user's for their documents."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, cast

from onrecord.domain.content import Document
from onrecord.domain.conversation import CANCELLED
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.history import Block, Turn
from onrecord.projections.neutral_openai_chat_parts import Part, part
from onrecord.projections.requests.document_tags import words_for
from onrecord.projections.requests.openai_chat_draft import Draft
from onrecord.projections.requests.openai_chat_said import result_parts, text_part
from onrecord.projections.requests.result_words import FAILURE, failed, words_for_nothing
from onrecord.projections.requests.round_documents import Behind

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
    behind = Behind(draft.options.tags, text_part)
    messages = [_result(draft, block, behind) for block in results]
    if behind.parts:
        messages.append({"role": "user", "content": behind.parts})
    return messages


def _result(draft: Draft, block: Block, behind: Behind[JsonObject]) -> JsonObject:
    if block.mark == "missing":
        why = f"no result in time: {CANCELLED!r} stands in"
        draft.note("repaired", "C1", block.version, why)
    call_id = draft.ids.of_result(block)
    value = draft.own(block)
    if value is not None and value.get("role") == "tool":
        return _own_result(draft, block, {**value, "tool_call_id": call_id}, behind)
    told = _content(block, _told(draft, block, result_parts(draft, block), behind))
    content = told or words_for_nothing(is_error=block.is_error)
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def _content(block: Block, parts: list[JsonObject]) -> str | list[JsonObject]:
    """Return the parts of a result as content: texts alone as a string; words say that it failed."""
    if any(part.get("type") != "text" for part in parts):
        return [text_part(FAILURE), *parts] if block.is_error else parts
    said = "\n".join(part["text"] for part in parts)
    return failed(said) if said and block.is_error else said


def _own_result(
    draft: Draft, block: Block, value: JsonObject, behind: Behind[JsonObject]
) -> JsonObject:
    """Return a tool's message of this API, its parts such as the model reads there."""
    content = value.get("content")
    if isinstance(content, str):
        return value
    parts = cast("list[Any]", content) if isinstance(content, list) else []
    kept = [held for item in parts for held in _own_parts(draft, block, item, behind)]
    return {**value, "content": kept or words_for_nothing(is_error=block.is_error)}


def _own_parts(
    draft: Draft, block: Block, item: Any, behind: Behind[JsonObject]
) -> list[JsonObject]:
    match item:
        case {"type": "text"}:
            return [cast("JsonObject", item)]
        case _ if (held := part(item)) is not None:
            return _told(draft, block, (held,), behind)
        case _:
            draft.leave_out("C3", block, "a part of a result that is not known")
            return []


def _told(
    draft: Draft, block: Block, told: Iterable[Part], behind: Behind[JsonObject]
) -> list[JsonObject]:
    """Return what a result holds, without blank texts; what it cannot hold is put behind it."""
    parts: list[JsonObject] = []
    for held in told:
        if isinstance(held, Document):
            parts.append(_document(draft, block, held, behind))
        elif held.text.strip():
            parts.append(text_part(held.text))
    return parts


def _document(
    draft: Draft, block: Block, document: Document, behind: Behind[JsonObject]
) -> JsonObject:
    """Return what stands in a result for a document: itself, its tag, or words."""
    where, spelled = draft.router.in_result(block, document, draft.spell)
    if spelled is None:
        draft.leave_out("document", block, f"the model does not read {document.media_type}")
        return text_part(words_for(document))
    if where == "inline":
        return spelled
    draft.note("moved", "C3", block.version, "a document of a result follows it")
    return text_part(behind.add(block, document, spelled))
