"""Units: what a request says block by block, and what a log holds block by block, made comparable.

Two units are the same if they have the same id of the provider's, or say the same: the same text,
the same bytes of a document, the same call with the same arguments, in whatever API's spelling.
So nulls, the order of keys, cache marks, a string for one text, and what an SDK's echo lost do not
count; nor does reasoning in tags beside an answer, and the blanks around it: programs put it there,
or take it out. A result is found by its call; with another content it is the same unit, rewritten.
Where calls may have no id on the wire, one is also known by what it asks: SDKs lose ids, or add some.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias, assert_never, cast

from onrecord.domain import content, jsontext
from onrecord.domain.blobs import LIMIT, restore, spill
from onrecord.domain.content import Native, NeutralBlock
from onrecord.domain.errors import InvalidContent
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.request_template import Prefix, canonical, encoded
from onrecord.projections.api import has_call_ids, neutral_of, parts_of
from onrecord.projections.members import standard_base64

# What a request says block by block, and the digest that its beginning is known by.


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


def piece_of(message: int, role: str, block: JsonObject, call: str | None = None) -> Piece:
    """Return a block of a request, with what it adds to a digest."""
    return Piece(message, role, block, encoded(role, block), call)


def pieces(messages: Sequence[JsonObject]) -> list[Piece]:
    """Return the blocks of a request's messages, in order; a string is one text block.

    Raises InvalidContent where a message is none.
    """
    return [
        piece_of(place, _role(message), block)
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
    return [_message(messages[place], pieces_of) for place, pieces_of in counts.items()]


def _message(message: JsonObject, message_pieces: Sequence[Piece]) -> JsonObject:
    content = message.get("content")
    if len(message_pieces) == len(_blocks(content)):
        return message
    return {**message, "content": [piece.block for piece in message_pieces]}


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


RecordedContent: TypeAlias = Native | NeutralBlock

_REASONING: Final = re.compile("<(think|thinking|reasoning)>")
"""Begins reasoning, as models of open weights give it and pydantic-ai sends it back (2.68.0)."""

_SEALS: Final = (
    *("signature", "encrypted_content", "data"),
    *("thoughtSignature", "thought_signature", "redactedContent"),
)
"""Members by which a provider knows its own reasoning again."""

_SEALED: Final = ("reasoningContent", "reasoningText")
"""Members of Bedrock's that hold what has the seal."""

_NO_SEALS: Final = frozenset(
    text
    for token in ("skip_thought_signature_validator", "context_engineering_is_the_way_to_go")
    for text in (token, base64.b64encode(token.encode()).decode())
)
"""What Gemini takes in place of a signature (ai.google.dev, "Thought signatures"); no seal of its."""

_TELLING: Final = 24
"""From how many characters on an answer is known by its words: nobody else says the very same."""


class Unit(NamedTuple):
    """One block that somebody said.

    `says` is a digest of what it says, `ids` what else it is known by. `result_of` is the call that
    it is the result of, if it is one. A blank unit says nothing: it may be there or not. `asks` is
    what a call with an id asks: a recorded one that had no id may be the same.
    """

    says: str
    ids: tuple[str, ...] = ()
    result_of: str | None = None
    is_answer: bool = False
    is_blank: bool = False
    asks: str | None = None


class _Marked(NamedTuple):
    """A block as it is compared: neutral, its JSON, and that JSON as a log keeps it.

    `call` is the id that a call, or a result, has beside its JSON.
    """

    role: str
    block: NeutralBlock
    api: str
    value: JsonObject
    spilled: JsonObject
    call: str | None


def unit_of_piece(api: str, piece: Piece) -> Unit:
    """Return the unit that a block of a request is."""
    value = piece.block
    spilled = spill(value)[0] if len(piece.encoded) > LIMIT else value
    return _unit(_Marked(piece.role, neutral_of(api, value), api, value, spilled, piece.call))


def unit_of(role: str, part: RecordedContent, call: str | None = None) -> Unit:
    """Return the unit that a recorded block is; no blob is read for it.

    `call` is the id that its event has, if it is a call, or a result.
    """
    if not isinstance(part, Native):
        return _unit(_Marked(role, part, "", {}, {}, call))
    value: JsonObject = restore(part.value, _MARKS)
    return _unit(_Marked(role, neutral_of(part.api, value), part.api, value, part.value, call))


def _unit(marked_block: _Marked) -> Unit:
    """Return a unit by its neutral form; what has none is known by its JSON."""
    block, role = marked_block.block, marked_block.role
    ids = (*_ids(marked_block.value), *_document_ids(marked_block))
    is_answer = role == "assistant"
    match block:
        case content.Text(text=text):
            return _text_unit(marked_block, text, ids)
        case content.Document():
            return Unit(ids[-1], ids[:-1], is_answer=is_answer)
        case content.Reasoning(text=text):
            says = _digest("reasoning", _text(text) if text else _json(marked_block.spilled))
            return Unit(says, ids, is_answer=True)
        case content.ToolCall():
            return _call_unit(marked_block, block, ids)
        case content.ToolResult(call_id=call):
            parts = [_part(part) for part in block.content]
            says = _digest("result", str(block.is_error), *parts)
            return Unit(says, result_of=call or marked_block.call or "")
        case content.ServerToolCall(id=call) | content.ServerToolResult(call_id=call):
            says = _digest(block.kind, call or _json(_marked(marked_block).model_dump(mode="json")))
            return Unit(says, ids, is_answer=True)
        case content.Opaque():
            says = _digest("opaque", _speaker(role), _json(marked_block.spilled))
            # An SDK makes {} of a part that it does not know.
            return Unit(
                says, ids, is_answer=is_answer, is_blank=not marked_block.value and is_answer
            )
        case _:
            assert_never(block)


def _text_unit(block: _Marked, text: str, ids: tuple[str, ...]) -> Unit:
    """Return the unit of a text; of a message with pictures, which are a part of what it says."""
    is_answer = block.role == "assistant"
    parts = () if is_answer else parts_of(block.api, block.value)
    if any(isinstance(part, content.Document) for part in parts):
        return Unit(_digest("message", _speaker(block.role), *map(_part, parts)), ids)
    words = _answer(text) if is_answer else text
    says = _digest("text", _speaker(block.role), _text(words))
    if not words.strip():
        # Its seal is no name of its own: programs put that of a stream's end on the text before it.
        return Unit(says, is_answer=is_answer, is_blank=True)
    if is_answer and len(words) >= _TELLING:
        ids = (*ids, f"answer:{says}")
    return Unit(says, ids, is_answer=is_answer)


def _call_unit(block: _Marked, call: content.ToolCall, ids: tuple[str, ...]) -> Unit:
    call_id, asks = call.id or block.call or "", _json(call.arguments)
    alike = _digest("asks", call.name, asks)
    says = _digest("call", call_id, call.name, asks)
    names = (*ids, f"call:{call_id}")
    if call.id and has_call_ids(block.api):
        return Unit(says, names, is_answer=True, asks=alike)
    return Unit(says, (alike, *names), is_answer=True)


def _marked(block: _Marked) -> NeutralBlock:
    """Return a block as a log gives it: in place of long texts, marks of their blobs."""
    if block.spilled is block.value or not block.api:
        return block.block
    return neutral_of(block.api, restore(block.spilled, _MARKS))


def _ids(value: JsonObject) -> Iterator[str]:
    """Yield what a provider knows the block by: the id of an item, a signature."""
    kind, item = value.get("type"), value.get("id")
    if isinstance(item, str) and item:
        yield f"id:{kind}:{item}"
    for seal in _SEALS:
        sealed = value.get(seal)
        if isinstance(sealed, str) and sealed and sealed not in _NO_SEALS:
            # google-genai sends base64 that is safe in URLs.
            standard = standard_base64(sealed).rstrip("=")
            yield f"seal:{_text(standard)}"
    for name in _SEALED:
        sealed = value.get(name)
        if isinstance(sealed, dict):
            yield from _ids(cast("JsonObject", sealed))


def _document_ids(block: _Marked) -> tuple[str, ...]:
    """Return what a document is known by; the last says it best.

    A plain text that is sent as a document may have been recorded as the file that it is.
    """
    named = f"document:{_speaker(block.role)}:"
    match block.block:
        case content.Document() as document:
            marked = _marked(block)
            documents = _documents(marked) if isinstance(marked, content.Document) else ()
            return tuple(f"{named}{known}" for known in (*documents, *_documents(document)))
        case content.Text():
            source: Any = block.value.get("source")
            text = cast("JsonObject", source).get("data") if isinstance(source, dict) else None
            return (f"{named}{_text(text)}",) if isinstance(text, str) else ()
        case _:
            return ()


def _documents(document: content.Document) -> Iterator[str]:
    """Yield digests of a document's base64, if that is how it came, and of what it is."""
    url = document.url or ""
    if document.blob is not None:
        yield document.blob.sha256
    elif not url.startswith("data:"):
        yield _text(url)
    else:
        data = url.partition(",")[2]
        if data.startswith(_ENCODED_MARK):
            yield base64.b64decode(data).decode().removeprefix(_MARK)
            return
        yield f"base64:{_text(data)}"
        if not data.startswith(_MARK):
            try:
                yield hashlib.sha256(base64.b64decode(data)).hexdigest()
            except (binascii.Error, ValueError):
                return


def _part(part: content.Text | content.Document) -> str:
    match part:
        case content.Text(text=text):
            return _text(text)
        case content.Document():
            return next(_documents(part))


def _speaker(role: str) -> str:
    return "system" if role == "developer" else role


_MARK: Final = "\x1fblob:"
_ENCODED_MARK: Final = base64.b64encode(_MARK.encode()).decode()
"""Stands before a digest of bytes that were given in base64: its length is one of whole groups."""


class _Marks(Mapping[str, bytes]):
    """Stands for all blobs: each is only its digest, behind a mark."""

    def __getitem__(self, digest: str) -> bytes:
        return f"{_MARK}{digest}".encode()

    def __contains__(self, digest: object) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


_MARKS: Final = _Marks()


def _answer(text: str) -> str:
    """Return what a model's text says beside reasoning; one that moves to a blob is left as it is."""
    is_moved = len(text) > LIMIT // 4 and len(text.encode("utf-8", "surrogatepass")) > LIMIT
    if is_moved or text.startswith(_MARK):
        return text
    texts: list[str] = []
    at = 0
    while (opening := _REASONING.search(text, at)) is not None:
        closing = f"</{opening[1]}>"
        end = text.find(closing, opening.end())
        if end < 0:
            break
        texts.append(text[at : opening.start()])
        at = end + len(closing)
    return "".join((*texts, text[at:])).strip()


def _text(text: str) -> str:
    """Return the digest of a text; one that moved to a blob is known by it already."""
    if text.startswith(_MARK):
        return text.removeprefix(_MARK)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _json(value: Any) -> str:
    return hashlib.sha256(jsontext.write_canonical(canonical(value))).hexdigest()


def _digest(*parts: str) -> str:
    return hashlib.sha256("\x1f".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
