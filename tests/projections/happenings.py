"""Conversations for tests: what happened, told as a caller and a recorder would tell it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from onrecord.domain import events
from onrecord.domain.content import Blob, Document, Native, Text, ToolCall, ToolResult
from onrecord.domain.conversation import CANCELLED
from onrecord.domain.events import Event
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.request_template import Template
from onrecord.projections.apis.request import Options, Request, render
from onrecord.projections.history.history import Block
from tests.prefixes import prefix_of

API = "anthropic-messages"
MODEL = "claude-sonnet-4-5"
_NO_TEMPLATE = Template(spans=(), sha256="0" * 64, size=0)
_CALLS = {"server_tool_use", "mcp_tool_use"}


class Story:
    """The events of one conversation, in order; each method tells what happened next."""

    def __init__(self) -> None:
        self.events: list[tuple[int, Event]] = []
        self._responses = 0
        self._request: UUID | None = None

    def happen(self, event: Event) -> int:
        """Add an event; return its version."""
        self.events.append((len(self.events) + 1, event))
        return len(self.events)

    def instruct(self, text: str) -> int:
        return self.happen(events.InstructionsSet(content=text))

    def user(self, *content: str | JsonObject | Text | Document | Native) -> int:
        return self.happen(events.MessageRecorded(role="user", content=_said(content)))

    def note(self, *content: str | JsonObject) -> int:
        return self.happen(events.MessageRecorded(role="system", content=_said(content)))

    def assistant(self, *content: str | JsonObject) -> int:
        return self.happen(events.MessageRecorded(role="assistant", content=_said(content)))

    def result(
        self, call_id: str, text: str = "found", *, is_error: bool = False, is_json: bool = False
    ) -> int:
        parts = (Text(text=text),) if text else ()
        result = ToolResult(call_id=call_id, content=parts, is_error=is_error, is_json=is_json)
        return self.happen(
            events.ToolResultRecorded(call_id=call_id, content=result, is_error=is_error)
        )

    def cancelled(self, call_id: str) -> int:
        result = ToolResult(call_id=call_id, content=(Text(text=CANCELLED),), is_error=True)
        return self.happen(
            events.ToolResultRecorded(
                call_id=call_id, content=result, is_error=True, cancelled=True
            )
        )

    def native_result(self, value: JsonObject) -> int:
        call_id: str = value["tool_use_id"]
        content = Native(api=API, value=value)
        return self.happen(events.ToolResultRecorded(call_id=call_id, content=content))

    def call(self, call_id: str, name: str = "look_up", arguments: Any = None) -> int:
        content = ToolCall(id=call_id, name=name, arguments=arguments or {})
        return self.happen(events.ToolCallRecorded(call_id=call_id, name=name, content=content))

    def redact(self, version: int) -> int:
        return self.happen(events.ContentRedacted(version=version))

    def ask(
        self,
        *,
        prefix: str | None = None,
        model: str = MODEL,
        account: str | None = None,
        line: UUID | None = None,
        seen: int | None = None,
    ) -> int:
        """Tell that a request was sent."""
        return self.happen(
            events.RequestSent(
                seen=seen,
                api=API,
                endpoint="/v1/messages",
                model=model,
                template=_NO_TEMPLATE,
                prefix=prefix,
                account=account,
                line=line,
            )
        )

    def ask_as_rendered(self, options: Options | None = None, **told: Any) -> Request:
        """Tell that the request which these events make was sent, with its prefix digest."""
        request = self.request(options)
        system, tools = request.get("system"), request.get("tools")
        self.ask(prefix=prefix_of(system, tools, request["messages"]), **told)
        return request

    def answer(
        self,
        *blocks: str | JsonObject,
        stop: str = "end_turn",
        envelope: JsonObject | None = None,
        unfinished: tuple[JsonObject, str] | None = None,
    ) -> UUID:
        """Tell that a response came: its blocks, and its end."""
        response = self.speak(*blocks, stop=stop)
        self.happen(
            events.ResponseCompleted(
                response=response,
                api=API,
                model=MODEL,
                stop_reason=stop,
                envelope=envelope or {"stop_reason": stop},
                unfinished=_begun(len(blocks), unfinished),
            )
        )
        return response

    def cut(
        self, *blocks: str | JsonObject, unfinished: tuple[JsonObject, str] | None = None
    ) -> UUID:
        """Tell that a response broke off: its finished blocks, and the one that was being said."""
        response = self.speak(*blocks, stop="cut")
        begun = _begun(len(blocks), unfinished)
        self.happen(
            events.ResponseInterrupted(response=response, api=API, reason="cut", unfinished=begun)
        )
        return response

    def speak(self, *blocks: str | JsonObject, stop: str) -> UUID:
        """Tell the blocks of a response, each as its kind of event."""
        self._responses += 1
        response = UUID(int=self._responses)
        for index, block in enumerate(blocks):
            value = {"type": "text", "text": block} if isinstance(block, str) else block
            self.happen(event_of_block(response, index, value, awaited=stop == "tool_use"))
        return response

    def request(
        self,
        options: Options | None = None,
        *,
        at: int | None = None,
        blobs: dict[str, bytes] | None = None,
    ) -> Request:
        """Return what would be sent now, or at an earlier version."""
        return render(self.events[:at], options or Options(), blobs or {})


def event_of_block(response: UUID, index: int, value: JsonObject, *, awaited: bool) -> Event:
    """The event that a block of a response is recorded as."""
    content = Native(api=API, value=value)
    kind: str = value["type"]
    match kind:
        case "text":
            return events.MessageRecorded(
                role="assistant", content=(content,), response=response, index=index
            )
        case "thinking" | "redacted_thinking":
            return events.ReasoningRecorded(response=response, index=index, content=content)
        case "compaction":
            return events.CompactionRecorded(response=response, index=index, content=content)
        case "tool_use":
            return events.ToolCallRecorded(
                response=response,
                index=index,
                call_id=value["id"],
                name=value["name"],
                content=content,
                awaited=awaited,
            )
        case _ if kind in _CALLS:
            return events.ServerToolCallRecorded(
                response=response,
                index=index,
                call_id=value["id"],
                name=value["name"],
                content=content,
            )
        case _ if kind.endswith("_tool_result"):
            return events.ServerToolResultRecorded(
                response=response, index=index, call_id=value["tool_use_id"], content=content
            )
        case _:
            return events.OpaqueRecorded(response=response, index=index, type=kind, content=content)


def tool_use(call_id: str, name: str = "look_up", **members: Any) -> JsonObject:
    return {"type": "tool_use", "id": call_id, "name": name, "input": {"q": call_id}, **members}


def server_tool_use(call_id: str, name: str = "web_search") -> JsonObject:
    return {"type": "server_tool_use", "id": call_id, "name": name, "input": {"query": "x"}}


def code_of(call_id: str) -> JsonObject:
    """The caller of a call that code made, as the block of the call names it."""
    return {"type": "code_execution_20250825", "tool_id": call_id}


def search_result(call_id: str) -> JsonObject:
    hit = {
        "type": "web_search_result",
        "url": "https://example.com",
        "title": "x",
        "encrypted_content": "Eo8=",
        "page_age": None,
    }
    return {"type": "web_search_tool_result", "tool_use_id": call_id, "content": [hit]}


def thinking(text: str = "hm", signature: str = "c2ln") -> JsonObject:
    return {"type": "thinking", "thinking": text, "signature": signature}


def tool_change(name: str, kind: str = "tool_addition") -> JsonObject:
    """A directive of the operator's that a tool is there from here on, or no more."""
    return {"type": kind, "tool": {"type": "tool_reference", "name": name}}


def text(said: str) -> JsonObject:
    return {"type": "text", "text": said}


def result_of(call_id: str, said: str = "found") -> JsonObject:
    return {"type": "tool_result", "tool_use_id": call_id, "content": [text(said)]}


def cancelled_result_of(call_id: str) -> JsonObject:
    return {**result_of(call_id, CANCELLED), "is_error": True}


def document(name: str, media_type: str, digest: str, size: int = 3) -> Document:
    return Document(media_type=media_type, name=name, blob=Blob(sha256=digest, size=size))


def flat(request: Request) -> list[tuple[str, JsonObject]]:
    """The blocks of a request's messages, each with its speaker."""
    return [
        (message["role"], block) for message in request["messages"] for block in message["content"]
    ]


def words(block: Block) -> str:
    """What a block of a turn says, or the id of the call that it makes or answers."""
    match block.content:
        case Text(text=said):
            return said
        case Native(value={"type": "text", "text": str() as said}):
            return said
        case Native(value=value):
            return str(value.get("id") or value.get("type"))
        case ToolCall(id=call_id):
            return call_id
        case ToolResult(content=(Text(text=said), *_)):
            return f"{block.call_id}: {said}"
        case _:
            return ""


def rules(request: Request) -> set[str]:
    """The rules that the report names."""
    return {note.rule for note in request.report}


def _begun(index: int, unfinished: tuple[JsonObject, str] | None) -> tuple[events.Unfinished, ...]:
    if unfinished is None:
        return ()
    value, partial = unfinished
    return (events.Unfinished(index=index, value=value, partial=partial),)


def _said(
    content: tuple[str | JsonObject | Text | Document | Native, ...],
) -> tuple[Text | Document | Native, ...]:
    return tuple(_block(said) for said in content)


def _block(said: str | JsonObject | Text | Document | Native) -> Text | Document | Native:
    match said:
        case str():
            return Text(text=said)
        case dict():
            return Native(api=API, value=said)
        case _:
            return said
