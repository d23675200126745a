"""What the user and the operator say to Gemini, as contents; and results of calls.

All results of a round are one content of as many parts as there are calls, in their order: "Please
ensure that the number of function response parts is equal to the number of function call parts of
the function call turn." Files go within the response where the model reads them there, else in a
content of the user's that follows, each behind a tag that stands in the response too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from onrecord.domain.content import Document, Role
from onrecord.domain.documents import UNKNOWN, Modality, modality_of
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.answers import words_for_nothing
from onrecord.projections.apis.documents import Behind, words_for
from onrecord.projections.apis.gemini.answers import own_part
from onrecord.projections.apis.gemini.draft import GeminiDraft, encode_document
from onrecord.projections.apis.gemini.server_tools import (
    RESPONSE,
    is_held_by_the_service,
    member,
    object_in,
    objects_in,
    part,
    without,
)
from onrecord.projections.apis.user_messages import UserMessages
from onrecord.projections.history.document_bytes import is_remote
from onrecord.projections.history.history import Block
from onrecord.projections.history.report import Where

_FILES: Final[tuple[Modality, ...]] = ("image", "document", "audio", "video")


class GeminiMessages(UserMessages[GeminiDraft]):
    """Makes the contents of one request that are not the model's, in order."""

    ASSISTANT = "model"
    UNREAD = "the service does not read {}"

    def text(self, text: str) -> JsonObject:
        """Return a text as a part."""
        return {"text": text}

    def encode(self, document: Document) -> JsonObject | None:
        """Return a document as a part; None where the service reads no such thing."""
        return encode_document(document, self.draft.blobs)

    def message(self, role: Role, parts: list[JsonObject], blocks: Sequence[Block]) -> JsonObject:
        """Return a content; the operator's notes are the user's too."""
        return {"role": "user", "parts": parts}

    def note(self, block: Block, role: Role) -> list[JsonObject]:
        """Return the parts of a note of the operator's."""
        why = "the service knows no notes of the operator's: it goes as the user's"
        self.draft.note("translated", "G7", block.version, why)
        return self.said(block, role)

    def own_parts(self, block: Block, role: Role) -> list[JsonObject] | None:
        """Return a part of this API as it may go; a response without a call goes as text.

        "Please ensure that function response turn comes immediately after a function call turn."
        """
        value = self.draft.own(block)
        if value is None:
            return None
        if object_in(value, RESPONSE) is not None:
            return self.stray(block)
        part = own_part(self.draft, block, value)
        return [] if part is None else [part]

    def results(self, results: Iterable[Block]) -> list[JsonObject]:
        """Return the contents that answer the calls of one turn, in their order."""
        behind = self.behind()
        parts = [self._result(block, behind) for block in results]
        return [{"role": "user", "parts": each} for each in (parts, behind.parts) if each]

    def placed(self, block: Block, document: Document) -> tuple[Where, JsonObject | None]:
        """Return where a document of a result goes, and the part that it is there."""

        def encode(document: Document) -> JsonObject | None:
            modality = modality_of(document.media_type)
            is_file = is_remote(document) or modality != "text"
            goes = not is_file or _holds_files_of(self.draft, modality)
            return self.encode(document) if goes else None

        return self.draft.router.in_result(block, document, encode, self.encode)

    def _result(self, block: Block, behind: Behind[JsonObject]) -> JsonObject:
        draft = self.draft
        draft.note_missing(block)
        value = draft.own(block)
        response = object_in(value, RESPONSE) if value is not None else None
        if value is not None and response is not None:
            return self._own_result(block, value, response, behind)
        parts = self.result_parts(block, draft.result_parts(block), behind)
        texts = [part["text"] for part in parts if isinstance(part.get("text"), str)]
        files = [part for part in parts if not isinstance(part.get("text"), str)]
        return {RESPONSE: {**_named(draft.calls[block.call]), **_answer(block, texts, files)}}

    def _own_result(
        self, block: Block, value: JsonObject, response: JsonObject, behind: Behind[JsonObject]
    ) -> JsonObject:
        """Return a response of this API as it came, if it names its call as that names itself."""
        draft, answer = self.draft, response
        named = _named(draft.calls[block.call])
        if any(member(response, name) != named.get(name) for name in ("id", "name")):
            draft.note("repaired", "G10", block.version, "a result is named as its call is")
            answer = {**named, **without(without(response, "id"), "name")}
        if not isinstance(given := member(answer, "response"), dict):
            draft.note("translated", "G8", block.version, "what a function gives is an object")
            result = {} if given is None else {"result": given}
            answer = {**without(answer, "response"), "response": result}
        files = objects_in(member(answer, "parts"))
        if any(map(is_held_by_the_service, files)):
            why = "refers to a file that the provider keeps: it may be gone"
            draft.note("noted", "G16", block.version, why)
        kept = [file for file in files if _may_stay(draft, file)]
        if len(kept) < len(files):
            for file in files:
                if file not in kept:
                    self._follow(block, file, behind)
            answer = {**answer, "parts": kept} if kept else without(answer, "parts")
        return value if answer is response else {**without(value, RESPONSE), RESPONSE: answer}

    def _follow(self, block: Block, file: JsonObject, behind: Behind[JsonObject]) -> None:
        """Put a file of a response among those that follow it."""
        self.draft.note("moved", "G13", block.version, "a file of a result follows it")
        document = _document_in(file)
        router = self.draft.router
        _, encoded = router.in_result(block, document, lambda _: None, lambda _: file)
        behind.add(block, document, encoded or self.text(words_for(document)))


def _named(call: JsonObject) -> JsonObject:
    """Return the members by which a response names its call: an id only if that has one."""
    call_id = member(call, "id")
    own = {} if call_id is None else {"id": call_id}
    return {**own, "name": member(call, "name")}


def _answer(block: Block, texts: list[str], files: list[JsonObject]) -> JsonObject:
    """Return what a function gave; that it failed is told by the member that holds it."""
    text = "\n".join(texts)
    name = "error" if block.is_error else "result"
    if not text and not files:
        text = words_for_nothing(is_error=block.is_error)
    response: JsonObject = {"response": {name: text} if text or block.is_error else {}}
    return {**response, "parts": files} if files else response


def _may_stay(draft: GeminiDraft, file: JsonObject) -> bool:
    """Whether a file may stay in a response: all do where it is not known what the model takes."""
    modality = modality_of(_document_in(file).media_type)
    return not draft.reader.is_known or _holds_files_of(draft, modality)


def _holds_files_of(draft: GeminiDraft, modality: Modality) -> bool:
    """Whether a response may hold files of a modality; such as are text where it may hold any."""
    wanted = _FILES if modality == "text" else (modality,)
    return any(map(draft.router.reads_in_results, wanted))


def _document_in(file: JsonObject) -> Document:
    """Return the document that a part holds, as far as it says what that is."""
    document = part(file)
    return document if isinstance(document, Document) else Document(media_type=UNKNOWN, url="")


def _nothing(_: Document) -> None:
    return None
