"""Requests to Bedrock's Converse API: each rule in turn, from a history to what is sent.

The rules B1 to B19 are those that the service, or a model behind it, was seen to enforce;
docs/rendering.md lists them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from onrecord.domain.events import ResponseCompleted
from onrecord.domain.jsontext import JsonObject
from onrecord.projections import neutral_bedrock
from onrecord.projections.apis import Api, Reader
from onrecord.projections.history import History
from onrecord.projections.report import report_of
from onrecord.projections.requests.anthropic_draft import Message, joined, message_of
from onrecord.projections.requests.bedrock_converse_arguments import BINARY, with_bytes
from onrecord.projections.requests.bedrock_converse_draft import Draft, draft_of
from onrecord.projections.requests.bedrock_converse_endings import mended
from onrecord.projections.requests.bedrock_converse_instructions import (
    declare_called,
    spell_instructions,
    spell_tools,
)
from onrecord.projections.requests.bedrock_converse_marks import place_marks
from onrecord.projections.requests.bedrock_converse_order import (
    arranged,
    pair_server_tools,
    tools_run,
)
from onrecord.projections.requests.bedrock_converse_signed import REASONING, refused_reasoning
from onrecord.projections.requests.bedrock_converse_spelling import Speller
from onrecord.projections.requests.request import Options, Request, nothing_to_send, outside

_STEPPED_IN: Final = "guardrail_intervened"


def render(history: History, options: Options, blobs: Mapping[str, bytes]) -> Request:
    """Return the arguments `system`, `toolConfig` and `messages`, those that there are.

    In the arguments binary members are bytes, in the body they are base64. `blobs` holds the bytes
    of `needed_blobs`, by digest. Raises NothingToSend for a history without turns, CorruptRecord
    where a blob is missing.
    """
    draft = draft_of(history, options, blobs)
    draft.system = spell_instructions(draft)
    draft.tools = spell_tools(draft)
    spelled = _spelled(draft)
    if draft.has_own_tools:
        spelled = pair_server_tools(draft, spelled)
    declare_called(draft, tools_run(spelled) if draft.has_own_tools else ())
    draft.messages = _obeying(draft, spelled)
    if not draft.messages:
        raise nothing_to_send(options)
    draft.notes.extend(outside(history, options))
    _note_guardrail(draft)
    if options.cache:
        place_marks(draft)
    body = _request(draft)
    arguments = body if draft.kinds.isdisjoint(BINARY) else _with_bytes(body)
    report = report_of([*history.notes, *draft.notes], draft.router.routes)
    return Request(arguments, options, report, body)


def _spelled(draft: Draft) -> list[Message]:
    speller = Speller(draft)
    turns = draft.history.turns
    return joined(
        speller.spell(turn, turns[place + 1] if place + 1 < len(turns) else None)
        for place, turn in enumerate(turns)
    )


def _obeying(draft: Draft, spelled: list[Message]) -> list[Message]:
    """Return the messages as all rules want them that concern more than one block.

    What one rule leaves out may be what another rests on, so they are applied until none objects.
    """
    messages = spelled
    while messages:
        if draft.has_own_tools:
            messages = pair_server_tools(draft, messages)
        messages = joined(mended(draft, messages)) if messages else []
        told = arranged(draft, messages)
        refused = refused_reasoning(draft, told) if REASONING in draft.kinds else None
        if not refused:
            return told
        messages = joined(_without(message, refused) for message in messages)
    return messages


def _without(message: Message, values: set[int]) -> Message:
    kept = (piece for piece in message.pieces if id(piece.value) not in values)
    return message_of(message.role, kept)


def _note_guardrail(draft: Draft) -> None:
    last = draft.history.responses.last().closing
    if isinstance(last, ResponseCompleted) and last.stop_reason == _STEPPED_IN:
        why = "a guardrail stepped in: it looks at the whole history, and may do so again"
        draft.note("noted", "B16", None, why)


def _request(draft: Draft) -> dict[str, Any]:
    given: dict[str, Any] = {
        "system": draft.system or None,
        "toolConfig": {"tools": draft.tools} if draft.tools else None,
        "messages": [{"role": told.role, "content": told.content} for told in draft.messages],
    }
    return {name: value for name, value in given.items() if value is not None}


def _with_bytes(body: Mapping[str, Any]) -> dict[str, Any]:
    messages: list[JsonObject] = [
        {**message, "content": with_bytes(message["content"])} for message in body["messages"]
    ]
    return {**body, "messages": messages}


API: Final = Api(
    name=neutral_bedrock.API,
    messages="messages",
    reader=Reader(
        neutral_bedrock.neutral,
        neutral_bedrock.instructions,
        neutral_bedrock.tool,
        partial=neutral_bedrock.partial,
    ),
    render=render,
)
