"""The context that a Camunda agent keeps: its messages in a list, or by turns, of any schema version.

What it is made of: `role` tells messages apart, `type` the parts of their content. A context without
`schemaVersion`, or with 0, holds results of tools as they came: those are lifted to parts. What is of
a later version than 1 is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias, cast
from uuid import UUID

from onrecord.adapters.histories.foreign_history import (
    Histories,
    History,
    Transcriber,
    Transcript,
    TranscriptContext,
    microseconds,
)
from onrecord.adapters.wire.answer import named
from onrecord.domain import jsontext
from onrecord.domain.content import Document, Native, Text, ToolCall, ToolResult
from onrecord.domain.conversation import CANCELLED
from onrecord.domain.documents import media_type_of
from onrecord.domain.errors import InvalidInput, MalformedJson
from onrecord.domain.events import (
    Event,
    MessageRecorded,
    OpaqueRecorded,
    ResponseCompleted,
    SignalReceived,
    ToolCallRecorded,
    ToolResultRecorded,
)
from onrecord.domain.jsontext import JsonObject, read_bounded
from onrecord.projections.members import members_of, nonempty_text, objects

# The messages of a Camunda agent, as the events that they come to, in neutral form.
#
# Messages that only repeat the documents of results (`toolCallDocuments` in their metadata) are
# left out: requests make them anew. Documents that the agent's own store holds stay references.

API: Final = "camunda-agent"
"""The name under which parts stay that have no neutral form."""

Part: TypeAlias = Text | Document | Native

_BESIDE: Final = ("modelId", "messageId", "stopReason", "metadata")
_READ_OF_MESSAGES: Final = frozenset({"role", "content", "results", "toolCalls", "metadata"})
_READ_OF_METADATA: Final = frozenset({"timestamp", "toolCallDocuments"})
_READ_OF_RESULTS: Final = frozenset(
    {"id", "name", "content", "interrupted", "completedAt", "properties"}
)


def transcribe_messages(messages: Iterable[JsonObject], context: TranscriptContext) -> Transcript:
    """Return what the messages say; InvalidInput, with the number, where one has no known role."""
    transcriber = _Transcriber(context.responses)
    for number, message in enumerate(messages, 1):
        transcriber.take(message, f"message {number}")
    return transcriber.transcript()


def moment(text: Any) -> int | None:
    """Return a time in microseconds since 1970-01-01 UTC; None where a text is none.

    Java puts the name of the zone behind the offset (`…+02:00[Europe/Berlin]`): the offset counts.
    """
    return microseconds(_without_zone(text)) if isinstance(text, str) else None


def _without_zone(text: str) -> str:
    if not text.endswith("]"):
        return text
    start = text.find("[", text.rfind("]", 0, -1) + 1)
    return text[:start] if start >= 0 else text


class _Transcriber(Transcriber):
    """The transcript of an agent's messages."""

    def take(self, message: JsonObject, place: str) -> None:
        metadata = members_of(message.get("metadata"))
        at = moment(metadata.get("timestamp"))
        if message.get("role") != "assistant":  # Whose envelope keeps them.
            self._leave_out(message, _READ_OF_MESSAGES, place, "members of a message")
            self._leave_out(metadata, _READ_OF_METADATA, place, "metadata of a message")
        match message.get("role"):
            case "system":
                self.instruct(map(_text, objects(message.get("content"))), place, at)
            case "user" if metadata.get("toolCallDocuments") is True:
                self.doubt("left out", place, "it repeats documents of results: not said anew")
            case "user":
                self._say(message, place, at)
            case "assistant":
                self._answer(message, place, at)
            case "tool_call_result":
                for result in objects(message.get("results")):
                    self._result(result, place, at)
            case _:
                raise InvalidInput(f"{place}: its role is none of an agent's messages")

    def _say(self, message: JsonObject, place: str, at: int | None) -> None:
        if content := self._parts(message.get("content"), place):
            self.add(MessageRecorded(role="user", content=content), place, at)

    def _answer(self, message: JsonObject, place: str, at: int | None) -> None:
        response = next(self.responses)
        parts = self._parts(message.get("content"), place)
        for index, part in enumerate(parts):
            self.add(_block(part, response, index), place, at)
        for index, call in enumerate(objects(message.get("toolCalls")), len(parts)):
            self._call(call, response, index, place, at)
        envelope: JsonObject = {name: message[name] for name in _BESIDE if name in message}
        self.add(
            ResponseCompleted(
                response=response,
                api=API,
                provider_id=nonempty_text(message.get("messageId")),
                model=nonempty_text(message.get("modelId")),
                stop_reason=nonempty_text(message.get("stopReason")),
                envelope=envelope,
            ),
            place,
            at,
        )

    def _call(
        self, call: JsonObject, response: UUID, index: int, place: str, at: int | None
    ) -> None:
        call_id, name = nonempty_text(call.get("id")), nonempty_text(call.get("name"))
        if not call_id or not name:
            raise InvalidInput(f"{place}: a call has no id, or no name")
        content = ToolCall(id=call_id, name=name, arguments=call.get("arguments") or {})
        event = ToolCallRecorded(
            response=response, index=index, call_id=call_id, name=name, content=content
        )
        self.add(event, place, at)

    def _result(self, result: JsonObject, place: str, at: int | None) -> None:
        """Tell of a result; one without an id is what came from outside.

        One that was interrupted keeps what it gave till then, as `ingest` keeps it.
        """
        result = result | members_of(result.get("properties"))
        self._leave_out(result, _READ_OF_RESULTS, place, "members of a result")
        when = moment(result.get("completedAt")) or at
        content = self._neutral(result.get("content"), place)
        call_id = nonempty_text(result.get("id"))
        if not call_id:
            self.add(SignalReceived(content=content), place, when)
            return
        given_up = result.get("interrupted") is True
        is_bare = given_up and content == (Text(text=CANCELLED),)
        held = ToolResult(call_id=call_id, content=() if is_bare else content, is_error=given_up)
        event = ToolResultRecorded(
            call_id=call_id, content=held, is_error=given_up, cancelled=given_up
        )
        self.add(event, place, when)

    def _leave_out(self, members: JsonObject, read: frozenset[str], place: str, what: str) -> None:
        """Say which members of an object are not recorded, if they hold anything."""
        names = (name for name, value in members.items() if name not in read and value)
        if left_out := ", ".join(sorted(map(named, names))):
            self.doubt("left out", place, f"{what}: {left_out}")

    def _neutral(self, content: Any, place: str) -> tuple[Text | Document, ...]:
        """Return the parts of a result; what has no neutral form is told as its JSON."""
        return tuple(
            Text(text=jsontext.write(part.value).decode("utf-8", "surrogatepass"))
            if isinstance(part, Native)
            else part
            for part in self._parts(content, place)
        )

    def _parts(self, content: Any, place: str) -> tuple[Part, ...]:
        return tuple(self._part(part, place) for part in objects(content) if not _is_blank(part))

    def _part(self, part: JsonObject, place: str) -> Part:
        match part:
            case {"type": "text", "text": str(text)}:
                return Text(text=text)
            case {"type": "object", "content": content}:
                text = jsontext.write(content).decode("utf-8", "surrogatepass")
                return Text(text=text)
            case {"type": "document", "document": {"url": str(url)} as held}:
                name = nonempty_text(cast("JsonObject", held).get("name"))
                return Document(media_type=media_type_of(b"", name or url), name=name, url=url)
            case {"type": "document"}:
                self.doubt("left out", place, "a document that the agent's own store holds")
                return Native(api=API, value=part)
            case _:
                self.doubt("opaque", place, "a part of a kind that is not known: kept as it is")
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


SCHEMA: Final = 1
"""The latest schema version of a context that is known."""


def contexts_in(path: Path) -> Histories:
    """Return the one history of a file that holds an agent's context; InvalidInput where it does not."""
    try:
        value = read_bounded(path.read_bytes())
    except MalformedJson as exc:
        raise InvalidInput(f"the file is no JSON: {exc}") from exc
    context = _context(value)
    history = History("the file", None, partial(transcribe_messages, _messages(context)))
    return Histories(1, are_several=False, read=lambda: iter((history,)))


def lifted(content: Any) -> list[JsonObject]:
    """Return the parts that the content of a result comes to, which was kept as it came.

    Nothing, and blank text, has no parts; a text is one, and so is a reference to a document. All
    else is one opaque object: a list stays data, even where it looks like parts.
    """
    match content:
        case None:
            return []
        case str():
            return [{"type": "text", "text": content}] if content.strip() else []
        case {"camunda.document.type": str()}:
            return [{"type": "document", "document": content}]
        case _:
            return [{"type": "object", "content": content}]


def _context(value: Any) -> JsonObject:
    match value:
        case {"context": {**context}} | {"agentContext": {**context}}:
            return cast("JsonObject", context)
        case {"messages": _} | {"turns": _} | {"conversation": _}:
            return cast("JsonObject", value)
        case _:
            raise InvalidInput(
                "the file holds no agent's context: that has `messages`, `turns` or `conversation`"
            )


def _messages(context: JsonObject) -> list[JsonObject]:
    version = _version(context)
    within = members_of(context.get("conversation", context))
    version = max(version, _version(within))
    match within:
        case {"turns": [*turns]}:
            messages = list(_in_turns(turns))
        case {"messages": [*listed]}:
            messages = [_object(each, f"message {at}") for at, each in enumerate(listed, 1)]
        case _:
            raise InvalidInput("the conversation of the context has neither `messages` nor `turns`")
    return messages if version else [_with_parts(message) for message in messages]


def _version(context: JsonObject) -> int:
    version = context.get("schemaVersion") or 0
    if isinstance(version, bool) or not isinstance(version, int):
        raise InvalidInput("the schemaVersion of the context is no number")
    if version > SCHEMA:
        raise InvalidInput(
            f"the context has schemaVersion {version}, which is newer than {SCHEMA} and not "
            "supported: upgrade Onrecord"
        )
    return version


def _in_turns(turns: list[Any]) -> Iterator[JsonObject]:
    for at, each in enumerate(turns, 1):
        turn = _object(each, f"turn {at}")
        said: Any = turn.get("inputMessages") or []
        answered = turn.get("assistantMessage")
        if not isinstance(said, list):
            raise InvalidInput(f"turn {at}: its inputMessages are no list")
        for message in cast("list[Any]", said):
            yield _object(message, f"turn {at}")
        if answered is not None:
            yield _object(answered, f"turn {at}")


def _with_parts(message: JsonObject) -> JsonObject:
    """Return a message of the first schema with its results' content in parts; siblings stay."""
    results = message.get("results")
    if message.get("role") != "tool_call_result" or not isinstance(results, list):
        return message
    held = [_object(each, "a result") for each in cast("list[Any]", results)]
    return {
        **message,
        "results": [{**each, "content": lifted(each.get("content"))} for each in held],
    }


def _object(value: Any, place: str) -> JsonObject:
    if isinstance(value, dict):
        return cast("JsonObject", value)
    raise InvalidInput(f"{place} is no object")
