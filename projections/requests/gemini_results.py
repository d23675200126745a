"""Results of a round of calls: one content of as many parts as there are calls, in their order.

"Please ensure that the number of function response parts is equal to the number of function call
parts of the function call turn." Files go within the response where the model reads them there, else
in a content of the user's that follows, each behind a tag that stands in the response too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from onrecord.domain.content import Document
from onrecord.domain.conversation import CANCELLED
from onrecord.domain.documents import UNKNOWN, Modality, modality_of
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.history import Block, Turn
from onrecord.projections.neutral_gemini_parts import (
    RESPONSE,
    is_held_by_the_service,
    member,
    object_in,
    objects_in,
    part,
    without,
)
from onrecord.projections.requests.document_bytes import is_remote
from onrecord.projections.requests.document_tags import words_for
from onrecord.projections.requests.gemini_draft import Draft
from onrecord.projections.requests.gemini_said import held_by, text_part
from onrecord.projections.requests.result_words import words_for_nothing
from onrecord.projections.requests.round_documents import Behind

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
