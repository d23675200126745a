"""The messages of a request as pieces, whatever API it is of: what each is, and what it says.

Units (`units.py`) are the same or not: they find what a program sends back as it was recorded. What is
rendered for another API says the same in other words, so it is looked for by the texts that it shares.
"""

from __future__ import annotations

import hashlib
from base64 import b64decode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, cast

from onrecord.domain import jsontext
from onrecord.domain.blobs import referenced
from onrecord.domain.errors import MalformedJson

PieceKind: TypeAlias = Literal["text", "call", "result", "reasoning", "document", "server tool"]
"""What a piece is. `server tool`: what only its own provider reads, such as a search that it ran."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a message as the body has it; `role` is whose message it is."""

    message: int
    role: str
    kind: PieceKind
    value: Any


_KINDS: Final[Mapping[str, PieceKind]] = {
    **dict.fromkeys(("text", "input_text", "output_text", "refusal"), "text"),
    **dict.fromkeys(("tool_use", "function_call", "custom_tool_call", "tool_call"), "call"),
    **dict.fromkeys(("toolUse", "functionCall", "function", "custom"), "call"),
    **dict.fromkeys(("tool_result", "function_call_output", "custom_tool_call_output"), "result"),
    **dict.fromkeys(("toolResult", "functionResponse", "function_response"), "result"),
    **dict.fromkeys(("thinking", "redacted_thinking", "reasoning"), "reasoning"),
    **dict.fromkeys(("reasoningContent", "thought"), "reasoning"),
    **dict.fromkeys(("image", "document", "video", "audio", "file", "inlineData"), "document"),
    **dict.fromkeys(("fileData", "image_url", "input_image", "input_file"), "document"),
    **dict.fromkeys(("input_audio", "container_upload"), "document"),
}
"""What a piece is, by its type; where it has none, by the name of a member."""

_LISTS: Final[Mapping[str, PieceKind | None]] = {
    "reasoning_content": "reasoning",
    "thinking": "reasoning",
    "content": None,
    "refusal": "text",
    "parts": None,
    "images": "document",
    "audio": "document",
    "function_call": "call",
    "tool_calls": "call",
}
"""The members of a message that hold its pieces, in order; None: each piece says what it is."""

_OWN_WORDS: Final = frozenset(
    {"type", "role", "kind", "api", "media_type", "mimeType", "mime_type", "format", "status"}
)
"""Members whose texts are an API's own words: they tell no two pieces apart."""

_IDS: Final = ("tool_use_id", "call_id", "tool_call_id", "toolUseId", "id")


def message_pieces(messages: list[Any]) -> Iterator[Piece]:
    """Yield the pieces of the messages of a request's body, in order."""
    for number, message in enumerate(messages):
        yield from _of_message(number, message)


def kind_of(value: Any) -> PieceKind:
    """Return what a piece is, whichever API it is of."""
    if not isinstance(value, dict):
        return "text"
    members = cast("dict[str, Any]", value)
    own = members.get("type")
    if isinstance(own, str):
        return _KINDS.get(own, "server tool")
    if members.get("thought") is True:
        return "reasoning"
    names = [name for name in members if name in _KINDS and name != "thought"]
    return _KINDS[names[0]] if names else "server tool"


def id_of(value: Any) -> str | None:
    """Return the id of the call that a piece makes or answers; None where it bears none."""
    if not isinstance(value, dict):
        return None
    members = cast("dict[str, Any]", value)
    inner = [cast("dict[str, Any]", each) for each in members.values() if isinstance(each, dict)]
    holders = [members, *inner]
    found = (holder.get(name) for holder in holders for name in _IDS)
    return next((each for each in found if isinstance(each, str) and each), None)


def tokens_of(value: Any) -> frozenset[str]:
    """Return what tells a value from others: its texts, and the digests of what it holds.

    The stored form of a block and the form on an API's wire share them.
    """
    tokens: set[str] = {blob.sha256 for blob in referenced(value)}
    for text in texts_in(value):
        tokens.add(text)
        tokens.update(_digests(text))
    return frozenset(tokens)


def texts_in(value: Any, name: str = "") -> Iterator[str]:
    """Yield the texts that a value holds, without an API's own words; those in a JSON text, too."""
    match value:
        case str() if name not in _OWN_WORDS and value.strip():
            yield value
            yield from texts_in(_json_in(value))
        case dict():
            for member, item in cast("dict[str, Any]", value).items():
                yield from texts_in(item, member)
        case list():
            for item in cast("list[Any]", value):
                yield from texts_in(item, name)
        case _:
            return


def _json_in(text: str) -> Any:
    """Return the object or list that a text is the JSON of, as arguments of calls are; else None."""
    if text[:1] not in ("{", "["):
        return None
    try:
        return jsontext.read(text)
    except MalformedJson:
        return None


def _digests(text: str) -> Iterator[str]:
    """Yield the digests of the bytes that a text may stand for: its own, and those in base64."""
    yield _digest(text.encode("utf-8", "surrogatepass"))
    encoded = text.partition(";base64,")[2] if text.startswith("data:") else text
    try:
        yield _digest(b64decode(encoded, validate=True))
    except ValueError:
        return


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _of_message(number: int, message: Any) -> Iterator[Piece]:
    if not isinstance(message, dict):
        yield Piece(number, "user", "text", message)
        return
    members = cast("dict[str, Any]", message)
    role = members.get("role")
    if not isinstance(role, str):
        kind = kind_of(members)
        yield Piece(number, "user" if kind == "result" else "assistant", kind, members)
        return
    if role == "tool":
        yield Piece(number, role, "result", members)
        return
    yield from list(_of_members(number, role, members)) or [
        Piece(number, role, kind_of(members), members)
    ]


def _of_members(number: int, role: str, members: Mapping[str, Any]) -> Iterator[Piece]:
    for name, own in _LISTS.items():
        member = members.get(name)
        for value in cast("list[Any]", member if isinstance(member, list) else [member]):
            if value is not None and value != "":
                yield Piece(number, role, own or kind_of(value), value)
