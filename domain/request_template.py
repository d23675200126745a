"""What a request was made of: its body by reference to what is stored, and the recipe of it."""

import hashlib
from collections.abc import Iterable
from typing import Annotated, Any, Literal, cast
from uuid import UUID

from pydantic import Discriminator

from onrecord.domain import jsontext
from onrecord.domain.content import Blob, Value
from onrecord.domain.jsontext import JsonObject

RULES = 1
"""The number of the rules by which this release renders; a rule that changes bytes raises it."""


class LiteralSpan(Value):
    """A span of a request that is kept as its own text (secrets cut)."""

    kind: Literal["literal"] = "literal"
    text: str


class ContentSpan(Value):
    """A span of a request that stands in an event's body: the compact JSON of a value there.

    `pointer` says which value (a JSON pointer, RFC 6901). So what was said is stored once, and a
    request can be joined by any release, whatever renders it now.
    """

    kind: Literal["content"] = "content"
    event: UUID
    pointer: str


class SharedSpan(Value):
    """A span of a request that stands in an earlier request's body: bytes [start, start + size)."""

    kind: Literal["shared"] = "shared"
    request: UUID
    start: int
    size: int


class BlobSpan(Value):
    """A span of a request that is held in a blob, as it is."""

    kind: Literal["blob"] = "blob"
    blob: Blob


class EncodedSpan(Value):
    """A span of a request that is a blob's bytes in standard base64 (RFC 4648)."""

    kind: Literal["base64"] = "base64"
    blob: Blob


Span = Annotated[
    LiteralSpan | ContentSpan | SharedSpan | BlobSpan | EncodedSpan, Discriminator("kind")
]
"""A part of a request's template; joined in order, the spans are the body that was sent."""


class Recipe(Value):
    """How `conversation.request` made a request: enough to make it again, byte for byte.

    `rules` is the number of the rules that held for what had not been sent before.
    """

    api: str
    version: int
    options: JsonObject
    renderer: str
    rules: int = 1


class Template(Value):
    """The body of a request, by reference to what is stored already; secrets are cut."""

    spans: tuple[Span, ...]
    sha256: str
    size: int
    cut: tuple[str, ...] = ()


# The digest of what a response was made under: instructions, tools, and all blocks before it.
#
# Signed and encrypted blocks are valid only behind the same prefix (Anthropic: "prefix checks"),
# so each recorded request keeps this digest, and rendering compares it with what is about to be
# sent. Messages are digested block by block, for providers merge neighbours of one role: two user
# messages of a block each are the same prefix as one message of both. Nulls, the order of keys
# and cache marks do not count; a string counts as one text block.

MARK = "cache_control"
"""The key of a cache mark; it directs the provider's cache and is no part of the prefix."""


class Prefix:
    """A running digest: begin with instructions and tools, add the blocks, ask at any block.

    `blocks` is how many blocks were added.
    """

    def __init__(self, system: Any = None, tools: Any = None) -> None:
        """Begin with the instructions and the tools in force.

        Instructions are text, a list of blocks, an API's own object of them, or None.
        """
        self.blocks = 0
        if system is None and not tools:
            self._hash = _NOTHING_IN_FORCE.copy()
            return
        self._hash = hashlib.sha256(encoded("system", _as_blocks(system)))
        self._hash.update(encoded("tools", tools or []))

    def add(self, role: str, content: Any) -> None:
        """Add the content of a message: a string, or a list of blocks."""
        for block in _as_blocks(content):
            self.add_encoded(encoded(role, block))

    def add_encoded(self, block: bytes) -> None:
        """Add a block as `encoded` made it."""
        self._hash.update(block)
        self.blocks += 1

    def copy(self) -> "Prefix":
        """Return a digest that goes on from here by itself."""
        copied = Prefix.__new__(Prefix)
        copied._hash = self._hash.copy()
        copied.blocks = self.blocks
        return copied

    def digest(self) -> str:
        """Return the digest of all that was added so far, in hex."""
        return self._hash.copy().hexdigest()


def encoded(label: str, value: Any) -> bytes:
    """Return what a block of a role adds to a digest: made once, it serves several."""
    data = jsontext.write_canonical(canonical(value))
    return b"%s:%d:%s" % (label.encode("utf-8", "surrogatepass"), len(data), data)


def canonical(value: Any) -> Any:
    """Return the value without nulls and cache marks."""
    match value:
        case dict():
            members = cast("dict[str, Any]", value).items()
            return {k: canonical(v) for k, v in members if v is not None and k != MARK}
        case list() | tuple():
            return [canonical(item) for item in cast("Iterable[Any]", value)]
        case _:
            return value


_NOTHING_IN_FORCE = hashlib.sha256(encoded("system", []) + encoded("tools", []))
"""What many begin with: those digests that say what was said alone begin so, always."""


def _as_blocks(content: Any) -> list[Any]:
    match content:
        case None:
            return []
        case str():
            return [{"type": "text", "text": content}]
        case dict():
            return [content]
        case _:
            return list(content)
