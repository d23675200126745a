"""What the user and the operator said, as contents; and results that come as the user's words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Final, assert_never
from uuid import UUID

from onrecord.domain.content import Document, Native, Reasoning, Role, Text, ToolCall, ToolResult
from onrecord.domain.conversation import CANCELLED
from onrecord.domain.documents import UNKNOWN, Modality, modality_of
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.answer_words import headline, words_for_nothing
from onrecord.projections.apis.documents import Behind, texts_before, words_for
from onrecord.projections.apis.foreign import content_of, told_of
from onrecord.projections.apis.gemini.answers import own_part
from onrecord.projections.apis.gemini.draft import Draft
from onrecord.projections.apis.gemini.read import result_content
from onrecord.projections.apis.gemini.server_tools import (
    RESPONSE,
    Part,
    is_held_by_the_service,
    member,
    object_in,
    objects_in,
    part,
    without,
)
from onrecord.projections.history.document_bytes import is_remote
from onrecord.projections.history.history import Block, Turn


def contents_said(draft: Draft, role: Role, blocks: Iterable[Block]) -> Iterator[JsonObject]:
    """Yield a content for each event that said something: neighbours of one role stay apart.

    So a later request begins with the contents of the earlier one, whatever was said after it.
    """
    for _, said in groupby(blocks, _event):
        together = list(said)
        pairs = zip([None, *together], together, strict=False)
        parts = [part for before, block in pairs for part in _parts(draft, role, block, before)]
        if parts:
            yield {"role": "user", "parts": parts}


def text_part(text: str) -> JsonObject:
    """Return a text as a part."""
    return {"text": text}


def document_part(draft: Draft, block: Block, document: Document) -> JsonObject:
    """Return a document as a part; words where the service cannot read it."""
    spelled = draft.router.in_message(block, document, draft.spell)
    if spelled is not None:
        return spelled
    draft.leave_out("document", block, f"the service does not read {document.media_type}")
    return text_part(words_for(document))


def _noted(draft: Draft, block: Block, document: Document) -> JsonObject:
    draft.leave_out("document", block, "a note of the operator's holds no document")
    return text_part(words_for(document))


def held_by(draft: Draft, block: Block) -> tuple[Part, ...]:
    """Return what a result holds, whichever API it is of."""
    if (value := draft.own(block)) is not None:
        return result_content(object_in(value, RESPONSE) or {})
    if (native := draft.foreign(block)) is not None:
        held, note = content_of(native, block)
        draft.notes.append(note)
        return held
    content = block.content
    return content.content if isinstance(content, ToolResult) else ()


def _event(block: Block) -> tuple[int, str, UUID | None]:
    return block.version, "" if block.signal else block.mark, block.conversation


def _parts(draft: Draft, role: Role, block: Block, before: Block | None) -> list[JsonObject]:
    match block.mark:
        case "late":
            return _late(draft, block)
        case "document":
            return _found(draft, block, before)
        case "result" | "missing":
            return _stray(draft, block)
        case "note":
            why = "the service knows no notes of the operator's: it goes as the user's"
            draft.note("translated", "G7", block.version, why)
            return _said(draft, role, block)
        case _:
            return _said(draft, role, block)


def _said(draft: Draft, role: Role, block: Block) -> list[JsonObject]:
    value = draft.own(block)
    if value is not None:
        if object_in(value, RESPONSE) is not None:
            return _stray(draft, block)
        part = own_part(draft, block, value)
        return [] if part is None else [part]
    if (native := draft.foreign(block)) is not None:
        told, note = told_of(native, block)
        draft.notes.append(note)
        return _spelled(draft, block, told, is_heard=role == "user")
    content = block.content
    match content:
        case Text() | Document():
            return _spelled(draft, block, (content,), is_heard=role == "user")
        case ToolResult():
            return _stray(draft, block)
        case Native() | Reasoning() | ToolCall():
            draft.leave_out("foreign", block, f"a {content.kind} is the model's alone")
            return []
        case _:
            assert_never(content)


def _spelled(
    draft: Draft, block: Block, told: Iterable[Part], *, is_heard: bool = True
) -> list[JsonObject]:
    """Return what is told as parts, without blank texts (G6)."""
    spelled: list[JsonObject] = []
    for held in told:
        if isinstance(held, Document):
            spelled.append(
                document_part(draft, block, held) if is_heard else _noted(draft, block, held)
            )
        elif held.text.strip():
            spelled.append(text_part(held.text))
        else:
            draft.leave_out("G6", block, "blank text")
    return spelled


def _late(draft: Draft, block: Block) -> list[JsonObject]:
    if block.cancelled:
        draft.leave_out("late", block, "the call was given up, and was answered so before")
        return []
    draft.note("moved", "late", block.version, "a result came late: it goes as text")
    return _as_words(draft, block)


def _stray(draft: Draft, block: Block) -> list[JsonObject]:
    """Return a result whose call does not go.

    "Please ensure that function response turn comes immediately after a function call turn."
    """
    draft.note("moved", "G2", block.version, "a result of no call goes as text")
    return _as_words(draft, block)


def _as_words(draft: Draft, block: Block) -> list[JsonObject]:
    told = _spelled(draft, block, held_by(draft, block))
    words = words_for_nothing(is_error=block.is_error)
    return [text_part(headline(block)), *(told or [text_part(words)])]


def _found(draft: Draft, block: Block, before: Block | None) -> list[JsonObject]:
    document = block.content
    if not isinstance(document, Document):
        return []
    texts = texts_before(block, document, draft.options.tags, before)
    return [*map(text_part, texts), document_part(draft, block, document)]


# Results of a round of calls: one content of as many parts as there are calls, in their order.
#
# "Please ensure that the number of function response parts is equal to the number of function
# call parts of the function call turn." Files go within the response where the model reads them
# there, else in a content of the user's that follows, each behind a tag that stands in the
# response too.

_RESULTS: Final = frozenset({"result", "missing"})
_FILES: Final[tuple[Modality, ...]] = ("image", "document", "audio", "video")


def results_in(turn: Turn | None) -> dict[int | None, Block]:
    """Return the results that a user's turn begins with, by call; none if it is no user's turn."""
    if turn is None or turn.role != "user":
        return {}
    return {block.call: block for block in turn.blocks if is_result(block)}


def is_result(block: Block) -> bool:
    """Whether a block is the result of a call of the round, or stands in for one."""
    return block.mark in _RESULTS


def spell_results(draft: Draft, results: Iterable[Block]) -> list[JsonObject]:
    """Return the contents that answer the calls of one turn, in their order."""
    behind = Behind(draft.options.tags, text_part)
    parts = [_result(draft, block, behind) for block in results]
    told = (parts, behind.parts)
    return [{"role": "user", "parts": each} for each in told if each]


def _result(draft: Draft, block: Block, behind: Behind[JsonObject]) -> JsonObject:
    if block.mark == "missing":
        why = f"no result in time: {CANCELLED!r} stands in"
        draft.note("repaired", "G1", block.version, why)
    call = draft.calls[block.call]
    value = draft.own(block)
    response = object_in(value, RESPONSE) if value is not None else None
    if value is not None and response is not None:
        return _own_result(draft, block, value, response, behind)
    texts: list[str] = []
    files: list[JsonObject] = []
    for held in held_by(draft, block):
        part = _document(draft, block, held, behind) if isinstance(held, Document) else held.text
        if not isinstance(part, str):
            files.append(part)
        elif part.strip():
            texts.append(part)
    return {RESPONSE: {**_named(call), **_answer(block, texts, files)}}


def _named(call: JsonObject) -> JsonObject:
    """Return the members by which a response names its call: an id only if that has one."""
    call_id = member(call, "id")
    own = {} if call_id is None else {"id": call_id}
    return {**own, "name": member(call, "name")}


def _answer(block: Block, texts: list[str], files: list[JsonObject]) -> JsonObject:
    """Return what a function gave; that it failed is told by the member that holds it."""
    said = "\n".join(texts)
    name = "error" if block.is_error else "result"
    if not said and not files:
        said = words_for_nothing(is_error=block.is_error)
    response: JsonObject = {"response": {name: said} if said or block.is_error else {}}
    return {**response, "parts": files} if files else response


def _own_result(
    draft: Draft,
    block: Block,
    value: JsonObject,
    response: JsonObject,
    behind: Behind[JsonObject],
) -> JsonObject:
    """Return a response of this API as it came, if it names its call as that names itself."""
    told = response
    named = _named(draft.calls[block.call])
    if any(member(response, name) != named.get(name) for name in ("id", "name")):
        draft.note("repaired", "G10", block.version, "a result is named as its call is")
        told = {**named, **without(without(response, "id"), "name")}
    if not isinstance(given := member(told, "response"), dict):
        draft.note("translated", "G8", block.version, "what a function gives is an object")
        told = {**without(told, "response"), "response": {} if given is None else {"result": given}}
    files = objects_in(member(told, "parts"))
    if any(map(is_held_by_the_service, files)):
        why = "refers to a file that the provider keeps: it may be gone"
        draft.note("noted", "G16", block.version, why)
    kept = [held for held in files if _may_stay(draft, held)]
    if len(kept) < len(files):
        for held in files:
            if held not in kept:
                _follow(draft, block, held, behind)
        told = {**told, "parts": kept} if kept else without(told, "parts")
    return value if told is response else {**without(value, RESPONSE), RESPONSE: told}


def _may_stay(draft: Draft, held: JsonObject) -> bool:
    """Whether a file may stay in a response: all do where it is not known what the model takes."""
    modality = modality_of(_document_in(held).media_type)
    return not draft.reader.is_known or _holds_files_of(draft, modality)


def _holds_files_of(draft: Draft, modality: Modality) -> bool:
    """Whether a response may hold files of a modality; such as are text where it may hold any."""
    wanted = _FILES if modality == "text" else (modality,)
    return any(map(draft.router.reads_in_results, wanted))


def _follow(draft: Draft, block: Block, held: JsonObject, behind: Behind[JsonObject]) -> None:
    """Put a file of a response among those that follow it."""
    draft.note("moved", "G13", block.version, "a file of a result follows it")
    document = _document_in(held)
    _, spelled = draft.router.in_result(block, document, _nothing, lambda _: held)
    behind.add(block, document, spelled or text_part(words_for(document)))


def _document_in(held: JsonObject) -> Document:
    """Return the document that a part holds, as far as it says what that is."""
    said = part(held)
    return said if isinstance(said, Document) else Document(media_type=UNKNOWN, url="")


def _nothing(_: Document) -> None:
    return None


def _document(
    draft: Draft, block: Block, document: Document, behind: Behind[JsonObject]
) -> JsonObject | str:
    """Return what stands in a response for a document: itself, its text, its tag, or words."""

    def spell(held: Document) -> JsonObject | None:
        is_file = is_remote(held) or modality_of(held.media_type) != "text"
        goes = not is_file or _holds_files_of(draft, modality_of(held.media_type))
        return draft.spell(held) if goes else None

    where, spelled = draft.router.in_result(block, document, spell, draft.spell)
    if spelled is None:
        draft.leave_out("document", block, f"the service does not read {document.media_type}")
        return words_for(document)
    if where == "inline":
        text = spelled.get("text")
        return text if isinstance(text, str) else spelled
    draft.note("moved", "G13", block.version, "a document of a result follows it")
    return behind.add(block, document, spelled)
