"""The messages of a Camunda agent, as the events that they come to, in neutral form.

Messages that only repeat the documents of results (`toolCallDocuments` in their metadata) are left
out: requests make them anew. Documents that the agent's own store holds stay references.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias, cast
from uuid import UUID

from onrecord.adapters.histories.history import Doubt, DoubtKind, Heard, Listener, Spoken
from onrecord.domain import jsontext
from onrecord.domain.content import Document, Native, Text, ToolCall, ToolResult
from onrecord.domain.documents import media_type_of
from onrecord.domain.errors import InvalidInput
from onrecord.domain.events import (
    Event,
    InstructionsSet,
    MessageRecorded,
    OpaqueRecorded,
    ResponseCompleted,
    SignalReceived,
    ToolCallRecorded,
    ToolResultRecorded,
)
from onrecord.domain.jsontext import JsonObject

API: Final = "camunda-agent"
"""The name under which parts stay that have no neutral form."""

Part: TypeAlias = Text | Document | Native

_MICRO: Final = 1_000_000
_BESIDE: Final = ("modelId", "messageId", "stopReason", "metadata")


def hear_messages(messages: Iterable[JsonObject], listener: Listener) -> Heard:
    """Return what the messages say; InvalidInput, with the number, where one has no known role."""
    hearing = _Hearing(listener.responses)
    for number, message in enumerate(messages, 1):
        hearing.take(message, f"message {number}")
    return Heard(tuple(hearing.spoken), (), {}, tuple(hearing.doubts))


def moment(text: Any) -> int | None:
    """Return a time in microseconds since 1970-01-01 UTC; None where a text is none.

    Java puts the name of the zone behind the offset (`…+02:00[Europe/Berlin]`): the offset counts.
    """
    if not isinstance(text, str):
        return None
    try:
        told = datetime.fromisoformat(_without_zone(text))
    except ValueError:
        return None
    aware = told if told.tzinfo else told.replace(tzinfo=UTC)
    return round(aware.timestamp() * _MICRO)


def _without_zone(text: str) -> str:
    if not text.endswith("]"):
        return text
    start = text.find("[", text.rfind("]", 0, -1) + 1)
    return text[:start] if start >= 0 else text


@dataclass(slots=True)
class _Hearing:
    """What was heard so far."""

    responses: Iterator[UUID]
    spoken: list[Spoken] = field(default_factory=list[Spoken])
    doubts: list[Doubt] = field(default_factory=list[Doubt])
    _system: str = ""

    def take(self, message: JsonObject, place: str) -> None:
        """Take in a message."""
        metadata = _members(message.get("metadata"))
        at = moment(metadata.get("timestamp"))
        match message.get("role"):
            case "system":
                self._instruct(message, place, at)
            case "user" if metadata.get("toolCallDocuments") is True:
                self._doubt("left out", place, "it repeats documents of results: not said anew")
            case "user":
                self._say(message, place, at)
            case "assistant":
                self._answer(message, place, at)
            case "tool_call_result":
                for result in _objects(message.get("results")):
                    self._result(result, place, at)
            case _:
                raise InvalidInput(f"{place}: its role is none of an agent's messages")

    def _tell(self, event: Event, place: str, at: int | None) -> None:
        self.spoken.append(Spoken(event, place, at))

    def _doubt(self, kind: DoubtKind, place: str, why: str) -> None:
        self.doubts.append(Doubt(kind, place, why))

    def _instruct(self, message: JsonObject, place: str, at: int | None) -> None:
        text = "\n\n".join(_text(part) for part in _objects(message.get("content")))
        if text != self._system:
            self._system = text
            self._tell(InstructionsSet(content=text), place, at)

    def _say(self, message: JsonObject, place: str, at: int | None) -> None:
        if content := self._parts(message.get("content"), place):
            self._tell(MessageRecorded(role="user", content=content), place, at)

    def _answer(self, message: JsonObject, place: str, at: int | None) -> None:
        response = next(self.responses)
        parts = self._parts(message.get("content"), place)
        for index, part in enumerate(parts):
            self._tell(_block(part, response, index), place, at)
        for index, call in enumerate(_objects(message.get("toolCalls")), len(parts)):
            self._call(call, response, index, place, at)
        envelope: JsonObject = {name: message[name] for name in _BESIDE if name in message}
        self._tell(
            ResponseCompleted(
                response=response,
                api=API,
                provider_id=_string(message.get("messageId")),
                model=_string(message.get("modelId")),
                stop_reason=_string(message.get("stopReason")),
                envelope=envelope,
            ),
            place,
            at,
        )

    def _call(
        self, call: JsonObject, response: UUID, index: int, place: str, at: int | None
    ) -> None:
        call_id, name = _string(call.get("id")), _string(call.get("name"))
        if not call_id or not name:
            raise InvalidInput(f"{place}: a call has no id, or no name")
        content = ToolCall(id=call_id, name=name, arguments=call.get("arguments") or {})
        event = ToolCallRecorded(
            response=response, index=index, call_id=call_id, name=name, content=content
        )
        self._tell(event, place, at)

    def _result(self, result: JsonObject, place: str, at: int | None) -> None:
        """Tell of a result; one without an id is what came from outside."""
        when = moment(result.get("completedAt")) or at
        content = self._neutral(result.get("content"), place)
        call_id = _string(result.get("id"))
        if not call_id:
            self._tell(SignalReceived(content=content), place, when)
            return
        given_up = result.get("interrupted") is True
        held = ToolResult(call_id=call_id, content=() if given_up else content, is_error=given_up)
        event = ToolResultRecorded(
            call_id=call_id, content=held, is_error=given_up, cancelled=given_up
        )
        self._tell(event, place, when)

    def _neutral(self, content: Any, place: str) -> tuple[Text | Document, ...]:
        """Return the parts of a result; what has no neutral form is told as its JSON."""
        return tuple(
            Text(text=jsontext.write(part.value).decode("utf-8", "surrogatepass"))
            if isinstance(part, Native)
            else part
            for part in self._parts(content, place)
        )

    def _parts(self, content: Any, place: str) -> tuple[Part, ...]:
        return tuple(self._part(part, place) for part in _objects(content) if not _is_blank(part))

    def _part(self, part: JsonObject, place: str) -> Part:
        match part:
            case {"type": "text", "text": str(text)}:
                return Text(text=text)
            case {"type": "object", "content": content}:
                text = jsontext.write(content).decode("utf-8", "surrogatepass")
                return Text(text=text)
            case {"type": "document", "document": {"url": str(url)} as held}:
                name = _string(cast("JsonObject", held).get("name"))
                return Document(media_type=media_type_of(b"", name or url), name=name, url=url)
            case {"type": "document"}:
                self._doubt("left out", place, "a document that the agent's own store holds")
                return Native(api=API, value=part)
            case _:
                self._doubt("opaque", place, "a part of a kind that is not known: kept as it is")
                return Native(api=API, value=part)


def _block(part: Part, response: UUID, index: int) -> Event:
    if isinstance(part, Native):
        kind = str(part.value.get("type", ""))
        return OpaqueRecorded(response=response, index=index, type=kind, content=part)
    return MessageRecorded(role="assistant", content=(part,), response=response, index=index)


def _is_blank(part: JsonObject) -> bool:
    text = part.get("text")
    return part.get("type") == "text" and (not isinstance(text, str) or not text.strip())


def _text(part: JsonObject) -> str:
    return str(part.get("text", ""))


def _string(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _members(value: Any) -> JsonObject:
    return cast("JsonObject", value) if isinstance(value, dict) else {}


def _objects(value: Any) -> list[JsonObject]:
    items = cast("list[Any]", value) if isinstance(value, list) else []
    return [cast("JsonObject", item) for item in items if isinstance(item, dict)]
