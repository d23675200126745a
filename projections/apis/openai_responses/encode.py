"""Blocks of a history as items of OpenAI's Responses API: its own as they came, others neutral.

What is repaired here concerns one item: ids, keys that no request has, outputs of another kind.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, Final, assert_never, cast

from onrecord.domain import jsontext
from onrecord.domain.content import Document, Native, Reasoning, Text, ToolCall, ToolResult
from onrecord.domain.conversation import CANCELLED
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.answers import headline
from onrecord.projections.apis.documents import Behind, texts_before, words_for
from onrecord.projections.apis.draft import CallIds, IdForm
from onrecord.projections.apis.foreign import told_of, whole
from onrecord.projections.apis.openai_responses.draft import (
    Held,
    ResponsesDraft,
    is_blank,
    output_of,
    text_beside_tools,
    text_part,
)
from onrecord.projections.apis.openai_responses.items import (
    OUTPUTS,
    as_plain_message,
    has_fitting_id,
    kind_of,
    link_of,
    with_link,
)
from onrecord.projections.apis.user_messages import RESULTS, event_of
from onrecord.projections.history.history import Block, Turn
from onrecord.projections.members import list_of

# Keys that OpenAI's SDK adds to what it read, and that no request has (O12).

_OWN: Final = frozenset({"parsed", "parsed_arguments", "async_"})
"""`parsed` and `parsed_arguments` are what its `parse` made, `async_` is its name for `async`."""


def without_own_keys(draft: ResponsesDraft, value: JsonObject, version: int) -> JsonObject:
    """Return an item without the keys that the SDK added to it, or to a part of it.

    "Unknown parameter: 'input[1].content[0].parsed'."
    """
    content = value.get("content")
    parts = list_of(content)
    if _OWN.isdisjoint(value) and not any(map(_has_own, parts)):
        return value
    draft.note("repaired", "O12", version, "keys that the SDK added are not sent")
    rest = {key: item for key, item in value.items() if key not in _OWN}
    return {**rest, "content": [_kept(part) for part in parts]} if parts else rest


def _has_own(part: Any) -> bool:
    return isinstance(part, dict) and not _OWN.isdisjoint(cast("JsonObject", part))


def _kept(part: Any) -> Any:
    if not isinstance(part, dict):
        return part
    return {key: item for key, item in cast("JsonObject", part).items() if key not in _OWN}


# "Invalid 'input[N].call_id': string too long. Expected a string with maximum length 64" (O6).
_IDS: Final = IdForm(re.compile(r"(?s).{1,64}\Z"), "call_", doubles=True)

_PARTS: Final = frozenset({"input_text", "input_image", "input_file", "input_audio"})
_APPROVAL: Final = "mcp_approval_request"

Said = str | JsonObject
"""A part of a message: a text that was given as such, or a part in the API's spelling."""


class Encoder:
    """Encodes the turns of one request, in order, into a draft."""

    def __init__(self, draft: ResponsesDraft) -> None:
        """Begin with no calls."""
        self._draft = draft
        self._ids = CallIds(_IDS, draft.call_ids)
        self._calls: dict[int | None, JsonObject] = {}

    def encode(self, turn: Turn) -> None:
        """Add the items of a turn."""
        if turn.role != "assistant":
            self._heard(turn.role, turn.blocks)
            return
        for block in turn.blocks:
            if block.mark in ("call", "unawaited"):
                self._call(block)
            else:
                self._spoken(block)

    def _own(self, block: Block) -> JsonObject | None:
        """Return an item or a part of this API's as it came; None for any other block."""
        value = self._draft.own(block)
        return None if value is None else without_own_keys(self._draft, value, block.version)

    def _spoken(self, block: Block) -> None:
        """Add what the assistant said."""
        if (value := self._own(block)) is not None:
            self._item(value, block)
            return
        for part in self._neutral(block):
            text = words_for(part) if isinstance(part, Document) else part.text
            self._draft.say(text, block)

    def _item(self, value: JsonObject, block: Block) -> None:
        """Add an item of this API's."""
        draft = self._draft
        if kind_of(value) == "message" and value.get("status") == "in_progress":
            draft.note("repaired", "O3", block.version, "a message that broke off goes as its text")
            draft.break_up(block, "its message broke off")
            value = as_plain_message(value)
        if value.get("call_id") == "" and kind_of(value) not in OUTPUTS:
            # xAI's own tools have one: no output ever names it.
            draft.note("repaired", "O6", block.version, "an empty call_id names nothing")
            value = {name: item for name, item in value.items() if name != "call_id"}
        draft.has_unfit_ids = draft.has_unfit_ids or not has_fitting_id(value)
        draft.add(value, block)

    def _neutral(self, block: Block) -> tuple[Text | Document, ...]:
        """Return what a block that is not this API's says, with a note on what it does not."""
        content = block.content
        match content:
            case Native():
                parts, note = told_of(whole(content, self._draft.blobs), block)
                self._draft.notes.append(note)
                if self._draft.goes_on(block):
                    return parts
                if any(map(_is_blank, parts)):
                    self._draft.leave_out_blank(block)
                return tuple(part for part in parts if not _is_blank(part))
            case Text() if _is_blank(content):
                self._draft.leave_out_blank(block)
                return ()
            case Text() | Document():
                return (content,)
            case Reasoning():
                self._draft.leave_out("O4", block, "the reasoning is none of OpenAI's")
                return ()
            case ToolCall():
                self._draft.leave_out("O1", block, "a call that was not recorded as one")
                return ()
            case ToolResult():
                self._draft.note("moved", "O2", block.version, "a result of no call goes as text")
                return content.content
            case _:
                assert_never(content)

    def _call(self, block: Block) -> None:
        """Add a call, and keep it for its output."""
        value = self._own(block)
        if value is not None and kind_of(value) == _APPROVAL:
            self._calls[block.call] = value
            self._item(value, block)
            return
        call_id = self._ids.of_call(block)
        if call_id != block.call_id:
            why = "the id of the call is not one that the service takes"
            self._draft.note("translated", "O6", block.version, why)
        if value is None:
            value = self._function_call(block, call_id)
        elif value.get("call_id") != call_id:
            value = {**value, "call_id": call_id}
        self._calls[block.call] = value
        self._item(value, block)

    def _function_call(self, block: Block, call_id: str) -> JsonObject:
        arguments = self._draft.arguments(block)
        name = self._draft.tool_name(block.name or "", block.version)
        text = jsontext.write(arguments).decode()
        return {"type": "function_call", "call_id": call_id, "name": name, "arguments": text}

    def _heard(self, role: str, blocks: Sequence[Block]) -> None:
        """Add the outputs of calls, then what the user said, or the operator."""
        for is_output, group in groupby(blocks, _is_output):
            if is_output:
                self._outputs(group)
                continue
            for _, event in groupby(group, event_of):
                self._message(role, list(event))

    def _message(self, role: str, blocks: Sequence[Block]) -> None:
        """Add what one event says: one message, unless the caller spelled whole items."""
        parts: list[Said] = []
        before: Block | None = None
        for block in blocks:
            if block.mark == "late":
                self._late(block)
            elif block.mark == "document":
                parts += self._found(block, before)
            elif (value := self._own(block)) is None:
                parts += self._parts(block, self._neutral(block))
            elif kind_of(value) in _PARTS:
                parts.append(value)
            else:
                self._say(role, parts, block)
                parts = []
                self._item(value, block)
            before = block
        self._say(role, parts, blocks[0])

    def _say(self, role: str, parts: Sequence[Said], block: Block) -> None:
        """Add a message: a text alone is a string, all else a list of parts."""
        if not parts:
            return
        if len(parts) == 1 and isinstance(parts[0], str):
            self._draft.add({"role": role, "content": parts[0]}, block)
            return
        content = [text_part(part) if isinstance(part, str) else part for part in parts]
        for part in content:
            if part.get("file_id") is not None:
                why = "refers to a file that the provider keeps: it may be gone"
                self._draft.note("noted", "O14", block.version, why)
        self._draft.add({"role": role, "content": content}, block)

    def _parts(self, block: Block, parts: Sequence[Text | Document]) -> list[Said]:
        return [
            part.text if isinstance(part, Text) else self._document(block, part) for part in parts
        ]

    def _document(self, block: Block, document: Document) -> Said:
        encoded = self._draft.router.in_message(block, document, self._draft.encode)
        return self._draft.words(block, document) if encoded is None else encoded

    def _outputs(self, blocks: Iterable[Block]) -> None:
        """Add the outputs of a round, and behind all of them what they cannot hold."""
        behind = Behind(self._draft.options.tags, text_part, self._draft.as_sent)
        texts = [(block, self._output(block, behind)) for block in blocks]
        if behind.parts:
            self._say("user", behind.parts, behind.blocks[0])
        for block, text in texts:
            if text is not None:
                why = "the output holds definitions of tools alone: its text follows the round"
                self._draft.note("moved", "O13", block.version, why)
                self._say("user", [headline(replace(block, call=None)), text], block)

    def _output(self, block: Block, behind: Behind[JsonObject]) -> str | None:
        """Add the output of a call; return its text, if the output cannot hold that."""
        draft, call = self._draft, self._calls[block.call]
        if block.mark == "missing":
            why = f"no output in time: {CANCELLED!r} stands in"
            draft.note("repaired", "O1", block.version, why)
        value = self._own(block)
        if value is not None and kind_of(value) == OUTPUTS.get(kind_of(call)):
            draft.add(with_link(value, link_of(call)), block)
            return None
        decided = len(draft.router.routes)
        output = Held(draft, block, call)
        parts = list(map(output.part, draft.result_parts(block)))
        answer = output_of(call, parts, is_error=block.is_error)
        if answer is None:
            # Nothing of the output goes as was decided for it.
            del draft.router.routes[decided:]
            self._late(block)
            return None
        draft.add(answer, block)
        if kind_of(call) != "shell_call" and is_blank(parts):
            draft.leave_out_blank(block, "blank text in a result")
        output.follow(behind)
        if block.mark == "missing":
            return None
        return text_beside_tools(call, parts, is_error=block.is_error)

    def _late(self, block: Block) -> None:
        """Add a result whose time is over as the user's words."""
        if self._draft.goes_late(block):
            parts = self._parts(block, self._draft.result_parts(block))
            self._say("user", [headline(block), *parts], block)

    def _found(self, block: Block, before: Block | None) -> list[Said]:
        """Return the parts of a document that travels on its own."""
        if not isinstance(block.content, Document):
            return []
        texts = texts_before(
            self._draft.as_sent(block), block.content, self._draft.options.tags, before
        )
        return [*texts, self._document(block, block.content)]


def _is_output(block: Block) -> bool:
    return block.mark in RESULTS


def _is_blank(part: Text | Document) -> bool:
    return isinstance(part, Text) and not part.text.strip()
