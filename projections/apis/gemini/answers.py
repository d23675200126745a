"""The model's turns as parts: its own as they came, others' in neutral form, calls signed.

"Function call is missing a thought_signature in functionCall parts. This is required for tools to
work correctly". The first call of each step is to bear one: its own, or, where no model of Gemini's
made it, the word that the service's documents give for that case.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any, Final, NamedTuple

from onrecord.domain.events import ResponseCompleted, ResponseInterrupted
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.answers import texts_of
from onrecord.projections.apis.foreign import goes_on
from onrecord.projections.apis.gemini.draft import GeminiDraft
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
    objects_in,
    replay,
    without,
)
from onrecord.projections.history.history import Block, History

UNSIGNED: Final = "skip_thought_signature_validator"
"""What stands for the signature of a call that no model of Gemini's made.

ai.google.dev, "Thought signatures", on histories that come from another model.
"""


def parts_spoken(
    draft: GeminiDraft, blocks: Iterable[Block], answered: Container[int | None]
) -> list[JsonObject]:
    """Return the parts of one turn of the model's; `answered` are the calls that have a result."""
    parts: list[JsonObject] = []
    told: Block | None = None
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
            texts = texts_of(draft, block)
            if texts and goes_on(told, block):
                texts[0] = f"{parts.pop()['text']}{texts[0]}"
            parts += [{"text": text} for text in texts]
            told = block if texts else None
    return parts


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
    told = {**without(call, "args"), "args": draft.as_object(block, arguments)}
    return {**without(part, CALL), CALL: told}


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
    candidates = objects_in(closing.envelope.get("candidates"))
    if not candidates or member(candidates[0], "finishReason") not in _GOES_ON:
        return None
    token: Any = member(candidates[0], "continuationToken")
    return token if isinstance(token, str) and token else None
