"""Results of a round of calls: one content of as many parts as there are calls, in their order.

"Please ensure that the number of function response parts is equal to the number of function call
parts of the function call turn." Files go within the response where the model reads them there, else
in a content of the user's that follows, each behind a tag that stands in the response too.
"""

from __future__ import annotations

from collections.abc import Iterable

from hansard.domain.content import Document, Text
from hansard.domain.conversation import CANCELLED
from hansard.domain.documents import modality_of
from hansard.domain.jsontext import JsonObject
from hansard.projections.history import Block, Turn
from hansard.projections.neutral_gemini_parts import (
    RESPONSE,
    Part,
    is_held_by_the_service,
    member,
    object_in,
    objects_in,
    part,
    without,
)
from hansard.projections.requests.document_bytes import bytes_of, is_remote, text_of
from hansard.projections.requests.document_tags import PREAMBLE, tag_of, words_for
from hansard.projections.requests.gemini_documents import spell_document
from hansard.projections.requests.gemini_draft import Draft
from hansard.projections.requests.gemini_said import held_by, text_part
from hansard.projections.requests.result_words import words_for_nothing

_RESULTS = frozenset({"result", "missing"})


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
    documents: list[JsonObject] = []
    parts = [_result(draft, block, documents) for block in results]
    contents: list[JsonObject] = [{"role": "user", "parts": parts}] if parts else []
    if documents:
        documents[0] = text_part(f"{PREAMBLE}\n{documents[0]['text']}")
        contents.append({"role": "user", "parts": documents})
    return contents


def _result(draft: Draft, block: Block, documents: list[JsonObject]) -> JsonObject:
    if block.mark == "missing":
        why = f"no result in time: {CANCELLED!r} stands in"
        draft.note("repaired", "G1", block.version, why)
    call = draft.calls[block.call]
    value = draft.own(block)
    response = object_in(value, RESPONSE) if value is not None else None
    if value is not None and response is not None:
        return _own_result(draft, block, value, response, documents)
    texts: list[str] = []
    files: list[JsonObject] = []
    for held in held_by(draft, block):
        _take(draft, block, held, texts, files, documents)
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
    documents: list[JsonObject],
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
    if files and draft.reader.refuses_files_of_results:
        told = without(told, "parts")
        for held in files:
            _follow(draft, block, held, documents)
    return value if told is response else {**without(value, RESPONSE), RESPONSE: told}


def _follow(draft: Draft, block: Block, held: JsonObject, documents: list[JsonObject]) -> None:
    """Put a file of a response among those that follow it."""
    draft.note("moved", "G13", block.version, "a file of a result follows it")
    said = part(held)
    tag = tag_of(block, said) if isinstance(said, Document) else ""
    documents += [text_part(tag or f"{block.name}:"), held]


def _take(
    draft: Draft,
    block: Block,
    held: Part,
    texts: list[str],
    files: list[JsonObject],
    documents: list[JsonObject],
) -> None:
    """Put what a result holds where it goes: its texts, its files, or what follows it."""
    if isinstance(held, Text):
        texts += [held.text] if held.text.strip() else []
    elif (text := _text_in(draft, held)) is not None:
        texts.append(text)
    elif (spelled := spell_document(held, draft.blobs)) is None:
        draft.leave_out("document", block, f"the service does not read {held.media_type}")
        texts.append(words_for(held))
    elif draft.reader.reads_files_of_results:
        files.append(spelled)
    else:
        tag = tag_of(block, held)
        texts.append(tag)
        documents += [text_part(tag), spelled]
        draft.note("moved", "G13", block.version, "a document of a result follows it")


def _text_in(draft: Draft, document: Document) -> str | None:
    if modality_of(document.media_type) != "text" or is_remote(document):
        return None
    text = text_of(bytes_of(document, draft.blobs))
    return f"{document.name}\n{text}" if text and document.name else text
