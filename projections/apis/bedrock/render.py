"""Requests to Bedrock's Converse API: each rule in turn, from a history to what is sent.

The rules B1 to B19 are those that the service, or a model behind it, was seen to enforce;
docs/rendering.md lists them.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final

from onrecord.domain.events import ResponseCompleted
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.tools import ToolDefinition
from onrecord.projections.api import Api, Reader, UsagePlaces
from onrecord.projections.apis.anthropic.draft import Message, Piece, joined, message_of
from onrecord.projections.apis.bedrock import read
from onrecord.projections.apis.bedrock.draft import MARK, MEDIA, BedrockDraft, draft_of
from onrecord.projections.apis.bedrock.encode import Encoder
from onrecord.projections.apis.bedrock.pairing import (
    REASONING,
    arranged,
    mended,
    pair_server_tools,
    refused_reasoning,
    tools_run,
)
from onrecord.projections.apis.bedrock.read import held, kind_of
from onrecord.projections.apis.draft import present
from onrecord.projections.apis.request import Options, Request, nothing_to_send, outside
from onrecord.projections.apis.tools import BEDROCK
from onrecord.projections.history.history import History
from onrecord.projections.members import objects

# Instructions and tools.


def instructions_of(draft: BedrockDraft) -> list[JsonObject]:
    """Return what stands under `system`: blocks, none of them blank (B4), no cache points (B13)."""
    instructions = draft.instructions()
    if isinstance(instructions, str):
        return [{"text": instructions}] if instructions else []
    blocks = objects(instructions.get("system", [instructions]))
    return [block for block in blocks if MARK not in block and _says(block)]


def tools_of(draft: BedrockDraft) -> list[JsonObject]:
    """Return what stands under `toolConfig.tools`, in the order in which they were defined."""
    tools = draft.tools_in_force(partial(_definition, draft))
    return [tool for tool in tools if MARK not in tool]


def declare_called(draft: BedrockDraft, ran: Iterable[str]) -> None:
    """Declare the tools that were called, or that the service `ran`, where none is in force (B3)."""
    own: list[JsonObject] = [{"systemTool": {"name": name}} for name in ran]
    if draft.tools or not (draft.called or own):
        return
    draft.tools = [*map(_of_any_input, draft.called), *own]
    why = "no tools are in force: those that were called are declared, with any input"
    draft.note("repaired", "B3", None, why)


def _of_any_input(name: str) -> JsonObject:
    return {"toolSpec": {"name": name, "inputSchema": {"json": {"type": "object"}}}}


def _says(block: JsonObject) -> bool:
    text = block.get("text")
    return not isinstance(text, str) or bool(text.strip())


def _definition(draft: BedrockDraft, tool: ToolDefinition) -> JsonObject:
    named, schema = draft.definition(tool, BEDROCK)
    if not named.get("description", "").strip():
        named = {"name": named["name"]}
    return {"toolSpec": {**named, "inputSchema": {"json": schema}}}


# Cache points: at most four, placed by where things stand, never by what was sent before (B13).

_UNMARKED: Final = frozenset({"document", "video"})
_TURNS: Final = 2


def place_marks(draft: BedrockDraft) -> None:
    """Put a cache point behind the tools, the instructions, and the user's last two turns.

    The point of the turn before the last finds what the last request cached. None stands behind a
    document or a video: the service refuses it.
    """
    if not draft.model.takes_marks:
        draft.note("noted", "B13", None, "the model takes no cache points")
        return
    if draft.tools and draft.model.takes_marked_tools:
        draft.tools = [*draft.tools, _point()]
    if draft.system:
        draft.system = [*draft.system, _point()]
    users = [index for index, message in enumerate(draft.messages) if message.role == "user"]
    for index in users[-_TURNS:]:
        draft.messages[index] = _marked(draft.messages[index])


def _point() -> JsonObject:
    return {MARK: {"type": "default"}}


def _marked(message: Message) -> Message:
    pieces = message.pieces
    for place in range(len(pieces), 0, -1):
        if kind_of(pieces[place - 1].value) not in _UNMARKED:
            point = Piece(_point(), pieces[place - 1].block)
            return message_of("user", [*pieces[:place], point, *pieces[place:]])
    return message


# Arguments as boto3 takes them: bytes where the wire has base64, for it encodes them itself.

BINARY: Final = MEDIA | {"reasoningContent", "guardContent"}
"""Kinds of blocks that may hold bytes, in results as well."""


def with_bytes(blocks: list[JsonObject]) -> list[JsonObject]:
    """Return blocks with bytes in place of base64."""
    return [_block(block) for block in blocks]


def _block(value: JsonObject) -> JsonObject:
    kind = kind_of(value)
    decode = _DECODERS.get(kind)
    return value if decode is None or not held(value) else {**value, kind: decode(held(value))}


def _file(members: JsonObject) -> JsonObject:
    match members.get("source"):
        case {"bytes": str(data)}:
            return {**members, "source": {**members["source"], "bytes": _bytes(data)}}
        case _:
            return members


def _reasoning(members: JsonObject) -> JsonObject:
    data: Any = members.get("redactedContent")
    return {**members, "redactedContent": _bytes(data)} if isinstance(data, str) else members


def _result(members: JsonObject) -> JsonObject:
    return {**members, "content": with_bytes(objects(members.get("content")))}


def _bytes(data: str) -> bytes | str:
    """Return what base64 stands for; what is none stays as it is, for the service to judge."""
    try:
        return b64decode(data, validate=True)
    except ValueError:
        return data


_DECODERS: Final[Mapping[str, Callable[[JsonObject], JsonObject]]] = {
    **dict.fromkeys(MEDIA, _file),
    "reasoningContent": _reasoning,
    "guardContent": lambda content: _block(content) if "image" in content else content,
    "toolResult": _result,
}


_STEPPED_IN: Final = "guardrail_intervened"


def render(history: History, options: Options, blobs: Mapping[str, bytes]) -> Request:
    """Return the arguments `system`, `toolConfig` and `messages`, those that there are.

    In the arguments binary members are bytes, in the body they are base64. `blobs` holds the bytes
    of `needed_blobs`, by digest. Raises NothingToSend for a history without turns, CorruptRecord
    where a blob is missing.
    """
    draft = draft_of(history, options, blobs)
    draft.system = instructions_of(draft)
    draft.tools = tools_of(draft)
    messages = _encoded(draft)
    if draft.has_own_tools:
        messages = pair_server_tools(draft, messages)
    declare_called(draft, tools_run(messages) if draft.has_own_tools else ())
    draft.messages = _obeying(draft, messages)
    if not draft.messages:
        raise nothing_to_send(options)
    draft.notes.extend(outside(history, options))
    _note_guardrail(draft)
    if options.cache:
        place_marks(draft)
    body = _request(draft)
    arguments = body if draft.kinds.isdisjoint(BINARY) else _with_bytes(body)
    return draft.request(arguments, body)


def _encoded(draft: BedrockDraft) -> list[Message]:
    encoder = Encoder(draft)
    turns = draft.history.turns
    return joined(
        encoder.encode_turn(turn, after)
        for turn, after in zip(turns, [*turns[1:], None], strict=False)
    )


def _obeying(draft: BedrockDraft, messages: list[Message]) -> list[Message]:
    """Return the messages as all rules want them that concern more than one block.

    What one rule leaves out may be what another rests on, so they are applied until none objects.
    """
    while messages:
        if draft.has_own_tools:
            messages = pair_server_tools(draft, messages)
        messages = joined(mended(draft, messages)) if messages else []
        ordered = arranged(draft, messages)
        refused = refused_reasoning(draft, ordered) if REASONING in draft.kinds else None
        if not refused:
            return ordered
        messages = joined(_without(message, refused) for message in messages)
    return messages


def _without(message: Message, values: set[int]) -> Message:
    rest = (piece for piece in message.pieces if id(piece.value) not in values)
    return message_of(message.role, rest)


def _note_guardrail(draft: BedrockDraft) -> None:
    last = draft.history.responses.last().closing
    if isinstance(last, ResponseCompleted) and last.stop_reason == _STEPPED_IN:
        why = "a guardrail stepped in: it looks at the whole history, and may do so again"
        draft.note("noted", "B16", None, why)


def _request(draft: BedrockDraft) -> dict[str, Any]:
    return present(
        {
            "system": draft.system or None,
            "toolConfig": {"tools": draft.tools} if draft.tools else None,
            "messages": [{"role": it.role, "content": it.content} for it in draft.messages],
        }
    )


def _with_bytes(body: Mapping[str, Any]) -> dict[str, Any]:
    messages: list[JsonObject] = [
        {**message, "content": with_bytes(message["content"])} for message in body["messages"]
    ]
    return {**body, "messages": messages}


API: Final = Api(
    name=read.NAME,
    messages="messages",
    reader=Reader(
        read.block,
        read.instructions,
        read.tool,
        partial=read.partial,
    ),
    render=render,
    # docs.aws.amazon.com, `TokenUsage`.
    usage=UsagePlaces(
        cached=(("usage", "cacheReadInputTokens"),),
        cache_writes=(("usage", "cacheWriteInputTokens"),),
    ),
)
