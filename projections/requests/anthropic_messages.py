"""Requests to Anthropic's Messages API: each rule in turn, from a history to what is sent.

The rules R1 to R23 are those that the service was seen to enforce; docs/rendering.md lists them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from onrecord.domain.jsontext import JsonObject
from onrecord.domain.prefix import MARK
from onrecord.projections import neutral_anthropic
from onrecord.projections.apis import Api, Reader
from onrecord.projections.history import Block, History, Turn
from onrecord.projections.report import report_of
from onrecord.projections.requests.anthropic_compaction import begin_at_compaction
from onrecord.projections.requests.anthropic_containers import (
    UPLOAD,
    container_of,
    note_inert_uploads,
)
from onrecord.projections.requests.anthropic_draft import (
    SERVER_CALLS,
    THINKING,
    Draft,
    Message,
    code_of,
    is_blank,
    is_server_result,
    joined,
    kind_of,
)
from onrecord.projections.requests.anthropic_endings import mend_endings
from onrecord.projections.requests.anthropic_fallbacks import FALLBACK, leave_out_declined
from onrecord.projections.requests.anthropic_instructions import (
    spell_instructions,
    spell_tools,
)
from onrecord.projections.requests.anthropic_marks import place_marks
from onrecord.projections.requests.anthropic_order import drop_blank_text, place_notes
from onrecord.projections.requests.anthropic_pairs import pair_server_tools
from onrecord.projections.requests.anthropic_references import (
    REFERENCE,
    SEARCH_RESULT,
    mend_references,
)
from onrecord.projections.requests.anthropic_signed import check_signed
from onrecord.projections.requests.anthropic_spelling import Speller
from onrecord.projections.requests.request import Options, Request, nothing_to_send, outside
from onrecord.projections.requests.routing import Router

_IN_PLAY: Final = SERVER_CALLS | THINKING | {"system", "blank", "empty"}
"""What lets one rule leave out what another rests on."""


def render(history: History, options: Options, blobs: Mapping[str, bytes]) -> Request:
    """Return the arguments `system`, `tools`, `messages` and `container`, those that there are.

    `blobs` holds the bytes of `needed_blobs`, by digest. Raises NothingToSend for a history without
    turns, CorruptRecord where a blob is missing.
    """
    draft = _draft(history, options, blobs)
    _obey(draft, history, options)
    if not draft.messages:
        raise nothing_to_send(options)
    if options.cache:
        place_marks(draft)
    arguments: dict[str, Any] = {
        "system": draft.system,
        "tools": draft.tools,
        "messages": [{"role": told.role, "content": told.content} for told in draft.messages],
        "container": draft.container,
    }
    given = {name: value for name, value in arguments.items() if value is not None}
    notes = [*history.notes, *draft.notes]
    return Request(given, options, report_of(notes, draft.router.routes))


def _draft(history: History, options: Options, blobs: Mapping[str, bytes]) -> Draft:
    router = Router(history, options)
    draft = Draft(options, router, blobs, container=container_of(history, options))
    speller = Speller(draft)
    draft.system = spell_instructions(draft, history.instructions, blobs)
    draft.tools = spell_tools(draft, history.tools, blobs)
    draft.messages = [_plain(turn) or _spelled(turn, speller, draft) for turn in history.turns]
    draft.notes.extend(outside(history, options))
    return draft


def _plain(turn: Turn) -> Message | None:
    """Return a turn that is one text and needs no repair, as most are; None for any other."""
    role, blocks = turn.role, turn.blocks
    if len(blocks) != 1 or role == "system":
        return None
    block = blocks[0]
    if block.mark or block.spilled:
        return None
    plain = block.plain
    if plain["kind"] == "text":
        text = plain["text"]
        value: JsonObject = {"type": "text", "text": text}
    elif plain["kind"] != "native" or plain["api"] != neutral_anthropic.API:
        return None
    else:
        value = plain["value"]
        text = value.get("text")
        if value.get("type") != "text" or MARK in value or not isinstance(text, str):
            return None
    return Message(role, [value], blocks) if text and not text.isspace() else None


def _spelled(turn: Turn, speller: Speller, draft: Draft) -> Message:
    content: list[JsonObject] = []
    spelled: list[Block] = []
    for value, block in speller.spell(turn.blocks):
        content.append(value)
        spelled.append(block)
        draft.types.add("blank" if is_blank(value) else kind_of(value))
    draft.types.add(turn.role)
    if not content:
        draft.types.add("empty")
    return Message(turn.role, content, spelled)


def _obey(draft: Draft, history: History, options: Options) -> None:
    """Apply the rules that concern more than one block, where there is such a block at all.

    What one rule leaves out may be what another rests on, so they are applied until none objects.
    """
    types = draft.types
    if "compaction" in types:
        begin_at_compaction(draft, history.responses, options)
    if FALLBACK in types:
        leave_out_declined(draft)
    if "blank" in types:
        drop_blank_text(draft)
    if not types.isdisjoint((FALLBACK, "compaction", "blank", "empty")):
        draft.messages = joined(draft.messages)
    size = -1
    while size != (size := _size(draft)):
        _pair_and_place(draft, history, options)
    if UPLOAD in types:
        note_inert_uploads(draft)


def _size(draft: Draft) -> int:
    """Return how many blocks a draft has, as far as rules could leave any out."""
    if draft.types.isdisjoint(_IN_PLAY) and not any(map(is_server_result, draft.types)):
        return len(draft.messages)
    return sum(len(message.content) for message in draft.messages)


def _is_called_by_code(draft: Draft) -> bool:
    """Whether code called a tool, which may have gone without its calls (a turn recorded in part)."""
    if "tool_use" not in draft.types:
        return False
    return any(
        code_of(value) is not None
        for message in draft.messages
        if message.role == "assistant"
        for value in message.content
    )


def _pair_and_place(draft: Draft, history: History, options: Options) -> None:
    types = draft.types
    if types & SERVER_CALLS or any(map(is_server_result, types)) or _is_called_by_code(draft):
        pair_server_tools(draft)
        draft.messages = joined(draft.messages)
    if "system" in types:
        place_notes(draft)
        draft.messages = joined(draft.messages)
    if not types.isdisjoint((REFERENCE, SEARCH_RESULT)):
        mend_references(draft)
    mend_endings(draft, history)
    if types & THINKING:
        check_signed(draft, history.responses, options)
        draft.messages = joined(draft.messages)


API: Final = Api(
    name=neutral_anthropic.API,
    messages="messages",
    reader=Reader(
        neutral_anthropic.neutral,
        neutral_anthropic.instructions,
        neutral_anthropic.tool,
        partial=neutral_anthropic.partial,
        replay=neutral_anthropic.replay,
    ),
    render=render,
)
