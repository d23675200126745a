"""Outputs of calls, each in the item that its kind of call wants, from neutral content (O1, O13)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast

from onrecord.domain import jsontext
from onrecord.domain.content import Document, Text
from onrecord.domain.documents import modality_of
from onrecord.domain.errors import MalformedJson
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.history import Block
from onrecord.projections.requests.document_tags import tag_of
from onrecord.projections.requests.openai_responses_draft import Draft, text_part
from onrecord.projections.requests.openai_responses_items import OUTPUTS, kind_of, link_of
from onrecord.projections.requests.result_words import FAILURE, failed, words_for_nothing
from onrecord.projections.requests.round_documents import Behind

_HOLDING: Final = frozenset({"function_call", "custom_tool_call"})
"""Calls whose output may hold images and files."""

_APPROVALS: Final = frozenset({"approve", "approved", "true", "yes"})


class Held:
    """What the output of one call holds, and which documents of it follow the round."""

    def __init__(self, draft: Draft, block: Block, call: JsonObject) -> None:
        """Take the result, and the call as it goes."""
        self._draft = draft
        self._block = block
        self._kind = kind_of(call)
        self._following: list[tuple[Document, JsonObject]] = []
        self._has_screenshot = False

    def part(self, part: Text | Document) -> JsonObject:
        """Return a part of the result as the output holds it: itself, its tag, or words."""
        if isinstance(part, Text):
            return text_part(part.text)
        draft, block = self._draft, self._block
        where, spelled = draft.router.in_result(block, part, self._fitting, draft.spell)
        if spelled is None:
            return text_part(draft.words(block, part))
        if where == "inline":
            return spelled
        self._following.append((part, spelled))
        return text_part(tag_of(block, part, draft.options.tags))

    def follow(self, behind: Behind[JsonObject]) -> None:
        """Put the documents that the output cannot hold behind the round."""
        block = self._block
        for document, spelled in self._following:
            why = "the output does not hold the document: it follows the round"
            self._draft.note("moved", "O13", block.version, why)
            behind.add(block, document, spelled)

    def _fitting(self, document: Document) -> JsonObject | None:
        """Return a document as the output of such a call holds it; None where it does not."""
        if self._kind in _HOLDING:
            return self._draft.spell_in_output(document)
        is_picture = modality_of(document.media_type) == "image"
        if self._kind != "computer_call" or self._has_screenshot or not is_picture:
            return None
        spelled = self._draft.spell(document)
        self._has_screenshot = spelled is not None
        return spelled


def output_of(
    call: JsonObject, parts: Sequence[JsonObject], *, is_error: bool
) -> JsonObject | None:
    """Return the item that answers a call with parts of a message; None where they cannot.

    It names the program that made the call, as the call does. The API has no mark for an error, so
    words tell of it. A computer wants a screenshot; an approval is given by "approved" or the like
    alone; a tool search takes definitions of tools.
    """
    kind = kind_of(call)
    answer: JsonObject = {
        "type": OUTPUTS.get(kind, "function_call_output"),
        "call_id": link_of(call),
    }
    if call.get("caller") is not None:
        answer["caller"] = call["caller"]
    text = _text_of(parts, is_error=is_error)
    match kind:
        case "computer_call":
            return _screenshot(answer, parts)
        case "local_shell_call":
            return {"type": answer["type"], "id": link_of(call), "output": text}
        case "shell_call":
            return {**answer, "output": [_run(parts, is_error=is_error)]}
        case "apply_patch_call":
            status = "failed" if is_error else "completed"
            return {**answer, "status": status, "output": text}
        case "mcp_approval_request":
            return _approval(link_of(call), text, is_error=is_error)
        case "tool_search_call":
            found = {"execution": "client", "status": "completed", "tools": _tools_in(text)}
            return {**answer, **found}
        case _:
            return {**answer, "output": _held(parts, text, is_error=is_error)}


def _held(parts: Sequence[JsonObject], text: str, *, is_error: bool) -> str | list[JsonObject]:
    """Return what an output holds: the text if there is nothing else, or the parts."""
    if all(part["type"] == "input_text" for part in parts) and len(parts) <= 1:
        return text
    return [{"type": "input_text", "text": FAILURE}, *parts] if is_error else list(parts)


def _text_of(parts: Sequence[JsonObject], *, is_error: bool) -> str:
    said = "\n".join(part["text"] for part in parts if part["type"] == "input_text")
    if not said.strip():
        return words_for_nothing(is_error=is_error)
    return failed(said) if is_error else said


def _run(parts: Sequence[JsonObject], *, is_error: bool) -> JsonObject:
    said = "\n".join(part["text"] for part in parts if part["type"] == "input_text")
    written, failed = ("", said) if is_error else (said, "")
    outcome = {"type": "exit", "exit_code": int(is_error)}
    return {"stdout": written, "stderr": failed, "outcome": outcome}


def _screenshot(answer: JsonObject, parts: Sequence[JsonObject]) -> JsonObject | None:
    shown = next((part["image_url"] for part in parts if part["type"] == "input_image"), None)
    if shown is None:
        return None
    return {**answer, "output": {"type": "computer_screenshot", "image_url": shown}}


def _approval(request_id: str | None, text: str, *, is_error: bool) -> JsonObject:
    approved = not is_error and text.strip().lower() in _APPROVALS
    answer: JsonObject = {
        "type": "mcp_approval_response",
        "approval_request_id": request_id,
        "approve": approved,
    }
    return answer if approved else {**answer, "reason": text}


def _tools_in(text: str) -> list[Any]:
    try:
        found = jsontext.read(text)
    except MalformedJson:
        return []
    return cast("list[Any]", found) if isinstance(found, list) else []
