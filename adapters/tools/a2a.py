"""An A2A agent as a tool: what its card says, told to any model; nothing is asked of it.

The tool's name, description and arguments are those that Camunda's agents give remote agents, so a
model that knows one knows the other. Cards are of protocol 1.x or 0.3: both have a name and a
version, and the rest is told as it is.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from onrecord.adapters.inputs.arguments import kind_of, text_given
from onrecord.adapters.inputs.document_inputs import Unstored, decoded, from_outside, linked
from onrecord.adapters.tools.tool import Toolset, Unfolded, has_type, is_protobuf, plain
from onrecord.domain import jsontext
from onrecord.domain.content import Document
from onrecord.domain.errors import InvalidContent
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.tools import ToolDefinition, ToolSource
from onrecord.projections.members import nonempty_text

PREFIX: Final = "A2A_"

_ABOUT: Final = (
    "This tool allows interaction with the remote A2A agent represented by the following agent "
    "card:\n"
)
_UNFIT: Final = re.compile(r"[^a-zA-Z0-9_-]+")


def _message_schema() -> JsonObject:
    """Return the JSON Schema of a message to an agent; made anew, as schemas are plain dicts."""
    return {
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": "What to say to the agent."},
            "taskId": {
                "type": "string",
                "description": "The task that the message is about, if the agent began one.",
            },
            "contextId": {
                "type": "string",
                "description": "The context that the agent gave before, to go on in it.",
            },
            "referenceTaskIds": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Other tasks that the agent may need to know of.",
            },
        },
        "required": ["text"],
    }


def agent_card(card: object, *, element: str | None = None) -> Toolset:
    """Return the one tool that an A2A agent is: to say something to it.

    `card` is an `AgentCard` of the `a2a-sdk`, or its JSON. The tool is named `A2A_<element>`; by
    default the element is the agent's own name, spelled as tools are. The source's digest is that
    of the canonical JSON of the card. InvalidContent for what is no card of an agent with a name.
    """
    json_card = _card(card)
    name = a2a_name(_spelled(json_card["name"]) if element is None else element)
    tool = ToolDefinition(
        name=name,
        description=_ABOUT + jsontext.write(json_card).decode(),
        input_schema=_message_schema(),
    )
    source = ToolSource(
        origin="a2a",
        name=json_card["name"],
        version=nonempty_text(json_card.get("version")),
        sha256=hashlib.sha256(jsontext.write_canonical(json_card)).hexdigest(),
        tools=(name,),
    )
    return Toolset((tool,), source)


def a2a_name(element: str) -> str:
    """Return the name of the tool that stands for an agent; InvalidContent for a blank element."""
    if not text_given("an element", element).strip():
        raise InvalidContent("an agent's tool needs a name: give `element=` one")
    return f"{PREFIX}{element}"


def parse_a2a_name(name: str) -> str:
    """Return the element that a tool's name stands for; InvalidContent where it stands for none."""
    if len(name) <= len(PREFIX) or not name.startswith(PREFIX):
        raise InvalidContent(f"Invalid A2A tool call name: '{name}'")
    return name.removeprefix(PREFIX)


def _card(value: object) -> JsonObject:
    json_value = plain(value)
    if not isinstance(json_value, dict):
        raise InvalidContent(f"an agent's card is an AgentCard or its JSON, not {kind_of(value)}")
    card = cast("JsonObject", json_value)
    name: Any = card.get("name")
    if not isinstance(name, str) or not name.strip():
        raise InvalidContent("an agent's card has a `name`: this one has none")
    return card


def _spelled(name: str) -> str:
    return _UNFIT.sub("_", name).strip("_") or "agent"


# What agents give that are called by A2A, as their JSON with the documents taken out.
#
# The types are those of the `a2a-sdk`: of version 1 (protobuf, package `lf.a2a.v1`) and of
# version 0.3. The documents of a task are those of its artifacts, then of its history; those of
# the message of its status are not looked for: it is about the work, and no part of what was
# made.

_PACKAGES: Final = frozenset({"a2a", "a2a_pb2"})
_FAILED: Final = frozenset({"TASK_STATE_FAILED", "TASK_STATE_REJECTED", "failed", "rejected"})
_HOLDING: Final = ("artifacts", "history")
"""What of a task holds documents, in their order."""

_OF_ANY_SHAPE: Final = frozenset({"data", "metadata"})
_EXACT: Final = 2**53


def is_from_sdk(value: object) -> bool:
    """Whether a value is a message, a task, or a part of one, of the `a2a-sdk`."""
    return has_type(value, _PACKAGES, _KINDS)


def unfold(value: Any) -> Unfolded:
    """Return the JSON of a value, documents in the place of their bytes and addresses."""
    kind = type(value).__name__
    json_value = plain(value)
    unfolded = _KINDS[kind](_settled(json_value) if is_protobuf(value) else json_value)
    about: Any = unfolded.get("task") or unfolded.get("statusUpdate") or unfolded
    status: Any = about.get("status", {})
    return Unfolded(unfolded, is_error=status.get("state") in _FAILED)


def _part(part: JsonObject) -> JsonObject:
    """Return a part with its document in place; what else is said of it stays."""
    if "data" in part:
        return part
    if isinstance(part.get("file"), dict):
        document = _document(part["file"], "bytes", "uri", "mimeType", "name")
        return part if document is None else {**part, "file": document}
    document = _document(part, "raw", "url", "mediaType", "filename")
    if document is None:
        return part
    rest = {name: part[name] for name in part if name not in ("filename", "mediaType")}
    return {**rest, "raw" if "raw" in part else "url": document}


def _document(
    members: JsonObject, inline: str, address: str, media_type: str, name: str
) -> Document | Unstored | None:
    declared, named = members.get(media_type), members.get(name)
    if address in members:
        return linked(members[address], declared, named)
    data = decoded(members.get(inline))
    return None if data is None else from_outside(data, declared, named)


def _with_parts(message: JsonObject) -> JsonObject:
    return {**message, "parts": [_part(part) for part in message.get("parts", ())]}


def _task(task: JsonObject) -> JsonObject:
    members = _with_status(task)
    rest = {name: members[name] for name in members if name not in _HOLDING}
    holding = [name for name in _HOLDING if name in members]
    return {**rest, **{name: [*map(_with_parts, members[name])] for name in holding}}


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


def _without(members: JsonObject, name: str) -> JsonObject:
    return {each: value for each, value in members.items() if each != name}


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
