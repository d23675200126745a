"""Units: what a request says block by block, and what a log holds block by block, made comparable.

Two units are the same if they have the same id of the provider's, or say the same: the same text,
the same bytes of a document, the same call with the same arguments, in whatever API's spelling.
So nulls, the order of keys, cache marks, a string for one text, and what an SDK's echo lost do not
count; nor does reasoning in tags beside an answer, and the blanks around it: programs put it there,
or take it out. A result is found by its call; with another content it is the same unit, rewritten.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeAlias, assert_never, cast

from hansard.domain import content, jsontext
from hansard.domain.blobs import LIMIT, restore, spill
from hansard.domain.content import Block, Native
from hansard.domain.jsontext import JsonObject
from hansard.domain.prefix import canonical
from hansard.projections.continuation import Piece
from hansard.projections.neutral import neutral_of

Content: TypeAlias = Native | Block

_REASONING: Final = re.compile("<(think|thinking|reasoning)>")
"""Begins reasoning, as models of open weights give it and pydantic-ai sends it back (2.68.0)."""

_SEALS: Final = ("signature", "encrypted_content", "data")
"""Members by which a provider knows its own reasoning again."""


_TELLING: Final = 24
"""From how many characters on an answer is known by its words: nobody else says the very same."""


class Unit(NamedTuple):
    """One block that somebody said.

    `says` is a digest of what it says, `ids` what else it is known by. `result_of` is the call that
    it is the result of, if it is one. A blank unit says nothing: it may be there or not.
    """

    says: str
    ids: tuple[str, ...] = ()
    result_of: str | None = None
    is_answer: bool = False
    is_blank: bool = False


def unit_of_piece(api: str, piece: Piece) -> Unit:
    """Return the unit that a block of a request is."""
    value = piece.block
    spilled = spill(value)[0] if len(piece.encoded) > LIMIT else value
    return _unit(piece.role, neutral_of(api, value), value, spilled, piece.call)


def unit_of(role: str, said: Content, call: str | None = None) -> Unit:
    """Return the unit that a recorded block is; no blob is read for it.

    `call` is the id under which a call, or a result, was recorded.
    """
    if not isinstance(said, Native):
        return _unit(role, said, {}, {}, call)
    value: JsonObject = restore(said.value, _MARKS)
    return _unit(role, neutral_of(said.api, value), value, said.value, call)


def _unit(
    role: str, block: Block, value: JsonObject, spilled: JsonObject, recorded: str | None
) -> Unit:
    """Return a unit by its neutral form; what has none is known by its JSON.

    A call is known by the id that it is recorded under: it may have none, or another, of its own.
    """
    ids = (*_ids(value), *_document_ids(role, block, value))
    is_answer = role == "assistant"
    match block:
        case content.Text(text=text):
            told = _answer(text) if is_answer else text
            said = _digest("text", _speaker(role), _text(told))
            if is_answer and len(told) >= _TELLING:
                ids = (*ids, f"answer:{said}")
            return Unit(said, ids, is_answer=is_answer, is_blank=not told.strip())
        case content.Document():
            return Unit(ids[-1], ids[:-1], is_answer=is_answer)
        case content.Reasoning(text=text):
            said = _digest("reasoning", _text(text) if text else _json(spilled))
            return Unit(said, ids, is_answer=True)
        case content.ToolCall(id=own, name=name, arguments=arguments):
            call = recorded or own
            said = _digest("call", call, name, _json(arguments))
            return Unit(said, (*ids, f"call:{call}"), is_answer=True)
        case content.ToolResult(call_id=own):
            call = recorded or own
            parts = [_part(part) for part in block.content]
            said = _digest("result", call, str(block.is_error), *parts)
            return Unit(said, result_of=call)
        case content.ServerToolCall(id=call) | content.ServerToolResult(call_id=call):
            said = _digest(block.kind, call or _json(spilled))
            return Unit(said, ids, is_answer=True)
        case content.Opaque():
            return Unit(_digest("opaque", _speaker(role), _json(spilled)), ids, is_answer=is_answer)
        case _:
            assert_never(block)


def _ids(value: JsonObject) -> Iterator[str]:
    """Yield what a provider knows the block by: the id of an item, a signature."""
    kind, item = value.get("type"), value.get("id")
    if isinstance(item, str) and item:
        yield f"id:{kind}:{item}"
    for seal in _SEALS:
        held = value.get(seal)
        if isinstance(held, str) and held:
            yield f"{seal}:{_text(held)}"


def _document_ids(role: str, block: Block, value: JsonObject) -> tuple[str, ...]:
    """Return what a document is known by; the last says it best.

    A plain text that is sent as a document may have been recorded as the file that it is.
    """
    match block:
        case content.Document():
            return tuple(f"document:{_speaker(role)}:{known}" for known in _documents(block))
        case content.Text():
            source: Any = value.get("source")
            text = cast("JsonObject", source).get("data") if isinstance(source, dict) else None
            return (f"document:{_speaker(role)}:{_text(text)}",) if isinstance(text, str) else ()
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
    said: list[str] = []
    at = 0
    while (opening := _REASONING.search(text, at)) is not None:
        closing = f"</{opening[1]}>"
        end = text.find(closing, opening.end())
        if end < 0:
            break
        said.append(text[at : opening.start()])
        at = end + len(closing)
    return "".join((*said, text[at:])).strip()


def _text(text: str) -> str:
    """Return the digest of a text; one that moved to a blob is known by it already."""
    if text.startswith(_MARK):
        return text.removeprefix(_MARK)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _json(value: Any) -> str:
    return hashlib.sha256(jsontext.write_canonical(canonical(value))).hexdigest()


def _digest(*parts: str) -> str:
    return hashlib.sha256("\x1f".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
