"""Whether a request goes on from what is recorded, and which of its blocks are new then.

For programs that keep their own history. A block equals a recorded one if both say the same:
nulls, the order of keys and cache marks do not count, a string equals one text block. Results
are found by the id of their call, for tools finish in any order; all else keeps its order.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias, assert_never, cast

from hansard.domain import events
from hansard.domain.blobs import restore
from hansard.domain.content import Document, Native, Reasoning, Text, ToolCall, ToolResult
from hansard.domain.errors import InvalidContent
from hansard.domain.events import Event
from hansard.domain.jsontext import JsonObject
from hansard.domain.prefix import Prefix, canonical, encoded
from hansard.domain.tools import ToolDefinition
from hansard.projections.unfinished import text_blocks

Content: TypeAlias = Native | Text | Document | Reasoning | ToolCall | ToolResult


class Piece(NamedTuple):
    """A block of a request: the place of its message, who says it, and its JSON.

    `encoded` is what it adds to a digest.
    """

    message: int
    role: str
    block: JsonObject
    encoded: bytes


@dataclass(frozen=True, slots=True)
class Since:
    """What the main line has after its last request.

    `answered` are the blocks of the response, `broken_off` texts amid which it ended, `said` what
    the caller said, `results` what tools gave, by call. `is_answered` says that a response came whole; the blocks of one that did not
    may be missing in the next request.
    """

    answered: tuple[Content, ...] = ()
    broken_off: tuple[Content, ...] = ()
    said: tuple[Content, ...] = ()
    results: Mapping[str, Content] = field(default_factory=dict[str, Content])
    is_answered: bool = False


def since(recorded: Iterable[Event]) -> Since:
    """Return what events after a request say; those on side lines say nothing here."""
    answered: list[Content] = []
    broken_off: list[Content] = []
    said: list[Content] = []
    results: dict[str, Content] = {}
    is_answered = False
    for event in recorded:
        match event:
            case _ if event.line is not None:
                continue
            case events.MessageRecorded(role="assistant"):
                answered += event.content
            case events.MessageRecorded():
                said += event.content
            case events.ToolResultRecorded():
                results[event.call_id] = event.content
            case (
                events.ReasoningRecorded()
                | events.ToolCallRecorded()
                | events.ServerToolCallRecorded()
                | events.ServerToolResultRecorded()
                | events.CompactionRecorded()
                | events.OpaqueRecorded()
            ):
                answered.append(event.content)
            case events.ResponseCompleted() | events.ResponseInterrupted():
                is_answered = is_answered or isinstance(event, events.ResponseCompleted)
                broken_off += text_blocks(event)
            case _:
                continue
    return Since(tuple(answered), tuple(broken_off), tuple(said), results, is_answered)


def pieces(messages: Sequence[JsonObject]) -> list[Piece]:
    """Return the blocks of a request's messages, in order; a string is one text block.

    Raises InvalidContent where a message is none.
    """
    return [
        Piece(place, _role(message), block, encoded(_role(message), block))
        for place, message in enumerate(messages)
        for block in _blocks(message.get("content"))
    ]


def digest_of(sent: Iterable[Piece], prefix: Prefix | None = None) -> str:
    """Return the digest of blocks, of these alone or behind a prefix, which goes on by them."""
    digest = prefix or Prefix()
    for piece in sent:
        digest.add_encoded(piece.encoded)
    return digest.digest()


def new_pieces(
    sent: Sequence[Piece], recorded: Since, blobs: Mapping[str, bytes]
) -> list[Piece] | None:
    """Return the blocks of a request that are not recorded yet; None if it does not go on so.

    `sent` are its blocks after those of the request before it.
    """
    rest = _after_answer(sent, recorded, blobs)
    if rest is None:
        return None
    waiting = list(recorded.said)
    results = dict(recorded.results)
    new: list[Piece] = []
    for piece in rest:
        call = _answers(piece)
        if call is not None and call in results:
            if not equal(results.pop(call), piece.block, blobs):
                return None
        elif call is None and piece.role != "assistant" and waiting:
            if not equal(waiting.pop(0), piece.block, blobs):
                return None
        else:
            new.append(piece)
    return None if waiting or results else new


def messages_of(new: Sequence[Piece], messages: Sequence[JsonObject]) -> list[JsonObject]:
    """Return messages that hold just these blocks; a message of which all is new as it was."""
    counts: dict[int, list[Piece]] = {}
    for piece in new:
        counts.setdefault(piece.message, []).append(piece)
    return [_message(messages[place], held) for place, held in counts.items()]


def equal(recorded: Content, sent: JsonObject, blobs: Mapping[str, bytes]) -> bool:
    """Return whether a block of a request says what is recorded."""
    plain = normal(sent)
    match recorded:
        case Native():
            return normal(restore(recorded.value, blobs)) == plain
        case Text():
            return plain == {"type": "text", "text": recorded.text}
        case Document():
            return _holds(sent, recorded)
        case ToolResult():
            return _gives(sent, recorded, blobs)
        case ToolCall():
            return plain == {
                "type": "tool_use",
                "id": recorded.id,
                "name": recorded.name,
                "input": recorded.arguments,
            }
        case Reasoning():
            return sent.get("type") == "thinking" and sent.get("thinking") == recorded.text
        case _:
            assert_never(recorded)


def normal(block: JsonObject) -> JsonObject:
    """Return a block without nulls and cache marks, a result's content always a list."""
    plain: JsonObject = canonical(block)
    if plain.get("type") != "tool_result":
        return plain
    plain["content"] = canonical(_blocks(block.get("content")))
    if plain.get("is_error") is False:
        del plain["is_error"]
    return plain


def same_instructions(
    recorded: events.InstructionsSet | None, sent: Any, blobs: Mapping[str, bytes]
) -> bool:
    """Return whether a request's `system` is what is in force; none is the same as a blank."""
    return bool(canonical(_blocks(sent or None)) == canonical(_instructions(recorded, blobs)))


def same_tools(
    recorded: events.ToolsDefined | None,
    sent: Sequence[JsonObject] | None,
    blobs: Mapping[str, bytes],
) -> bool:
    """Return whether a request's `tools` are those in force."""
    in_force = [_tool(tool, blobs) for tool in recorded.tools] if recorded else []
    return bool(canonical(in_force) == canonical(list(sent or [])))


def _after_answer(
    sent: Sequence[Piece], recorded: Since, blobs: Mapping[str, bytes]
) -> Sequence[Piece] | None:
    """Return what follows the response's blocks; None if these are not sent as they came."""
    answer = recorded.answered
    for wanted in ((*answer, *recorded.broken_off), answer):
        begun = sent[: len(wanted)]
        if len(begun) == len(wanted) and all(
            piece.role == "assistant" and equal(block, piece.block, blobs)
            for piece, block in zip(begun, wanted, strict=True)
        ):
            return sent[len(wanted) :]
    left_out = not sent or sent[0].role != "assistant"
    return sent if left_out and not recorded.is_answered else None


def _answers(piece: Piece) -> str | None:
    """Return the call that a block is the result of, if it is one."""
    call = piece.block.get("tool_use_id")
    is_result = piece.role == "user" and piece.block.get("type") == "tool_result"
    return call if is_result and isinstance(call, str) else None


def _message(message: JsonObject, held: Sequence[Piece]) -> JsonObject:
    content = message.get("content")
    if len(held) == len(_blocks(content)):
        return message
    return {**message, "content": [piece.block for piece in held]}


def _instructions(
    recorded: events.InstructionsSet | None, blobs: Mapping[str, bytes]
) -> list[JsonObject]:
    match recorded.content if recorded else "":
        case str() as text:
            return _blocks(text or None)
        case Text() as block:
            return _blocks(block.text or None)
        case Native() as native:
            return _blocks(restore(native.value, blobs).get("system"))


def _tool(tool: ToolDefinition | Native, blobs: Mapping[str, bytes]) -> JsonObject:
    if isinstance(tool, Native):
        return cast("JsonObject", restore(tool.value, blobs))
    return {
        "name": tool.name,
        "description": tool.description,
        "input_schema": tool.input_schema,
    }


def _gives(sent: JsonObject, recorded: ToolResult, blobs: Mapping[str, bytes]) -> bool:
    content = _blocks(sent.get("content"))
    return (
        sent.get("type") == "tool_result"
        and bool(sent.get("is_error")) == recorded.is_error
        and len(content) == len(recorded.content)
        and all(
            equal(held, block, blobs) for held, block in zip(recorded.content, content, strict=True)
        )
    )


def _holds(sent: JsonObject, document: Document) -> bool:
    match sent.get("source"):
        case {"type": "url", "url": str(url)}:
            return url == document.url
        case {"type": "base64", "data": str(data)} if document.blob:
            return _sha256(base64.b64decode(data)) == document.blob.sha256
        case {"type": "text", "data": str(text)} if document.blob:
            return _sha256(text.encode("utf-8", "surrogatepass")) == document.blob.sha256
        case _:
            return False


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _role(message: JsonObject) -> str:
    role = message.get("role")
    if not isinstance(role, str):
        raise InvalidContent("a message is said by nobody: give it a `role`")
    return role


def _blocks(content: Any) -> list[JsonObject]:
    """Return content as blocks: nothing is none, a string is one text."""
    match content:
        case None:
            return []
        case str():
            return [{"type": "text", "text": content}]
        case list() if all(isinstance(block, dict) for block in cast("list[Any]", content)):
            return cast("list[JsonObject]", content)
        case _:
            raise InvalidContent("`content` is no list of blocks: send it as the API spells it")
