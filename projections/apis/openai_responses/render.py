"""Requests to OpenAI's Responses API: each rule in turn, from a history to what is sent.

A request stands by itself: what the service held of the conversation (`previous_response_id`,
`conversation`) is sent in full. The rules O1 to O18 are those that the service was seen to enforce;
docs/rendering.md lists them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from onrecord.domain.jsontext import JsonObject
from onrecord.domain.tools import ToolDefinition
from onrecord.projections.api import Api, Reader, UsagePlaces
from onrecord.projections.apis.draft import present
from onrecord.projections.apis.openai_responses import read, server_tools
from onrecord.projections.apis.openai_responses.draft import Piece, ResponsesDraft
from onrecord.projections.apis.openai_responses.encode import Encoder
from onrecord.projections.apis.openai_responses.items import id_of
from onrecord.projections.apis.openai_responses.reasoning import check_reasoning, show_pictures
from onrecord.projections.apis.openai_responses.repair import (
    begin_at_compaction,
    load_what_none_searches,
    pair_outputs,
    put_calls_last,
    resolve_references,
    tell_of_expired_containers,
)
from onrecord.projections.apis.request import Options, Request, nothing_to_send, outside
from onrecord.projections.apis.tools import OPENAI
from onrecord.projections.history.history import Block, History
from onrecord.projections.members import list_of

# Instructions and tools.


def instructions_of(draft: ResponsesDraft) -> tuple[str | None, list[JsonObject]]:
    """Return what stands under `instructions`, and the items that lead the input."""
    instructions = draft.instructions()
    if isinstance(instructions, str):
        return instructions or None, []
    text: Any = instructions.get("instructions")
    leading: Any = instructions.get("input")
    items = list_of(leading)
    return text if isinstance(text, str) and text.strip() else None, items


def tools_of(draft: ResponsesDraft) -> list[JsonObject] | None:
    """Return what stands under `tools`, in the order in which they were defined."""
    tools = list(draft.tools_in_force(partial(_definition, draft)))
    return load_what_none_searches(draft, tools) or None


def _definition(draft: ResponsesDraft, tool: ToolDefinition) -> JsonObject:
    """Return a function's definition; `strict` would refuse most schemas, and is on by default."""
    named, schema = draft.definition(tool, OPENAI)
    return {"type": "function", **named, "parameters": schema, "strict": False}


_PLAIN: Final = frozenset({"message", "function_call", "function_call_output"})
"""Items that are whole by themselves, or in pairs already."""


def render(history: History, options: Options, blobs: Mapping[str, bytes]) -> Request:
    """Return the arguments `instructions`, `tools` and `input`, those that there are.

    `blobs` holds the bytes of `needed_blobs`, by digest. Raises NothingToSend for a history without
    turns, CorruptRecord where a blob is missing.
    """
    draft = ResponsesDraft(history, options, blobs)
    instructions, leading = instructions_of(draft)
    tools = tools_of(draft)
    _encode(draft)
    _obey(draft)
    if not draft.pieces:
        raise nothing_to_send(options)
    if options.cache:
        draft.note("noted", "O16", None, "the service places its cache marks itself")
    draft.notes.extend(outside(history, options))
    arguments: dict[str, Any] = {
        "instructions": instructions,
        "tools": tools,
        "input": [*leading, *(piece.value for piece in draft.pieces)],
    }
    return draft.request(present(arguments))


def _encode(draft: ResponsesDraft) -> None:
    encoder = Encoder(draft)
    for turn in draft.history.turns:
        blocks = turn.blocks
        if len(blocks) == 1 and (value := _plain(blocks[0], turn.role)) is not None:
            draft.pieces.append(Piece(value, blocks[0]))
        else:
            encoder.encode(turn)


def _plain(block: Block, role: str) -> JsonObject | None:
    """Return a message that needs no repair, as most do; None for any other."""
    if block.mark or block.spilled:
        return None
    plain = block.plain
    if plain["kind"] != "text":
        return None
    text = plain["text"]
    return None if not text or text.isspace() else {"role": role, "content": text}


def _obey(draft: ResponsesDraft) -> None:
    """Apply the rules that concern more than one item, where there is such an item at all.

    What one rule tells in words may be what another rests on, so they are applied until none
    objects.
    """
    types = draft.types
    if "compaction" in types:
        begin_at_compaction(draft)
    if "item_reference" in types:
        resolve_references(draft)
    if "code_interpreter_call" in types:
        tell_of_expired_containers(draft)
    # A turn that another provider paused may hold calls that have no results yet.
    turns = draft.history.turns
    is_paused = bool(turns) and turns[-1].role == "assistant"
    before: list[Piece] = []
    while before != draft.pieces:
        before = draft.pieces
        if not types <= _PLAIN or is_paused:
            pair_outputs(draft)
        if _may_object(draft):
            check_reasoning(draft)
    put_calls_last(draft)
    show_pictures(draft)


def _may_object(draft: ResponsesDraft) -> bool:
    """Whether reasoning, accounts, ids or what is gone could be an obstacle to anything."""
    if "reasoning" in draft.types or draft.broken or draft.has_unfit_ids:
        return True
    if draft.options.account is not None:
        return True
    if any(note.deed == "left out" for note in draft.history.notes):
        return True
    ids = [item_id for piece in draft.pieces if (item_id := id_of(piece.value)) is not None]
    return len(set(ids)) < len(ids)


API: Final = Api(
    name=read.NAME,
    messages="input",
    reader=Reader(
        read.block,
        read.instructions,
        read.tool,
        server_tools.gave,
        read.user_message,
        read.says_it_failed,
        read.partial,
        read.replay,
    ),
    render=render,
    # platform.openai.com, "Responses": `usage`.
    usage=UsagePlaces(
        cached=(("usage", "input_tokens_details", "cached_tokens"),),
        cache_writes=(("usage", "input_tokens_details", "cache_write_tokens"),),
        reasoning=(("usage", "output_tokens_details", "reasoning_tokens"),),
    ),
)
