"""Events to stored body bytes and back.

A body is compact UTF-8 JSON: fields in the order of their shape, fields at their default left out,
native JSON exactly as it came. docs/format.md is the specification.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, TypeVar, cast
from uuid import UUID

from pydantic import BaseModel, ValidationError

from onrecord.domain import events, items, jsontext, tools
from onrecord.domain.content import Native
from onrecord.domain.errors import CorruptRecord, MalformedJson
from onrecord.domain.events import Event
from onrecord.domain.jsontext import JsonObject

# The stored names of events, their schema versions, and the way from old shapes to new ones.
#
# A name is a stable word, never a Python path. An old shape is lifted by its version, one step at
# a time, never by guessing from its form. A name or a version that this release does not know is
# kept raw and passes through: see `Unrecognised`.

Upcaster = Callable[[JsonObject], JsonObject]
"""Lifts a body from one schema version to the next; pure."""

NAMES: Final[Mapping[str, type[Event]]] = {
    "conversation.started": events.ConversationStarted,
    "conversation.forked": events.ConversationForked,
    "conversation.closed": events.ConversationEnded,
    "instructions.set": events.InstructionsSet,
    "tools.declared": events.ToolsDeclared,
    "message.recorded": events.MessageRecorded,
    "reasoning.recorded": events.ReasoningRecorded,
    "tool_call.recorded": events.ToolCallRecorded,
    "tool_result.recorded": events.ToolResultRecorded,
    "tool_result.rejected": events.ToolResultRejected,
    "signal.received": events.SignalReceived,
    "server_tool_call.recorded": events.ServerToolCallRecorded,
    "server_tool_result.recorded": events.ServerToolResultRecorded,
    "compaction.recorded": events.CompactionRecorded,
    "opaque.recorded": events.OpaqueRecorded,
    "document.extracted": events.DocumentExtracted,
    "request.sent": events.RequestSent,
    "attempt.failed": events.AttemptFailed,
    "response.completed": events.ResponseCompleted,
    "response.interrupted": events.ResponseInterrupted,
    "line.adopted": events.LineAdopted,
    "history.compacted": events.HistoryCompacted,
    "content.redacted": events.ContentRedacted,
    "context.carried": events.ContextCarried,
    "annotation.added": events.AnnotationAdded,
    "approval.requested": tools.ApprovalRequested,
    "approval.decided": tools.ApprovalDecided,
    "tool_call.begun": tools.ToolCallBegun,
    "item.recorded": items.ItemRecorded,
    "item.withdrawn": items.ItemWithdrawn,
    "item.amended": items.ItemAmended,
    "items.replaced": items.ItemsReplaced,
    "stream.cleared": items.StreamCleared,
    "state.put": items.StatePut,
}
"""Stored name to shape. A name is for ever."""

VERSIONS: Final[Mapping[str, int]] = dict.fromkeys(NAMES, 1)
"""The schema version that this release writes of each name."""

UPCASTERS: Final[Mapping[tuple[str, int], Upcaster]] = {}
"""(name, version) to the function that lifts that version to the next one."""

SHAPELESS: Final = (
    "the body of an event does not have its shape: verify the log and restore it from a backup"
)
"""What is said of a body that is read without the model of its event."""

ValueT = TypeVar("ValueT")

_NAME_OF: Final = {shape: name for name, shape in NAMES.items()}


@dataclass(frozen=True, slots=True)
class Unrecognised:
    """An event of a name or version that this release does not know: kept raw, shown as it is."""

    type: str
    schema_version: int
    body: bytes


@dataclass(frozen=True, slots=True)
class Erased:
    """An event whose body was erased: that it happened stays, what it said is gone."""

    type: str


def name_of(event: Event) -> str:
    """Return the stored name of an event."""
    return _NAME_OF[type(event)]


def upcast(
    name: str,
    version: int,
    body: JsonObject,
    *,
    versions: Mapping[str, int] = VERSIONS,
    upcasters: Mapping[tuple[str, int], Upcaster] = UPCASTERS,
) -> JsonObject:
    """Return the body in the present shape of its name, lifted version by version."""
    for step in range(version, versions[name]):
        body = upcasters[name, step](body)
    return body


def encode(event: Event) -> bytes:
    """Return the body bytes of an event; MalformedJson where a value has no JSON form."""
    return jsontext.write(_plain(event))


_OBJECT: Final = b"{"
_RESTORE: Final = "run `onrecord verify` and restore it from a backup"
_OPEN_ANEW: Final = (
    "if the log was encrypted since this program opened it, start it anew with the keys; else run "
    "`onrecord verify`"
)


def decode(name: str, schema_version: int, body: bytes) -> Event | Unrecognised:
    """Return the event that body bytes hold, in its present shape, or the raw bytes unrecognised.

    Raises CorruptRecord for a known name whose bytes do not have its shape.
    """
    shape = NAMES.get(name)
    if shape is None or not 1 <= schema_version <= VERSIONS[name]:
        return Unrecognised(name, schema_version, body)
    try:
        if schema_version == VERSIONS[name]:
            return _decode_present(shape, body)
        return shape.model_validate_json(
            jsontext.write(upcast(name, schema_version, jsontext.read_object(body)))
        )
    except (ValidationError, MalformedJson):
        # The cause may tell what was said.
        raise CorruptRecord(
            f"the body of a {name} event does not have the shape of version {schema_version}: "
            f"{_RESTORE if body.startswith(_OBJECT) else _OPEN_ANEW}"
        ) from None


def read_stored(read: Callable[[JsonObject], ValueT], plain: JsonObject) -> ValueT:
    """Return the value that JSON of a body holds; CorruptRecord where it has another shape."""
    try:
        return read(plain)
    except ValidationError:
        # The cause may tell what was said.
        raise CorruptRecord(SHAPELESS) from None


def _decode_present(shape: type[Event], body: bytes) -> Event:
    try:
        return cast("Event", shape.__pydantic_validator__.validate_json(body))
    except ValidationError as exc:
        if exc.errors(include_url=False, include_input=False)[0]["type"] != "json_invalid":
            raise
        # A lone surrogate is legal JSON, but not for the fast reader.
        return shape.model_validate(jsontext.read_object(body))


@cache
def _defaults(shape: type[BaseModel]) -> Mapping[str, object]:
    fields = shape.model_fields.items()
    return {name: field.get_default(call_default_factory=True) for name, field in fields}


def _plain(value: object) -> Any:
    # By type, not by class pattern: those ask the metaclass of the models, which takes its time.
    kind = type(value)
    if kind is str or value is None:
        return value
    if kind is tuple:
        return [_plain(item) for item in cast("tuple[object, ...]", value)]
    if kind is Native:
        native = cast("Native", value)
        return {"kind": native.kind, "api": native.api, "value": native.value}
    if kind is UUID:
        return str(value)
    if issubclass(kind, BaseModel):
        defaults = _defaults(kind)
        return {
            name: _plain(member)
            for name, member in vars(value).items()
            if name == "kind" or member != defaults[name]
        }
    return value
