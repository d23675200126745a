"""Requests to Anthropic's Messages API: each rule in turn, from a history to what is sent.

The rules R1 to R23 are those that the service was seen to enforce, R24 is one that it documents;
docs/rendering.md lists them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from onrecord.domain.jsontext import JsonObject
from onrecord.domain.request_template import MARK
from onrecord.domain.tools import ToolDefinition
from onrecord.projections.api import Api, Reader, UsagePlaces
from onrecord.projections.apis.anthropic import read
from onrecord.projections.apis.anthropic.draft import (
    CALLER,
    SERVER_CALLS,
    THINKING,
    TOOLSET,
    UPLOAD,
    AnthropicDraft,
    Message,
    Piece,
    code_of,
    container_of,
    ending_with_words,
    is_blank,
    is_server_result,
    joined,
    kind_of,
    message_of,
    note_inert_uploads,
)
from onrecord.projections.apis.anthropic.encode import Encoder
from onrecord.projections.apis.anthropic.pairing import (
    REFERENCE,
    SEARCH_RESULT,
    drop_blank_text,
    mend_references,
    pair_server_tools,
    place_notes,
)
from onrecord.projections.apis.anthropic.repair import (
    FALLBACK,
    begin_at_compaction,
    check_signed,
    leave_out_declined,
)
from onrecord.projections.apis.draft import present
from onrecord.projections.apis.request import Options, Request, copied, nothing_to_send, outside
from onrecord.projections.apis.tools import ANTHROPIC, skills_of
from onrecord.projections.history.history import History, Turn
from onrecord.projections.members import list_of

# Instructions and tools.


def instructions_of(draft: AnthropicDraft) -> str | list[JsonObject] | None:
    """Return what stands under `system`: a text, or the blocks that the caller gave."""
    instructions = draft.instructions()
    if isinstance(instructions, str):
        return instructions or None
    blocks = filter(_has_content, _system_blocks(instructions))
    return [draft.unmarked(block, None) for block in blocks] or None


def tools_of(draft: AnthropicDraft) -> list[JsonObject] | None:
    """Return what stands under `tools`, in the order in which they were defined."""
    tools = [
        draft.unmarked(tool, None) for tool in draft.tools_in_force(partial(_definition, draft))
    ]
    for tool in tools:
        if tool.get("type") == TOOLSET:
            server = tool.get("mcp_server_name")
            why = f"the call wants mcp_servers=[...] with the server {server!r}: it is the caller's"
            draft.note("noted", "R24", None, why)
    return tools or None


def _system_blocks(value: JsonObject) -> list[JsonObject]:
    """Return the blocks of `system`, recorded as `{"system": [...]}` or as the one block."""
    content: Any = value.get("system", [value])
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return list_of(content)


def _has_content(block: JsonObject) -> bool:
    """Whether a block says something; a blank text is refused, here too (R10)."""
    text = block.get("text")
    return block.get("type") != "text" or not isinstance(text, str) or bool(text.strip())


def _definition(draft: AnthropicDraft, tool: ToolDefinition) -> JsonObject:
    named, schema = draft.definition(tool, ANTHROPIC)
    return {**named, "input_schema": schema}


# How a request to Anthropic ends: with the user's turn, with one to be gone on with, or else.

_NEVER: Final = 1 << 62


def mend_endings(draft: AnthropicDraft) -> None:
    """Mend assistant's turns that end a request, or that ended one (R11).

    "messages: final assistant content cannot end with trailing whitespace"; nor may its last block
    be thinking. A turn that the provider paused goes back as it is (R4).
    """
    messages = draft.messages
    # Without a prefill, and with no message gone, only the last one can be an ending.
    is_mixed = draft.history.has_prefills or not draft.types.isdisjoint(("blank", "empty"))
    first = 0 if is_mixed else max(0, len(messages) - 1)
    # How many requests had been sent when the next message began.
    asked_after = _NEVER
    for index in range(len(messages) - 1, first - 1, -1):
        blocks = messages[index].blocks
        request_count = blocks[0].asked
        if messages[index].role == "assistant":
            if request_count != blocks[-1].asked:
                pieces = _mended(draft, messages[index].pieces)
                messages[index] = message_of("assistant", pieces)
            if asked_after > blocks[-1].asked:
                _end(draft, index, is_last=asked_after == _NEVER)
        asked_after = request_count


def _end(draft: AnthropicDraft, index: int, *, is_last: bool) -> None:
    """Mend a turn after which a request was sent, or will be."""
    message = draft.messages[index]
    if is_last and not _goes_on(draft, message.pieces):
        why = "the assistant has the last word: newer models refuse that; say something first"
        draft.note("noted", "R11", message.blocks[-1].version, why)
    pieces = _as_prefill(draft, message.pieces)
    draft.messages[index] = message_of("assistant", pieces)


def _mended(draft: AnthropicDraft, pieces: list[Piece]) -> list[Piece]:
    """Return a turn in whose midst requests were sent."""
    mended: list[Piece] = []
    for piece in pieces:
        if mended and mended[-1].block.asked != piece.block.asked:
            mended = _as_prefill(draft, mended)
        mended.append(piece)
    return mended


def _as_prefill(draft: AnthropicDraft, pieces: list[Piece]) -> list[Piece]:
    """Return pieces that end with words, if a request ended with them."""
    if _goes_on(draft, pieces):
        return pieces
    return ending_with_words(draft, pieces, "R11", _without_space)


def _without_space(piece: Piece) -> Piece | None:
    """Return the piece as it may come last; None where it may not."""
    if piece.type in THINKING:
        return None
    text = piece.value.get("text")
    if piece.type != "text" or not isinstance(text, str) or text == text.rstrip():
        return piece
    stripped = text.rstrip()
    return Piece({**piece.value, "text": stripped}, piece.block) if stripped else None


def _goes_on(draft: AnthropicDraft, pieces: list[Piece]) -> bool:
    """Whether the provider itself goes on with a turn that ends so.

    It pauses amid its own tools only: of a turn that holds none of them any more, it would not know.
    """
    if not pieces:
        return False
    if pieces[-1].type in SERVER_CALLS or pieces[-1].type == "compaction":
        return True
    block = pieces[-1].block
    if (
        block.response is None
        or not draft.history.responses.of(block.response, block.asked).is_paused
    ):
        return False
    return any(piece.type in SERVER_CALLS or is_server_result(piece.type) for piece in pieces)


# Cache marks: at most four, placed by where things stand, never by what was sent before (R16).

_CACHED: Final = {"type": "ephemeral"}
_MARKABLE: Final = frozenset({"text", "image", "document", "tool_result", "search_result"})
_TURNS: Final = 2


def place_marks(draft: AnthropicDraft) -> None:
    """Mark the ends of the tools, of the instructions, and of the user's last two turns.

    The mark of the turn before the last finds what the last request cached. Thinking and empty
    texts take no mark: "cache_control cannot be set for empty text blocks".
    """
    if draft.tools:
        draft.tools = [*draft.tools[:-1], _marked(draft.tools[-1])]
    if isinstance(draft.system, str):
        draft.system = [{"type": "text", "text": draft.system}]
    if draft.system:
        draft.system = [*draft.system[:-1], _marked(draft.system[-1])]
    users = [index for index, message in enumerate(draft.messages) if message.role == "user"]
    for index in users[-_TURNS:]:
        draft.messages[index] = _with_mark(draft.messages[index])


def _with_mark(message: Message) -> Message:
    content = list(message.content)
    for place in range(len(content) - 1, -1, -1):
        if kind_of(content[place]) in _MARKABLE:
            content[place] = _marked(content[place])
            break
    return replace(message, content=content)


def _marked(value: JsonObject) -> dict[str, Any]:
    return {**value, MARK: dict(_CACHED)}


_IN_PLAY: Final = SERVER_CALLS | THINKING | {"system", "blank", "empty"}
"""What lets one rule leave out what another rests on."""


_TYPE_AND_TEXT: Final = 2
"""How many members a block of text has, as most do; others hold lists, such as its citations."""


def render(history: History, options: Options, blobs: Mapping[str, bytes]) -> Request:
    """Return the arguments `system`, `tools`, `messages` and `container`, those that there are.

    `blobs` holds the bytes of `needed_blobs`, by digest. Raises NothingToSend for a history without
    turns, CorruptRecord where a blob is missing. What is sent is copied as it is drafted, so that no
    event has a part in the request.
    """
    draft = _draft(history, options, blobs)
    _obey(draft)
    if not draft.messages:
        raise nothing_to_send(options)
    if options.cache:
        place_marks(draft)
    arguments: dict[str, Any] = {
        "system": draft.system,
        "tools": draft.tools,
        "messages": [
            {"role": message.role, "content": message.content} for message in draft.messages
        ],
        "container": _container(draft),
    }
    return draft.request(present(arguments), is_own=True)


def _container(draft: AnthropicDraft) -> str | JsonObject | None:
    """Return the container that code goes on in, and the skills that it has."""
    if not draft.skills:
        return draft.container
    return present({"id": draft.container, "skills": draft.skills})


def _draft(history: History, options: Options, blobs: Mapping[str, bytes]) -> AnthropicDraft:
    container = container_of(history, options)
    skills: list[JsonObject] = []
    if history.tools:
        skills = copied(skills_of(history.tools.tools, read.NAME))
    draft = AnthropicDraft(history, options, blobs, container=container, skills=skills)
    encoder = Encoder(draft)
    draft.system = instructions_of(draft)
    draft.tools = copied(tools_of(draft))
    draft.messages = [_plain(turn) or _encoded(turn, encoder, draft) for turn in history.turns]
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
        value: JsonObject = {"type": "text", "text": plain["text"]}
    elif plain["kind"] != "native" or plain["api"] != read.NAME:
        return None
    else:
        native: JsonObject = plain["value"]
        if (
            native.get("type") != "text"
            or MARK in native
            or not isinstance(native.get("text"), str)
        ):
            return None
        value = {**native} if len(native) == _TYPE_AND_TEXT else copied(native)
    text: str = value["text"]
    return Message(role, [value], blocks) if text and not text.isspace() else None


def _encoded(turn: Turn, encoder: Encoder, draft: AnthropicDraft) -> Message:
    message = encoder.encode(turn)
    for value in message.content:
        draft.types.add("blank" if is_blank(value) else kind_of(value))
        if CALLER in value:
            draft.types.add(CALLER)
    draft.types.add(turn.role)
    if not message.content:
        draft.types.add("empty")
    return Message(message.role, copied(message.content), message.blocks)


def _obey(draft: AnthropicDraft) -> None:
    """Apply the rules that concern more than one block, where there is such a block at all.

    What one rule leaves out may be what another rests on, so they are applied until none objects.
    """
    types = draft.types
    if "compaction" in types:
        begin_at_compaction(draft)
    if FALLBACK in types:
        leave_out_declined(draft)
    if "blank" in types:
        drop_blank_text(draft)
    if not types.isdisjoint((FALLBACK, "compaction", "blank", "empty")):
        draft.messages = joined(draft.messages)
    size = -1
    while size != (size := _size(draft)):
        _pair_and_place(draft)
    if UPLOAD in types:
        note_inert_uploads(draft)


def _size(draft: AnthropicDraft) -> int:
    """Return how many blocks a draft has; 0 where no rule can leave any out."""
    if draft.types.isdisjoint(_IN_PLAY) and not any(map(is_server_result, draft.types)):
        return 0
    return sum(len(message.content) for message in draft.messages)


def _is_called_by_code(draft: AnthropicDraft) -> bool:
    """Whether code called a tool, which may have gone without its calls (a turn recorded in part)."""
    if not draft.types.issuperset(("tool_use", CALLER)):
        return False
    return any(
        code_of(value) is not None
        for message in draft.messages
        if message.role == "assistant"
        for value in message.content
    )


def _pair_and_place(draft: AnthropicDraft) -> None:
    types = draft.types
    if types & SERVER_CALLS or any(map(is_server_result, types)) or _is_called_by_code(draft):
        pair_server_tools(draft)
        draft.messages = joined(draft.messages)
    if "system" in types:
        place_notes(draft)
        draft.messages = joined(draft.messages)
    if not types.isdisjoint((REFERENCE, SEARCH_RESULT)):
        mend_references(draft)
    mend_endings(draft)
    if types & THINKING:
        check_signed(draft)
        draft.messages = joined(draft.messages)


API: Final = Api(
    name=read.NAME,
    messages="messages",
    reader=Reader(
        read.block,
        read.instructions,
        read.tool,
        partial=read.partial,
        replay=read.replay,
    ),
    render=render,
    # platform.claude.com, "Messages": `usage`.
    usage=UsagePlaces(
        cached=(("usage", "cache_read_input_tokens"),),
        cache_writes=(("usage", "cache_creation_input_tokens"),),
        reasoning=(("usage", "output_tokens_details", "thinking_tokens"),),
    ),
)
