"""What `llm` (simonw/llm) keeps of a call of a model, and the events that it comes to.

Its parts of a message are of no provider's form, so they are recorded in neutral form. What has
none (a provider's own tools, kinds that are not known) is kept as it is, and what a part says
besides (signatures and other metadata of the provider) stands in the envelope of its response.
Shapes: `llm.serialization`, release 0.36.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast
from uuid import UUID

from onrecord.adapters.histories.foreign_history import Transcriber, Transcript, TranscriptContext
from onrecord.domain.blobs import blob_of, spill
from onrecord.domain.content import Document, Native, Reasoning, Text, ToolCall, ToolResult
from onrecord.domain.documents import media_type_of
from onrecord.domain.events import (
    Event,
    MessageRecorded,
    OpaqueRecorded,
    ReasoningRecorded,
    ResponseCompleted,
    ServerToolCallRecorded,
    ServerToolResultRecorded,
    ToolCallRecorded,
    ToolResultRecorded,
    ToolsDeclared,
)
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.tools import ToolDefinition, tools_digest

API: Final = "simonw-llm"
"""The name under which blocks stay that have no neutral form."""

_SAID: Final = frozenset(
    {"type", "text", "name", "arguments", "output", "tool_call_id", "attachment", "attachments"}
)


@dataclass(frozen=True, slots=True)
class Message:
    """A message: who says it, its parts, and what the provider says of it besides."""

    role: str
    parts: tuple[JsonObject, ...]
    metadata: Any = None


@dataclass(frozen=True, slots=True)
class Turn:
    """A call of a model: what was said to it for the first time, and what it said.

    An attachment among the parts has its row's members; `content` is bytes. `envelope` is None for
    messages of which no call is known.
    """

    place: str
    said: tuple[Message, ...]
    answered: tuple[Message, ...] = ()
    tools: tuple[ToolDefinition, ...] = ()
    occurred_at: int | None = None
    envelope: JsonObject | None = None
    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None


def transcribe_turns(turns: Iterable[Turn], context: TranscriptContext) -> Transcript:
    """Return what the turns of a conversation say."""
    transcriber = _Transcriber(context.responses)
    for turn in turns:
        transcriber.take(turn)
    return transcriber.transcript()


@dataclass(slots=True)
class _Transcriber(Transcriber):
    """The transcript of turns."""

    _tools: tuple[ToolDefinition, ...] = ()

    def take(self, turn: Turn) -> None:
        if turn.envelope is not None and turn.tools != self._tools:
            self._tools = turn.tools
            self._tell(ToolsDeclared(tools=turn.tools, sha256=tools_digest(turn.tools)), turn)
        for message in turn.said:
            if message.role == "assistant":
                self._answer((message,), next(self.responses), turn)
            else:
                self._say(message, turn)
        if turn.answered or turn.envelope:
            response = next(self.responses)
            self._answer(turn.answered, response, turn)
            self._close(response, turn)

    def _tell(self, event: Event, turn: Turn) -> None:
        self.add(event, turn.place, turn.occurred_at)

    def _say(self, message: Message, turn: Turn) -> None:
        match message.role:
            case "system":
                texts = (str(part.get("text", "")) for part in message.parts)
                self.instruct(texts, turn.place, turn.occurred_at)
            case "tool":
                for part in message.parts:
                    self._tell(self._result(part, turn), turn)
            case role:
                if role != "user":
                    why = "a role that is not known: kept as what the user said"
                    self.doubt("opaque", turn.place, why)
                content = tuple(self._content(part, turn) for part in message.parts)
                if content:
                    self._tell(MessageRecorded(role="user", content=content), turn)

    def _answer(self, messages: Iterable[Message], response: UUID, turn: Turn) -> None:
        parts = [part for message in messages for part in message.parts]
        for index, part in enumerate(parts):
            self._tell(self._block(part, response, index, turn), turn)

    def _block(self, part: JsonObject, response: UUID, index: int, turn: Turn) -> Event:
        match part:
            case {"server_executed": True, "type": "tool_call", "name": str(name)}:
                return ServerToolCallRecorded(
                    response=response,
                    index=index,
                    call_id=_call_id(part),
                    name=name,
                    content=self._native(part, turn),
                )
            case {"server_executed": True, "type": "tool_result"}:
                return ServerToolResultRecorded(
                    response=response,
                    index=index,
                    call_id=_call_id(part),
                    content=self._native(part, turn),
                )
            case {"type": "reasoning"}:
                reasoning = Reasoning(text=str(part.get("text", "")))
                return ReasoningRecorded(response=response, index=index, content=reasoning)
            case {"type": "tool_call", "name": str(name), "arguments": arguments}:
                call = ToolCall(id=_call_id(part), name=name, arguments=arguments)
                return ToolCallRecorded(
                    response=response, index=index, call_id=call.id, name=name, content=call
                )
            case {"type": "text" | "attachment"}:
                content = (self._content(part, turn),)
                return MessageRecorded(
                    role="assistant", content=content, response=response, index=index
                )
            case _:
                return OpaqueRecorded(
                    response=response,
                    index=index,
                    type=str(part.get("type", "")),
                    content=self._native(part, turn),
                )

    def _content(self, part: JsonObject, turn: Turn) -> Text | Document | Native:
        match part:
            case {"type": "text", "text": str(text)}:
                return Text(text=text)
            case {"type": "attachment", "attachment": {**attachment}}:
                return self._document(attachment) or self._native(part, turn)
            case _:
                return self._native(part, turn)

    def _document(self, attachment: Mapping[Any, Any]) -> Document | None:
        """Return a document; None for one that was only a path on the machine that sent it."""
        match attachment:
            case {"content": bytes(content)} if content:
                blob = blob_of(content)
                self.blobs[blob.sha256] = content
                return Document(media_type=_type(attachment) or media_type_of(content), blob=blob)
            case {"url": str(url)} if url:
                return Document(media_type=_type(attachment) or media_type_of(b"", url), url=url)
            case _:
                return None

    def _result(self, part: JsonObject, turn: Turn) -> Event:
        call_id, is_error = _call_id(part), part.get("exception") is not None
        documents = [self._document(attachment) for attachment in part.get("attachments") or ()]
        if None in documents:
            self.doubt(
                "left out",
                turn.place,
                "a file that a tool gave is only a path: its bytes are not here",
            )
        content: tuple[Text | Document, ...] = (
            Text(text=str(part.get("output", ""))),
            *(document for document in documents if document is not None),
        )
        result = ToolResult(call_id=call_id, content=content, is_error=is_error)
        return ToolResultRecorded(call_id=call_id, content=result, is_error=is_error)

    def _native(self, part: JsonObject, turn: Turn) -> Native:
        if part.get("type") == "attachment":
            self.doubt(
                "left out", turn.place, "an attachment is only a path: its bytes are not here"
            )
        value, spilled = spill(_in_base64(part))
        self.blobs.update(spilled)
        return Native(api=API, value=value)

    def _close(self, response: UUID, turn: Turn) -> None:
        envelope = dict(turn.envelope or {})
        if besides := list(_besides((*turn.said, *turn.answered))):
            envelope["parts"] = besides
        self._tell(
            ResponseCompleted(
                response=response,
                api=API,
                model=turn.model,
                envelope=envelope,
                input_tokens=turn.input_tokens,
                output_tokens=turn.output_tokens,
            ),
            turn,
        )


def _besides(messages: Iterable[Message]) -> Iterator[JsonObject]:
    """Yield what the messages and parts of a turn say besides what is recorded of them."""
    for number, message in enumerate(messages):
        if message.metadata:
            yield {"message": number, "provider_metadata": message.metadata}
        for place, part in enumerate(message.parts):
            more = {member: value for member, value in part.items() if member not in _SAID}
            if more:
                yield {"message": number, "part": place, **more}


def _in_base64(value: Any) -> Any:
    """Return a value with bytes as JSON has them."""
    match value:
        case bytes():
            return b64encode(value).decode()
        case dict():
            return {k: _in_base64(held) for k, held in cast("JsonObject", value).items()}
        case list():
            return [_in_base64(item) for item in cast("list[Any]", value)]
        case _:
            return value


def _call_id(part: JsonObject) -> str:
    call_id = part.get("tool_call_id")
    return call_id if isinstance(call_id, str) else ""


def _type(attachment: Mapping[Any, Any]) -> str | None:
    return cast("str | None", attachment.get("type"))
