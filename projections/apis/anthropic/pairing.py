"""What an Anthropic message may hold, and in which order its neighbours stand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, cast

from onrecord.domain.content import ServerToolCall, ServerToolResult
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.api import neutral_of
from onrecord.projections.apis.answers import words_for_nothing
from onrecord.projections.apis.anthropic.draft import (
    API,
    SERVER_CALLS,
    TOOLSET,
    AnthropicDraft,
    Message,
    Piece,
    code_of,
    is_blank,
    is_server_result,
    kind_of,
    message_of,
    stopped_code,
    text_member,
)
from onrecord.projections.apis.foreign import words_of
from onrecord.projections.history.responses import Place

_CHANGES: Final = frozenset({"tool_addition", "tool_removal"})
"""Directives of the operator's that stand in no message but one of role `system`."""

_NOTED: Final = _CHANGES | {"text"}


def place_notes(draft: AnthropicDraft) -> None:
    """Put the operator's notes where they may stand: after the user's turn, before the answer.

    R21: a message of role `system` is accepted only immediately before an assistant's turn or at
    the end, and must follow a user's. It holds text and changes of tools (beta, "mid-conversation
    tool changes"). Where no user's turn precedes, text goes as one; a change of tools cannot.
    """
    placed: list[Message] = []
    notes: list[Piece] = []
    for message in draft.messages:
        if message.role == "assistant":
            _settle(draft, placed, notes)
            notes = []
            placed.append(message)
        elif message.role == "system":
            notes += _notes(draft, message.pieces)
        else:
            for piece in notes:
                why = "the operator's note stands after the user's turn"
                draft.note("moved", "R21", piece.block.version, why)
            placed.append(message)
    _settle(draft, placed, notes)
    draft.messages = placed


def _notes(draft: AnthropicDraft, pieces: list[Piece]) -> list[Piece]:
    for piece in pieces:
        if piece.type not in _NOTED:
            why = "a note of the operator's may only hold text and changes of tools"
            draft.leave_out("R21", piece.block, why)
    return [piece for piece in pieces if piece.type in _NOTED]


def _settle(draft: AnthropicDraft, placed: list[Message], notes: list[Piece]) -> None:
    """Place notes at the end of what is placed."""
    if not notes:
        return
    if placed and placed[-1].role == "user":
        placed.append(message_of("system", notes))
        return
    texts = [piece for piece in notes if piece.type == "text"]
    changes = [piece for piece in notes if piece.type in _CHANGES]
    for piece in texts:
        why = "the operator's note follows no user's turn, so it goes as one"
        draft.note("translated", "R21", piece.block.version, why)
    if texts:
        placed += [message_of("user", texts), message_of("system", changes)]
        return
    for piece in changes:
        draft.leave_out("R21", piece.block, "a change of tools stands only after a user's turn")


def drop_blank_text(draft: AnthropicDraft) -> None:
    """Leave out blank text (R10).

    "messages: text content blocks must be non-empty" for an empty one; "messages: text content
    blocks must contain non-whitespace text" for a blank one, unless another text of the same
    response or message is not blank.
    """
    draft.messages = [
        message_of(message.role, _worded(draft, message.pieces)) for message in draft.messages
    ]


def _worded(draft: AnthropicDraft, pieces: list[Piece]) -> Iterable[Piece]:
    worded = {
        _source(piece) for piece in pieces if piece.type == "text" and not is_blank(piece.value)
    }
    for piece in pieces:
        if is_blank(piece.value) and not (piece.value["text"] and _source(piece) in worded):
            draft.leave_out_blank(piece.block)
        else:
            yield piece


def _source(piece: Piece) -> str | Place:
    return piece.block.response or piece.block.place


# Calls of Anthropic's own tools and their results, in pairs over the whole history.
#
# A result may come in a later message than its call: the turn was paused, or the caller's own
# tools were called meanwhile.

_ADVISOR = "advisor"


def pair_server_tools(draft: AnthropicDraft) -> None:
    """Leave out calls and results of Anthropic's own tools that lack the other half.

    R2: "Each `..._tool_result` block must have a corresponding `server_tool_use` block before it."
    R3: "... was found without a corresponding ..._tool_result block"; accepted while every message
    after the call's holds only tool results, or is an answer with calls that its code made. R13: then
    the code needs its container. R14: an advisor's blocks need the advisor's tool.
    """
    pairs = _Pairs(draft)
    draft.messages = [
        message_of(message.role, filter(None, map(pairs.kept, message.pieces)))
        for message in draft.messages
    ]


class _Pairs:
    """Which calls and results of a draft stay, in the order in which they stand."""

    def __init__(self, draft: AnthropicDraft) -> None:
        self._draft = draft
        self._whole = _answered(draft.messages)
        self._stopped = stopped_code(draft)
        self._advised = set[str | None]() if _has_advisor(draft) else _advised(draft.messages)
        self._seen: set[str | None] = set()
        self._called: set[str | None] = set()

    def kept(self, piece: Piece) -> Piece | None:
        """Return the piece as it goes, or None."""
        kind = piece.type
        if kind in SERVER_CALLS and not self._stays(piece):
            return None
        if is_server_result(kind) and not self._is_called(piece):
            return None
        return self._without_caller(piece) if "caller" in piece.value else piece

    def _stays(self, call: Piece) -> bool:
        call_id = text_member(call.value, "id")
        if call_id in self._advised:
            self._draft.leave_out("R14", call.block, "the advisor is not among the tools")
        elif call_id in self._seen:
            self._draft.leave_out("R15", call.block, "an earlier call has the same id")
        elif call_id not in self._whole:
            self._draft.leave_out(
                "R3", call.block, "a call of the provider's own tool has no result"
            )
        elif call_id in self._stopped:
            self._draft.leave_out("R13", call.block, "the container of the code in flight is gone")
        else:
            self._seen.add(call_id)
            self._called.add(call_id)
            return True
        return False

    def _is_called(self, result: Piece) -> bool:
        call_id = text_member(result.value, "tool_use_id")
        if call_id in self._called:
            self._called.discard(call_id)
            return True
        rule = "R14" if call_id in self._advised else "R2"
        self._draft.leave_out(rule, result.block, "a result of the provider's own tool has no call")
        return False

    def _without_caller(self, piece: Piece) -> Piece:
        """Return the piece without the code that made its call, if that does not go."""
        code = code_of(piece.value)
        if code is None or code in self._seen:
            return piece
        self._draft.note("repaired", "R3", piece.block.version, "the caller of the call is gone")
        return Piece({k: v for k, v in piece.value.items() if k != "caller"}, piece.block)


def _answered(messages: Sequence[Message]) -> set[str | None]:
    """Return the ids of the calls that have their result, or may still get it."""
    waiting: set[str | None] = set()
    answered: set[str | None] = set()
    for message in messages:
        if message.role != "assistant":
            if any(value.get("type") != "tool_result" for value in message.content):
                waiting.clear()
            continue
        running: set[str | None] = set()
        for value in message.content:
            kind = kind_of(value)
            if kind in SERVER_CALLS and (call_id := text_member(value, "id")) is not None:
                running.add(call_id)
                waiting.add(call_id)
            elif (
                is_server_result(kind) and (call_id := text_member(value, "tool_use_id")) in waiting
            ):
                answered.add(call_id)
            if "caller" in value:
                running.add(code_of(value))
        # Once the assistant spoke again without it, the service no longer takes the call; code
        # that goes on calling tools is still running.
        waiting &= running
    return answered | waiting


def _advised(messages: Sequence[Message]) -> set[str | None]:
    return {
        text_member(piece.value, "id")
        for message in messages
        for piece in message.pieces
        if piece.type == "server_tool_use" and piece.value.get("name") == _ADVISOR
    }


def _has_advisor(draft: AnthropicDraft) -> bool:
    return any(str(tool.get("type", "")).startswith(_ADVISOR) for tool in draft.tools or ())


# References to tools in a request to Anthropic: what a search found, and is among the tools
# (R14).
#
# "Tool reference '...' has no corresponding tool definition"; `tool_reference_unresolved` among
# the SDK's error codes. A tool is defined in `tools`, or amid the conversation by an addition
# that holds its definition (beta, "mid-conversation tool changes"). The tools of an MCP server
# are known to the service alone, so nothing is said of references where one is connected.

REFERENCE: Final = "tool_reference"
SEARCH_RESULT: Final = "tool_search_tool_result"


def mend_references(draft: AnthropicDraft) -> None:
    """Leave out references to tools that are not defined before them.

    A result of the caller's that then holds nothing says so. A search of the service's own goes
    as words then, its call too: a result without references is refused.
    """
    if any(tool.get("type") == TOOLSET for tool in draft.tools or ()):
        return
    mended = _Mended(draft)
    draft.messages = [
        message_of(message.role, map(mended.piece, message.pieces)) for message in draft.messages
    ]
    draft.messages = [
        message_of(message.role, map(mended.as_words, message.pieces)) for message in draft.messages
    ]


class _Mended:
    """The tools that are defined so far, and the searches that found none of them."""

    def __init__(self, draft: AnthropicDraft) -> None:
        self._draft = draft
        names: Iterable[Any] = (tool.get("name") for tool in draft.tools or ())
        self._defined = {name for name in names if isinstance(name, str)}
        self._barren: set[str] = set()

    def piece(self, piece: Piece) -> Piece:
        """Return a piece without references to unknown tools; call it for each in order."""
        match piece.value:
            case {"type": "tool_addition", "tool": {"name": str(name)} as tool}:
                self._defined |= set() if kind_of(tool) == REFERENCE else {name}
                return piece
            case {"type": "tool_result", "content": [*parts]}:
                return self._result(piece, parts)
            case {
                "type": "tool_search_tool_result",
                "tool_use_id": str(call_id),
                "content": {"tool_references": [*references]} as content,
            }:
                return self._search(piece, call_id, content, references)
            case _:
                return piece

    def as_words(self, piece: Piece) -> Piece:
        """Return a piece, or words for it if it is half of a search that found nothing."""
        link = piece.value.get("tool_use_id" if piece.type == SEARCH_RESULT else "id")
        if not (isinstance(link, str) and link in self._barren):
            return piece
        neutral = neutral_of(API, piece.value)
        if not isinstance(neutral, ServerToolCall | ServerToolResult):
            return piece
        why = "a search for tools that are gone goes as words"
        self._draft.note("translated", "R14", piece.block.version, why)
        return Piece({"type": "text", "text": words_of(neutral)}, piece.block)

    def _result(self, piece: Piece, parts: list[Any]) -> Piece:
        rest = list(self._kept(piece, parts))
        if len(rest) == len(parts):
            return piece
        words = words_for_nothing(is_error=piece.value.get("is_error") is True)
        content = rest or [{"type": "text", "text": words}]
        return Piece({**piece.value, "content": content}, piece.block)

    def _search(
        self, piece: Piece, call_id: str, content: JsonObject, references: list[Any]
    ) -> Piece:
        rest = list(self._kept(piece, references))
        if len(rest) == len(references):
            return piece
        if not rest:
            self._barren.add(call_id)
            return piece
        return Piece({**piece.value, "content": {**content, "tool_references": rest}}, piece.block)

    def _kept(self, piece: Piece, parts: Iterable[Any]) -> Iterator[Any]:
        for part in parts:
            name = _referred(part)
            if name is None or name in self._defined:
                yield part
            else:
                self._draft.leave_out("R14", piece.block, f"{name} is not among the tools any more")


def _referred(part: Any) -> str | None:
    """Return the name of the tool that a part refers to; None for any other part."""
    if not isinstance(part, dict):
        return None
    value = cast("JsonObject", part)
    name = value.get("tool_name")
    return name if kind_of(value) == REFERENCE and isinstance(name, str) else None
