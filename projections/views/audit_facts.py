"""What an event says that the audit may tell: with what and under which rule, how it went, about what.

Names of models and tools, digests of rules and documents, one word of how it went. Labels are kept as
digests, so that conversations are found by them and the view itself has no text.
"""

from __future__ import annotations

import hashlib
import re
from base64 import b64decode
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple, TypeAlias, get_args
from uuid import UUID

from onrecord.domain import jsontext
from onrecord.domain.blobs import referenced, restore
from onrecord.domain.content import Native
from onrecord.domain.encoding import Erased, Unrecognised
from onrecord.domain.events import (
    AnnotationAdded,
    AttemptFailed,
    Event,
    InstructionsSet,
    RequestSent,
    ResponseCompleted,
    ResponseInterrupted,
    ServerToolCallRecorded,
    ServerToolResultRecorded,
    ToolCallRecorded,
    ToolResultRecorded,
    ToolResultRejected,
    ToolsDeclared,
)
from onrecord.domain.log import RecordedEvent
from onrecord.domain.new_events import blobs_of
from onrecord.domain.operators import ErasureCompleted, ErasureRefused, OperatorsFact
from onrecord.domain.request_template import LiteralSpan
from onrecord.domain.tools import ApprovalDecided, tools_digest
from onrecord.projections.api import neutral_of, outcome_of, says_it_failed
from onrecord.projections.history.held_documents import document_blobs, is_base64
from onrecord.projections.matching.template import blobs_in, references_of
from onrecord.projections.views.view import Row, storable

RULES: Final = {
    "instructions": "instructions.set",
    "tools": "tools.declared",
    "capabilities": "request.sent",
}
"""Rules that are known by a digest of what they say, and the events that put them in force."""

Outcome: TypeAlias = Literal[
    "completed",
    "interrupted",
    "done",
    "failed",
    "cancelled",
    "rejected",
    "granted",
    "denied",
    "refused",
]
"""How something went, in the words of answers, of the tool ledger, of approvals and of erasures."""

OUTCOMES: Final[tuple[str, ...]] = get_args(Outcome)

NOT_TOLD: Final[Row] = {
    **dict.fromkeys(("api", "model", "tool", "sha256")),
    **dict.fromkeys(("outcome", "documents", "event_id", "labels")),
}
"""The columns of an event whose body says nothing, or may say nothing any more."""

_TELLING: Final = frozenset(
    (
        *("request.sent", "attempt.failed", "response.completed", "response.interrupted"),
        *("tool_call.recorded", "tool_result.recorded", "tool_result.rejected"),
        *("server_tool_call.recorded", "server_tool_result.recorded", "approval.decided"),
        *("message.recorded", "signal.received", "document.extracted", "item.recorded"),
        *RULES.values(),
    )
)
"""Types that say any of this: others are not read."""


_ONLY_DOCUMENTS: Final = frozenset(("message.recorded", "signal.received", "item.recorded"))
"""Types that say nothing of this but documents."""

_OF_DOCUMENTS: Final = (
    *(b'"sha256"', b'"$onrecord.blob"', b"base64", b"data:"),
    *(b'"data"', b'"bytes"', b'"images"'),
)
"""What stands in each body that holds the bytes of a document: a body without it is not read."""


class Facts(NamedTuple):
    """The columns that follow from the body of an event, and the events that it shows, if it is a request."""

    columns: Row
    shown: frozenset[UUID] = frozenset()


def facts_of(recorded: RecordedEvent) -> Facts:
    """Return what the body of an event says; one that was erased says nothing."""
    body = recorded.body
    if recorded.type not in _TELLING or body is None:
        return Facts({})
    if recorded.type in _ONLY_DOCUMENTS and not any(mark in body for mark in _OF_DOCUMENTS):
        return Facts({})
    event = recorded.event()
    if isinstance(event, Erased | Unrecognised):
        return Facts({})
    documents = documents_of(event)
    row: Row = {"outcome": _outcome(event), "documents": documents or None, **_named(event)}
    if documents:
        row["event_id"] = str(recorded.event_id)
    return Facts(
        row, references_of(event.template) if isinstance(event, RequestSent) else frozenset()
    )


def _named(event: Event) -> Row:
    match event:
        case RequestSent():
            return _of_model(event) | {"sha256": capabilities_digest(event)}
        case ResponseCompleted() | ResponseInterrupted():
            return _of_model(event)
        case ToolCallRecorded() | ServerToolCallRecorded():
            return {"tool": storable(event.name)}
        case InstructionsSet() | ToolsDeclared():
            return {"sha256": storable(rule_digest(event))}
        case _:
            return {}


def _of_model(event: RequestSent | ResponseCompleted | ResponseInterrupted) -> Row:
    model = None if event.model is None else storable(event.model)
    return {"api": storable(event.api), "model": model}


def rule_digest(event: InstructionsSet | ToolsDeclared) -> str:
    """Return the digest, in hex, by which instructions or tools are known in every conversation.

    It is the SHA-256 of the canonical JSON of `content` of instructions, and of tools `sha256` of
    their declaration.
    """
    if isinstance(event, ToolsDeclared):
        return event.sha256 or tools_digest(event.tools)
    content = event.content
    plain = content if isinstance(content, str) else content.model_dump(mode="json")
    return hashlib.sha256(jsontext.write_canonical(plain)).hexdigest()


def capabilities_digest(event: RequestSent) -> str | None:
    """Return the digest, in hex, of what a request was rendered by; None where its caller made it.

    It is the SHA-256 of the canonical JSON of an object: `capabilities` and `matrix` of the recipe's
    options, as far as they are there, and its `renderer`, which is of the table that comes with Onrecord too.
    """
    if event.recipe is None:
        return None
    options = event.recipe.options
    of = {name: options[name] for name in ("capabilities", "matrix") if name in options}
    plain = of | {"renderer": event.recipe.renderer}
    return hashlib.sha256(jsontext.write_canonical(plain)).hexdigest()


# How it went.


def _outcome(event: Event) -> Outcome | None:
    match event:
        case ResponseCompleted():
            return "completed"
        case ResponseInterrupted():
            return "interrupted"
        case AttemptFailed():
            return "failed"
        case ApprovalDecided():
            return event.decision
        case ToolResultRejected():
            return "rejected"
        case ToolResultRecorded(cancelled=True):
            return "cancelled"
        case ToolResultRecorded():
            return "failed" if event.is_error or _fails(event.content) else "done"
        case ServerToolResultRecorded():
            read = neutral_of(event.content.api, event.content.value)
            return _of_result(is_error=getattr(read, "is_error", False))
        case ServerToolCallRecorded():
            outcome = outcome_of(event.content.api, event.content.value)
            return None if outcome is None else _of_result(is_error=outcome.is_error)
        case _:
            return None


def outcome_of_fact(fact: OperatorsFact | None) -> Outcome | None:
    """Return how what operators did went; None where nothing of it can fail."""
    match fact:
        case ErasureCompleted():
            return "completed"
        case ErasureRefused():
            return "refused"
        case _:
            return None


def _fails(content: object) -> bool:
    return isinstance(content, Native) and says_it_failed(content.api, content.value)


def _of_result(*, is_error: bool) -> Outcome:
    return "failed" if is_error else "done"


# Which documents it has: the digests of their bytes, by which `onrecord documents` knows them too.


_INLINE: Final = re.compile(
    r"""(?:"(?:media_type|mimeType)":"[^"]*","data":"|;base64,|"bytes":"|"images":\[")"""
    r"""([A-Za-z0-9+/]+={0,2})\""""
)
"""A document in base64, as APIs spell it."""


def documents_of(event: Event) -> list[str]:
    """Return the digests, in hex, of the documents that an event holds or sends, each once, in order.

    Those at an address have none. A request has those alone that stand in no earlier event.
    """
    return list(dict.fromkeys(map(storable, _digests(event))))


def _digests(event: Event) -> Iterator[str]:
    match event:
        case RequestSent():
            yield from (blob.sha256 for blob in blobs_in(event.template))
            for span in event.template.spans:
                if isinstance(span, LiteralSpan):
                    yield from _inline_digests(span.text)
        case ResponseCompleted() | ResponseInterrupted():
            return  # `raw` is what came over the wire, and no document.
        case _:
            yield from (blob.sha256 for blob in blobs_of(event))
            yield from (blob.sha256 for blob in document_blobs(event, _without_blobs))


def _inline_digests(text: str) -> Iterator[str]:
    """Yield the digests of small documents, which stand in the text of a request itself."""
    for encoded in _INLINE.findall(text):
        if is_base64(encoded):
            yield hashlib.sha256(b64decode(encoded)).hexdigest()


def _without_blobs(native: Native) -> Native:
    """Return an API's JSON with nothing in the place of what blobs hold: those are told of themselves."""
    blobs = {blob.sha256: b"" for blob in referenced(native.value)}
    return native.model_copy(update={"value": restore(native.value, blobs)}) if blobs else native


# Which labels a conversation has, as digests.


def label_filters(tenant: UUID, name: str, value: str | None) -> Row:
    """Return the filters of the audit's page for a label, with a value or with any."""
    given = {} if value is None else {"label_value": _label_digest(tenant, name, value)}
    return {"label": _label_digest(tenant, name), **given}


def labels_of(tenant: UUID, recorded: RecordedEvent) -> Row:
    """Return the digests of the labels that an event puts on its conversation as a whole."""
    if recorded.type != "annotation.added" or recorded.body is None:
        return {}
    match recorded.event():
        case AnnotationAdded(line=None, version=None, labels=labels) if labels:
            digests = {
                _label_digest(tenant, name): _label_digest(tenant, name, value)
                for name, value in labels.items()
            }
            return {"labels": digests}
        case _:
            return {}


def _label_digest(tenant: UUID, *label: str) -> str:
    named = jsontext.write_canonical([storable(text) for text in label])
    return hashlib.sha256(b"onrecord label" + tenant.bytes + named).hexdigest()
