"""What agents give that are called by A2A, as their JSON with the documents taken out.

The types are those of the `a2a-sdk`: of version 1 (protobuf, package `lf.a2a.v1`) and of version
0.3. The documents of a task are those of its artifacts, then of its history; those of the message
of its status are not looked for: it is about the work, and no part of what was made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from onrecord.adapters.conversation.documents import Unstored, decoded, from_outside, linked
from onrecord.adapters.tools.plain_json import plain
from onrecord.adapters.tools.unfolded import Unfolded
from onrecord.domain.content import Document
from onrecord.domain.jsontext import JsonObject

_MODULES: Final = frozenset({"a2a", "a2a_pb2"})
_FAILED: Final = frozenset({"TASK_STATE_FAILED", "TASK_STATE_REJECTED", "failed", "rejected"})
_HOLDING: Final = ("artifacts", "history")
"""What of a task holds documents, in their order."""

_PROTOBUF: Final = "DESCRIPTOR"
"""What every message of protobuf has."""

_OF_ANY_SHAPE: Final = frozenset({"data", "metadata"})
_EXACT: Final = 2**53


def is_told(value: object) -> bool:
    """Whether a value is a message, a task, or a part of one, of the `a2a-sdk`."""
    kind = type(value)
    return kind.__name__ in _KINDS and kind.__module__.partition(".")[0] in _MODULES


def told(value: Any) -> Unfolded:
    """Return the JSON of a value, documents in the place of their bytes and addresses."""
    kind = type(value).__name__
    held = plain(value)
    said = _KINDS[kind](_settled(held) if hasattr(value, _PROTOBUF) else held)
    about: Any = said.get("task") or said.get("statusUpdate") or said
    status: Any = about.get("status", {})
    return Unfolded(said, is_error=status.get("state") in _FAILED)


def _part(part: JsonObject) -> JsonObject:
    """Return a part with its document in place; what else is said of it stays."""
    if "data" in part:
        return part
    if isinstance(part.get("file"), dict):
        found = _document(part["file"], "bytes", "uri", "mimeType", "name")
        return part if found is None else {**part, "file": found}
    found = _document(part, "raw", "url", "mediaType", "filename")
    if found is None:
        return part
    kept = {name: part[name] for name in part if name not in ("filename", "mediaType")}
    return {**kept, "raw" if "raw" in part else "url": found}


def _document(
    held: JsonObject, inline: str, address: str, media_type: str, name: str
) -> Document | Unstored | None:
    declared, named = held.get(media_type), held.get(name)
    if address in held:
        return linked(held[address], declared, named)
    data = decoded(held.get(inline))
    return None if data is None else from_outside(data, declared, named)


def _with_parts(message: JsonObject) -> JsonObject:
    return {**message, "parts": [_part(part) for part in message.get("parts", ())]}


def _task(task: JsonObject) -> JsonObject:
    told = _with_status(task)
    rest = {name: told[name] for name in told if name not in _HOLDING}
    held = ((name, [_with_parts(each) for each in told[name]]) for name in _HOLDING if name in told)
    return {**rest, **dict[str, Any](held)}


def _with_status(event: JsonObject) -> JsonObject:
    """Return a task, or news of it, without the bytes of files in the message of its status."""
    status: Any = event.get("status", {})
    if "message" not in status:
        return event
    message = status["message"]
    parts = [_without_bytes(part) for part in message.get("parts", ())]
    return {**event, "status": {**status, "message": {**message, "parts": parts}}}


def _without_bytes(part: JsonObject) -> JsonObject:
    if "data" in part:
        return part
    if isinstance(part.get("file"), dict):
        return {**part, "file": _without(part["file"], "bytes")}
    return _without(part, "raw")


def _without(held: JsonObject, name: str) -> JsonObject:
    return {each: value for each, value in held.items() if each != name}


def _artifact_update(event: JsonObject) -> JsonObject:
    return {**event, "artifact": _with_parts(event.get("artifact", {}))}


def _response(response: JsonObject) -> JsonObject:
    return {name: _MEMBERS[name](value) for name, value in response.items()}


def _settled(value: Any, *, is_free: bool = False) -> Any:
    """Return the JSON of a protobuf message, the same each time that it is read.

    What is of any shape there (`is_free`) has its members in no order, and knows doubles alone:
    they are sorted here, and whole numbers are whole.
    """
    match value:
        case dict():
            members = cast("JsonObject", value)
            names = sorted(members) if is_free else members
            return {
                name: _settled(members[name], is_free=is_free or name in _OF_ANY_SHAPE)
                for name in names
            }
        case list():
            return [_settled(item, is_free=is_free) for item in cast("list[Any]", value)]
        case float() if is_free and value.is_integer() and abs(value) <= _EXACT:
            return int(value)
        case _:
            return value


_KINDS: Final[Mapping[str, Callable[[JsonObject], JsonObject]]] = {
    "Part": _part,
    "Message": _with_parts,
    "Artifact": _with_parts,
    "Task": _task,
    "TaskArtifactUpdateEvent": _artifact_update,
    "TaskStatusUpdateEvent": _with_status,
    "SendMessageResponse": _response,
    "StreamResponse": _response,
}
"""Names of types to what tells their JSON."""

_MEMBERS: Final[Mapping[str, Callable[[JsonObject], JsonObject]]] = {
    "task": _task,
    "message": _with_parts,
    "artifactUpdate": _artifact_update,
    "statusUpdate": _with_status,
}
"""Members of an agent's answer, one of which it has."""
