"""Requests to OpenAI's Responses API: each rule in turn, from a history to what is sent.

A request stands by itself: what the service held of the conversation (`previous_response_id`,
`conversation`) is sent in full. The rules O1 to O18 are those that the service was seen to enforce;
docs/rendering.md lists them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from onrecord.domain.blobs import restore
from onrecord.domain.content import Native, Text
from onrecord.domain.events import InstructionsSet, ToolsDeclared
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.tools import ToolDefinition
from onrecord.projections.api import Api, Reader, UsagePlaces
from onrecord.projections.apis.foreign import instructions_told, tool_told, whole
from onrecord.projections.apis.openai_responses import read, server_tools
from onrecord.projections.apis.openai_responses.draft import Draft, Piece
from onrecord.projections.apis.openai_responses.encode import Speller
from onrecord.projections.apis.openai_responses.items import id_of
from onrecord.projections.apis.openai_responses.pairing import (
    pair_outputs,
    resolve_references,
    tell_of_expired_containers,
)
from onrecord.projections.apis.openai_responses.read import NAME
from onrecord.projections.apis.openai_responses.reasoning import check_reasoning, show_pictures
from onrecord.projections.apis.openai_responses.repair import (
    begin_at_compaction,
    load_what_none_searches,
    put_calls_last,
)
from onrecord.projections.apis.request import Options, Request, nothing_to_send, outside
from onrecord.projections.apis.routing import Router
from onrecord.projections.apis.tools import OPENAI as WANTS
from onrecord.projections.apis.tools import schema_for, tools_for
from onrecord.projections.history.history import Block, History
from onrecord.projections.history.report import report_of
from onrecord.projections.history.tool_names import OPENAI, name_for, renamed

# Instructions and tools in the spelling of OpenAI's Responses API.


def spell_instructions(
    draft: Draft, instructions: InstructionsSet | None, blobs: Mapping[str, bytes]
) -> tuple[str | None, list[JsonObject]]:
    """Return what stands under `instructions`, and the items that lead the input."""
    match instructions.content if instructions else "":
        case str() as text:
            return text if text.strip() else None, []
        case Text(text=text):
            return text if text.strip() else None, []
        case Native(api="openai-responses") as native:
            return _own(restore(native.value, blobs))
        case Native() as native:
            text, note = instructions_told(whole(native, blobs))
            draft.notes.append(note)
            return text or None, []


def spell_tools(
    draft: Draft, tools: ToolsDeclared | None, blobs: Mapping[str, bytes]
) -> list[JsonObject] | None:
    """Return what stands under `tools`, in the order in which they were defined."""
    spelled: list[JsonObject] = []
    for tool in tools_for(tools, NAME):
        if isinstance(tool, Native) and tool.api == NAME:
            spelled.append(restore(tool.value, blobs))
            continue
        if isinstance(tool, Native):
            told, note = tool_told(whole(tool, blobs))
            draft.notes.append(note)
        else:
            told = tool
        if told is not None:
            spelled.append(_definition(draft, told))
    return load_what_none_searches(draft, spelled) or None


def _own(value: JsonObject) -> tuple[str | None, list[JsonObject]]:
    told: Any = value.get("instructions")
    leading: Any = value.get("input")
    items = cast("list[Any]", leading) if isinstance(leading, list) else []
    return told if isinstance(told, str) and told.strip() else None, items


def _definition(draft: Draft, tool: ToolDefinition) -> JsonObject:
    """Return a function's definition; `strict` would refuse most schemas, and is on by default."""
    name = name_for(tool.name, OPENAI)
    if name != tool.name:
        draft.note("translated", "O7", None, renamed(tool.name, name))
    told: JsonObject = {"type": "function", "name": name}
    if tool.description is not None:
        told["description"] = tool.description
    schema, done = schema_for(tool.input_schema, WANTS)
    if done:
        draft.note("translated", "schema", None, f"the schema of {tool.name}: {done}")
    return {**told, "parameters": schema, "strict": False}


_PLAIN: Final = frozenset({"message", "function_call", "function_call_output"})
"""Items that are whole by themselves, or in pairs already."""


def render(history: History, options: Options, blobs: Mapping[str, bytes]) -> Request:
    """Return the arguments `instructions`, `tools` and `input`, those that there are.

    `blobs` holds the bytes of `needed_blobs`, by digest. Raises NothingToSend for a history without
    turns, CorruptRecord where a blob is missing.
    """
    draft = Draft(options, Router(history, options), blobs)
    instructions, leading = spell_instructions(draft, history.instructions, blobs)
    tools = spell_tools(draft, history.tools, blobs)
    _spell(draft, history)
    _obey(draft, history, options)
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
    given = {name: value for name, value in arguments.items() if value is not None}
    report = report_of([*history.notes, *draft.notes], draft.router.routes)
    return Request(given, options, report)


def _spell(draft: Draft, history: History) -> None:
    speller = Speller(draft)
    for turn in history.turns:
        blocks = turn.blocks
        if len(blocks) == 1 and (value := _plain(blocks[0], turn.role)) is not None:
            draft.pieces.append(Piece(value, blocks[0]))
        else:
            speller.spell(turn)


def _plain(block: Block, role: str) -> JsonObject | None:
    """Return a message that needs no repair, as most do; None for any other."""
    if block.mark or block.spilled:
        return None
    plain = block.plain
    if plain["kind"] != "text":
        return None
    text = plain["text"]
    return None if not text or text.isspace() else {"role": role, "content": text}


def _obey(draft: Draft, history: History, options: Options) -> None:
    """Apply the rules that concern more than one item, where there is such an item at all.

    What one rule tells in words may be what another rests on, so they are applied until none
    objects.
    """
    types = draft.types
    if "compaction" in types:
        begin_at_compaction(draft, history.responses, options)
    if "item_reference" in types:
        resolve_references(draft)
    if "code_interpreter_call" in types:
        tell_of_expired_containers(draft, history)
    # A turn that another provider paused may hold calls that have no results yet.
    is_paused = bool(history.turns) and history.turns[-1].role == "assistant"
    before: list[Piece] = []
    while before != draft.pieces:
        before = draft.pieces
        if not types <= _PLAIN or is_paused:
            pair_outputs(draft)
        if _may_object(draft, history, options):
            check_reasoning(draft, history, options)
    put_calls_last(draft, history, options)
    show_pictures(draft)


def _may_object(draft: Draft, history: History, options: Options) -> bool:
    """Whether reasoning, accounts, ids or what is gone could be an obstacle to anything."""
    if "reasoning" in draft.types or draft.broken or draft.has_unfit_ids:
        return True
    if options.account is not None:
        return True
    if any(note.deed == "left out" for note in history.notes):
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
        read.said_by_the_user,
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
