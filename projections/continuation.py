"""What a request says block by block, and the digest that its beginning is known by."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, cast

from onrecord.domain.errors import InvalidContent
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.prefix import Prefix, encoded


class Piece(NamedTuple):
    """A block of a request: the place of its message, who says it, and its JSON.

    `encoded` is what it adds to a digest. `call` is the id under which a call, or a result, is
    recorded where its own JSON has none.
    """

    message: int
    role: str
    block: JsonObject
    encoded: bytes
    call: str | None = None


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


def digests_of(sent: Sequence[Piece]) -> list[str]:
    """Return the digests of the first blocks: of none, of one, and so on, up to all of them."""
    digest = Prefix()
    digests = [digest.digest()]
    for piece in sent:
        digest.add_encoded(piece.encoded)
        digests.append(digest.digest())
    return digests


def messages_of(new: Sequence[Piece], messages: Sequence[JsonObject]) -> list[JsonObject]:
    """Return messages that hold just these blocks; a message of which all is new as it was."""
    counts: dict[int, list[Piece]] = {}
    for piece in new:
        counts.setdefault(piece.message, []).append(piece)
    return [_message(messages[place], held) for place, held in counts.items()]


def _message(message: JsonObject, held: Sequence[Piece]) -> JsonObject:
    content = message.get("content")
    if len(held) == len(_blocks(content)):
        return message
    return {**message, "content": [piece.block for piece in held]}


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
