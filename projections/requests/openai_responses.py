"""Requests to OpenAI's Responses API: each rule in turn, from a history to what is sent.

A request stands by itself: what the service held of the conversation (`previous_response_id`,
`conversation`) is sent in full. The rules O1 to O18 are those that the service was seen to enforce;
docs/rendering.md lists them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from onrecord.domain.jsontext import JsonObject
from onrecord.projections import neutral_openai_responses, server_tools_openai
from onrecord.projections.apis import Api, Reader
from onrecord.projections.history import Block, History
from onrecord.projections.report import report_of
from onrecord.projections.requests.openai_responses_compaction import begin_at_compaction
from onrecord.projections.requests.openai_responses_draft import Draft, Piece
from onrecord.projections.requests.openai_responses_held import (
    resolve_references,
    tell_of_expired_containers,
)
from onrecord.projections.requests.openai_responses_instructions import (
    spell_instructions,
    spell_tools,
)
from onrecord.projections.requests.openai_responses_items import id_of
from onrecord.projections.requests.openai_responses_order import put_calls_last
from onrecord.projections.requests.openai_responses_pairs import pair_outputs
from onrecord.projections.requests.openai_responses_reasoning import check_reasoning
from onrecord.projections.requests.openai_responses_spelling import Speller
from onrecord.projections.requests.openai_responses_words import show_pictures
from onrecord.projections.requests.request import Options, Request, nothing_to_send, outside
from onrecord.projections.requests.routing import Router

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
    name=neutral_openai_responses.API,
    messages="input",
    reader=Reader(
        neutral_openai_responses.block,
        neutral_openai_responses.instructions,
        neutral_openai_responses.tool,
        server_tools_openai.gave,
        neutral_openai_responses.said_by_the_user,
        neutral_openai_responses.says_it_failed,
        neutral_openai_responses.partial,
        neutral_openai_responses.replay,
    ),
    render=render,
)
