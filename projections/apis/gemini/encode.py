"""The model's turns as parts: its own as they came, others' in neutral form, calls signed.

"Function call is missing a thought_signature in functionCall parts. This is required for tools to
work correctly". The first call of each step is to bear one: its own, or, where no model of Gemini's
made it, the word that the service's documents give for that case.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import Any, Final, NamedTuple, cast

from onrecord.domain.content import Document, Role
from onrecord.domain.documents import UNKNOWN, Modality, modality_of
from onrecord.domain.events import ResponseCompleted, ResponseInterrupted
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.answers import texts_of, words_for_nothing
from onrecord.projections.apis.documents import Behind, words_for
from onrecord.projections.apis.foreign import goes_on
from onrecord.projections.apis.gemini.draft import GeminiDraft, encode_document
from onrecord.projections.apis.gemini.read import NAME
from onrecord.projections.apis.gemini.server_tools import (
    CALL,
    RESPONSE,
    SIGNATURE,
    is_held_by_the_service,
    is_signed,
    is_thought,
    kind_of,
    member,
    object_in,
    part,
    replay,
    without,
)
from onrecord.projections.apis.request import Where
from onrecord.projections.apis.user_messages import UserMessages, has_text_behind
from onrecord.projections.history.held_documents import is_remote
from onrecord.projections.history.history import Block, History
from onrecord.projections.members import objects

UNSIGNED: Final = "skip_thought_signature_validator"
"""What stands for the signature of a call that no model of Gemini's made.

ai.google.dev, "Thought signatures", on histories that come from another model.
"""


def parts_spoken(
    draft: GeminiDraft, blocks: Iterable[Block], answered: Container[int | None]
) -> list[JsonObject]:
    """Return the parts of one turn of the model's; `answered` are the calls that have a result."""
    parts: list[JsonObject] = []
    last_text: Block | None = None
    is_signed_so_far = not draft.reader.wants_signatures
    for block in blocks:
        if block.mark in ("call", "unawaited"):
            if block.call not in answered:
                draft.leave_out("G1", block, "the call has no result")
                continue
            called = _call(draft, block)
            parts.append(called if is_signed_so_far else _signed(draft, block, called))
            is_signed_so_far = True
        elif (value := draft.own(block)) is not None:
            part = own_part(draft, block, value)
            parts += [] if part is None else [part]
        else:
            is_piece = goes_on(last_text, block)
            texts = texts_of(draft, block)
            texts = texts if is_piece else _without_blanks(draft, block, texts)
            if texts and is_piece:
                texts[0] = f"{parts.pop()['text']}{texts[0]}"
            parts += [{"text": text} for text in texts]
            last_text = block if texts else None
    return parts


def _without_blanks(draft: GeminiDraft, block: Block, texts: list[str]) -> list[str]:
    rest = [text for text in texts if text.strip()]
    if len(rest) < len(texts):
        draft.leave_out_blank(block)
    return rest


def own_part(draft: GeminiDraft, block: Block, value: JsonObject) -> JsonObject | None:
    """Return a part of this API's that is no call, as it may go; None where it may not."""
    kind = kind_of(value)
    if replay(value) == "record":
        draft.leave_out("G11", block, "what is told of grounding is no part of a request")
        return None
    if kind in (CALL, RESPONSE):
        draft.leave_out("G1", block, "a call, or a result, that was not recorded as one")
        return None
    if is_held_by_the_service(value):
        why = "refers to a file that the provider keeps: it may be gone"
        draft.note("noted", "G16", block.version, why)
    part = _unsigned_where_refused(draft, block, value)
    if part is not None and not _says_something(part):
        draft.leave_out("G6", block, "a part that holds nothing")
        return None
    return part


def _unsigned_where_refused(
    draft: GeminiDraft, block: Block, value: JsonObject
) -> JsonObject | None:
    """Return a part without the signature that would be refused; a thought goes not at all."""
    if not is_signed(value) and not is_thought(value):
        return value
    objection = draft.objection(block)
    if objection is None:
        return value
    draft.leave_out(objection.rule, block, objection.why)
    return None if is_thought(value) else without(value, SIGNATURE)


def _says_something(part: JsonObject) -> bool:
    """Whether a part holds anything: an empty text does if it is signed."""
    kind = kind_of(part)
    if kind != "text":
        return kind is not None and member(part, kind) is not None
    return isinstance(part["text"], str) and (part["text"] != "" or is_signed(part))


def _call(draft: GeminiDraft, block: Block) -> JsonObject:
    """Return the part of a call, and keep it for its result."""
    value = draft.own(block)
    call = object_in(value, CALL) if value is not None else None
    if value is not None and call is not None:
        part = _unsigned_where_refused(draft, block, value) or value
        part = _with_arguments(draft, block, part, call)
        draft.calls[block.call] = object_in(part, CALL) or {}
        return part
    # An id goes only to who gave it: "Unknown name \"id\" at 'contents[1].parts[0].function_call':
    # Cannot find field." is what Vertex says to any, and results are found by their order.
    name = draft.tool_name(block.name or "", block.version)
    made: JsonObject = {"name": name, "args": draft.arguments(block)}
    draft.calls[block.call] = made
    return {CALL: made}


def _with_arguments(
    draft: GeminiDraft, block: Block, part: JsonObject, call: JsonObject
) -> JsonObject:
    """Return a call of this API's, its arguments an object or absent."""
    arguments = member(call, "args")
    if arguments is None or isinstance(arguments, dict):
        return part
    members = {**without(call, "args"), "args": draft.as_object(block, arguments)}
    return {**without(part, CALL), CALL: members}


def _signed(draft: GeminiDraft, block: Block, part: JsonObject) -> JsonObject:
    """Return the first call of a step with a signature."""
    if is_signed(part):
        return part
    draft.note("repaired", "G4", block.version, f"the call bears no signature: {UNSIGNED!r} does")
    return {**without(part, SIGNATURE), SIGNATURE: UNSIGNED}


# An answer that the service broke off and goes on with by a token.
#
# "Token generation was stopped because the response reached the per-request token limit, but
# generation is not yet complete. The model response can be continued via a subsequent request
# using the returned `continuation_token`" (google-genai, FinishReason). That request is the
# earlier one with the token: what the answer said so far is not sent (google-genai,
# generate_content).

_GOES_ON: Final = (None, "CONTINUATION")


class Continuation(NamedTuple):
    """The token by which the service goes on, and the answers that it has said so far."""

    token: str
    responses: frozenset[str]


def continuation_of(draft: GeminiDraft) -> Continuation | None:
    """Return how the last answer goes on; None where it does not, or something was said since.

    A token is for the model and the account that it was given to, as signatures are: others get
    what the answer said so far.
    """
    history = draft.history
    token = _token(history.responses.last().closing)
    last = history.turns[-1] if history.turns else None
    if token is None or last is None or last.role != "assistant":
        return None
    if draft.objection(last.blocks[-1]) is not None:
        return None
    responses: set[str] = set()
    for block in reversed(last.blocks):
        if not _is_broken_off(history, block):
            break
        responses.add(block.response or "")
    return Continuation(token, frozenset(responses)) if responses else None


def _is_broken_off(history: History, block: Block) -> bool:
    if block.response is None:
        return False
    return _token(history.responses.of(block.response, block.asked).closing) is not None


def _token(closing: ResponseCompleted | ResponseInterrupted | None) -> str | None:
    """Return the token of an answer that is to be gone on with."""
    if closing is None or closing.api != NAME:
        return None
    candidates = objects(closing.envelope.get("candidates"))
    if not candidates or member(candidates[0], "finishReason") not in _GOES_ON:
        return None
    token: Any = member(candidates[0], "continuationToken")
    return token if isinstance(token, str) and token else None


# What the user and the operator say to Gemini, as contents; and results of calls.
#
# All results of a round are one content of as many parts as there are calls, in their order:
# "Please ensure that the number of function response parts is equal to the number of function
# call parts of the function call turn." Files go within the response where the model reads them
# there, else in a content of the user's that follows, each behind a tag that stands in the
# response too.

_TAGS: Final = "documents"
"""The member of a value that a function gave which holds the tags of documents that follow it."""

_FILES: Final[tuple[Modality, ...]] = ("image", "document", "audio", "video")


class GeminiMessages(UserMessages[GeminiDraft]):
    """Makes the contents of one request that are not the model's, in order."""

    ASSISTANT = "model"

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
        if has_text_behind([not isinstance(part.get("text"), str) for part in parts]):
            why = "files stand beside the texts: what stood behind one stands before it"
            draft.note("moved", "G13", block.version, why)
        texts = [part["text"] for part in parts if isinstance(part.get("text"), str)]
        files = [part for part in parts if not isinstance(part.get("text"), str)]
        answer = _answer(block, _gave(draft, block, texts), files)
        return {RESPONSE: {**_named(draft.calls[block.call]), **answer}}

    def _own_result(
        self, block: Block, value: JsonObject, response: JsonObject, behind: Behind[JsonObject]
    ) -> JsonObject:
        """Return a response of this API as it came, if it names its call as that names itself."""
        draft, answer = self.draft, response
        named = _named(draft.calls[block.call])
        if any(member(response, name) != named.get(name) for name in ("id", "name")):
            draft.note("repaired", "G10", block.version, "a result is named as its call is")
            answer = {**named, **without(without(response, "id"), "name")}
        if not isinstance(content := member(answer, "response"), dict):
            draft.note("translated", "G8", block.version, "what a function gives is an object")
            result = {} if content is None else {"result": content}
            answer = {**without(answer, "response"), "response": result}
        files = objects(member(answer, "parts"))
        if any(map(is_held_by_the_service, files)):
            why = "refers to a file that the provider keeps: it may be gone"
            draft.note("noted", "G16", block.version, why)
        rest = [file for file in files if _may_stay(draft, file)]
        if len(rest) < len(files):
            for file in files:
                if file not in rest:
                    self._follow(block, file, behind)
            answer = {**answer, "parts": rest} if rest else without(answer, "parts")
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


def _gave(draft: GeminiDraft, block: Block, texts: list[str]) -> Any:
    """Return what a function gave: one text, or a value, with the tags of its documents in it."""
    if not texts:
        return ""
    value, tags = draft.value_of(block, texts[0]), texts[1:]
    if isinstance(value, str) or not tags:
        return value if not tags else "\n".join(texts)
    whole = cast("JsonObject", value) if isinstance(value, dict) else {"result": value}
    return "\n".join(texts) if _TAGS in whole else {**whole, _TAGS: tags}


def _answer(block: Block, gave: Any, files: list[JsonObject]) -> JsonObject:
    """Return what a function gave: an object as it is, all else as the member `result`.

    That it failed is told by the member `error`, which holds what it gave. Source: google-genai's
    `FunctionResponse.response`, and what its own calling of functions makes of what they return.
    """
    if gave == "" and not files:
        gave = words_for_nothing(is_error=block.is_error)
    answer: JsonObject = {"response": _response(block, gave)}
    return {**answer, "parts": files} if files else answer


def _response(block: Block, gave: Any) -> JsonObject:
    if block.is_error:
        return {"error": gave}
    if isinstance(gave, dict):
        return cast("JsonObject", gave)
    return {} if gave == "" else {"result": gave}


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
