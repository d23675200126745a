"""A program that keeps its own list of messages, on any API's wire; no network in between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast
from uuid import uuid4

from uuid_utils.compat import uuid7

from onrecord.adapters.recording.plan import Outgoing
from onrecord.adapters.recording.state import OpenRequest
from onrecord.adapters.wire.answer import Loss
from onrecord.adapters.wire.wires import WIRES, endpoint_of
from onrecord.domain import events, jsontext
from onrecord.domain.content import Native, NeutralBlock, Text, ToolCall, ToolResult
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.api import neutral_of
from tests.adapters.recorded_calls import Recorded, known
from tests.sent import events_of

List = list[JsonObject]


class Spelling(Protocol):
    """How an API spells what a program and its model say."""

    api: str
    endpoint: str

    def user(self, text: str) -> List: ...
    def system(self, text: str) -> JsonObject: ...
    def results(self, **gave: str) -> List: ...
    def body(self, history: List, **more: Any) -> JsonObject: ...
    def answer(self, text: str | None, calls: Sequence[str]) -> JsonObject: ...
    def echo(self, answer: JsonObject) -> List: ...
    def tool(self, name: str) -> JsonObject: ...


class Anthropic:
    api = "anthropic-messages"
    endpoint = "/v1/messages"

    def user(self, text: str) -> List:
        return [{"role": "user", "content": text}]

    def system(self, text: str) -> JsonObject:
        return {"system": text}

    def results(self, **gave: str) -> List:
        content = [
            {"type": "tool_result", "tool_use_id": call, "content": text}
            for call, text in gave.items()
        ]
        return [{"role": "user", "content": content}]

    def body(self, history: List, **more: Any) -> JsonObject:
        return {"model": "m", "max_tokens": 9, "messages": history, **more}

    def answer(self, text: str | None, calls: Sequence[str]) -> JsonObject:
        said = [] if text is None else [{"type": "text", "text": text, "citations": None}]
        made: List = [
            {"type": "tool_use", "id": call, "name": "look", "input": {}} for call in calls
        ]
        return {
            "id": f"msg_{uuid4().hex}",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "content": [*said, *made],
            "stop_reason": "tool_use" if calls else "end_turn",
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }

    def echo(self, answer: JsonObject) -> List:
        return [{"role": "assistant", "content": answer["content"]}]

    def tool(self, name: str) -> JsonObject:
        return {"name": name, "input_schema": {"type": "object"}}


class Chat:
    api = "openai-chat"
    endpoint = "/v1/chat/completions"

    def user(self, text: str) -> List:
        return [{"role": "user", "content": text}]

    def system(self, text: str) -> JsonObject:
        return {"system": text}

    def results(self, **gave: str) -> List:
        return [
            {"role": "tool", "tool_call_id": call, "content": text} for call, text in gave.items()
        ]

    def body(self, history: List, **more: Any) -> JsonObject:
        system = more.pop("system", None)
        leading = [] if system is None else [{"role": "system", "content": system}]
        return {"model": "m", "messages": [*leading, *history], **more}

    def answer(self, text: str | None, calls: Sequence[str]) -> JsonObject:
        message: JsonObject = {"role": "assistant", "content": text, "refusal": None}
        message["annotations"] = []
        if calls:
            function = {"name": "look", "arguments": "{}"}
            message["tool_calls"] = [
                {"id": call, "type": "function", "function": function} for call in calls
            ]
        return completion(message, finish_reason="tool_calls" if calls else "stop")

    def echo(self, answer: JsonObject) -> List:
        return [answer["choices"][0]["message"]]

    def tool(self, name: str) -> JsonObject:
        return {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}


def completion(*messages: JsonObject, finish_reason: str = "stop") -> JsonObject:
    return {
        "id": f"chatcmpl-{uuid4().hex}",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [
            {"index": index, "message": message, "finish_reason": finish_reason}
            for index, message in enumerate(messages)
        ],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }


class Responses:
    api = "openai-responses"
    endpoint = "/v1/responses"

    def user(self, text: str) -> List:
        return [{"role": "user", "content": text}]

    def system(self, text: str) -> JsonObject:
        return {"instructions": text}

    def results(self, **gave: str) -> List:
        return [
            {"type": "function_call_output", "call_id": call, "output": text}
            for call, text in gave.items()
        ]

    def body(self, history: List, **more: Any) -> JsonObject:
        return {"model": "m", "input": history, **more}

    def answer(self, text: str | None, calls: Sequence[str]) -> JsonObject:
        said = [] if text is None else [output_message(text)]
        made = [
            {
                "type": "function_call",
                "id": f"fc_{uuid4().hex}",
                "call_id": call,
                "name": "look",
                "arguments": "{}",
                "status": "completed",
            }
            for call in calls
        ]
        return response([*said, *made])

    def echo(self, answer: JsonObject) -> List:
        return cast("List", answer["output"])

    def tool(self, name: str) -> JsonObject:
        return {"type": "function", "name": name, "parameters": {"type": "object"}, "strict": None}


def output_message(text: str) -> JsonObject:
    return {
        "type": "message",
        "id": f"msg_{uuid4().hex}",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": [], "logprobs": []}],
    }


def response(output: List, status: str = "completed", **more: Any) -> JsonObject:
    return {
        "id": f"resp_{uuid4().hex}",
        "object": "response",
        "created_at": 1,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "model": "m",
        "output": output,
        "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2},
        **more,
    }


SPELLINGS: list[Spelling] = [Anthropic(), Chat(), Responses()]


@dataclass
class Program:
    """A program on one conversation: it sends its list, and is answered what the test says."""

    recorded: Recorded
    spelling: Spelling

    def user(self, text: str) -> List:
        return self.spelling.user(text)

    def results(self, **gave: str) -> List:
        return self.spelling.results(**gave)

    def send(
        self, history: List, *, after: int | None = None, endpoint: str = "", **more: Any
    ) -> OpenRequest:
        """Send a list; `system` in the API's own place."""
        system = more.pop("system", None)
        if system is not None:
            more |= self.spelling.system(system)
        body = jsontext.write(self.spelling.body(history, **more))
        path = endpoint or self.spelling.endpoint
        compacts = endpoint_of("POST", path).compacts
        outgoing = Outgoing(self.spelling.api, path, body, compacts=compacts)
        return self.recorded.recorder.begin(outgoing, after=after)

    def answered(self, begun: OpenRequest, answer: JsonObject, loss: Loss = "malformed") -> List:
        """Be answered with a body; return what the program appends to its list."""
        wire = WIRES[self.spelling.api]
        read = wire.read_body(jsontext.write(answer), loss, None)
        recording = events_of(read, response=uuid7(), request=begun.request, line=begun.line)
        self.recorded.recorder.conclude(begun, recording)
        return self.spelling.echo(answer)

    def answer(self, begun: OpenRequest, text: str | None, calls: Sequence[str] = ()) -> List:
        return self.answered(begun, self.spelling.answer(text, calls))

    def cut(self, begun: OpenRequest, text: str) -> List:
        """Have an answer cut after its text came whole."""
        answer = self.spelling.answer(text, ())
        wire = WIRES[self.spelling.api]
        read = wire.read_body(jsontext.write(answer), "cut", None)
        events_, blobs = events_of(read, response=uuid7(), request=begun.request, line=begun.line)
        *said, closing = events_
        assert isinstance(closing, events.ResponseCompleted)
        interrupted = events.ResponseInterrupted(
            response=closing.response,
            request=closing.request,
            api=closing.api,
            reason="cut",
            line=closing.line,
        )
        self.recorded.recorder.conclude(begun, ((*said, interrupted), blobs))
        return self.spelling.echo(answer)

    def fail(self, begun: OpenRequest) -> None:
        failed = events.AttemptFailed(request=begun.request, status=500, line=begun.line)
        self.recorded.recorder.conclude(begun, ((failed,), {}))

    def ask(self, history: List, text: str | None, calls: Sequence[str] = (), **more: Any) -> List:
        """Send a list and be answered; return the list with the answer."""
        return [*history, *self.answer(self.send(history, **more), text, calls)]

    # -- what the record says then -------------------------------------------------------------

    def relations(self) -> list[str]:
        """Each request's relation, on the main branch or `aside`."""
        return [
            f"{sent.relation}{'' if sent.line is None else ' aside'}"
            for sent in self.recorded.requests()
        ]

    def main(self, api: str = "") -> list[str]:
        """What the next request would say, block by block."""
        name = api or self.spelling.api
        request = self.recorded.chat.request(name)
        sent = WIRES[name].read_request(jsontext.write({"model": "m", **request.body}))
        said = (worded(neutral_of(name, piece.block)) for piece in sent.pieces)
        return [text for text in said if text]

    def said(self) -> list[str]:
        """All that callers said, on any line, in order."""
        return [
            text
            for recorded in self.recorded.chat.events(after=0)
            for event in [known(recorded)]
            for content in _said_in(event)
            for text in [worded(neutral(content))]
        ]


def neutral(content: Any) -> NeutralBlock:
    return neutral_of(content.api, content.value) if isinstance(content, Native) else content


def _said_in(event: events.Event) -> Sequence[Any]:
    match event:
        case events.MessageRecorded(role="user" | "system"):
            return event.content
        case events.ToolResultRecorded():
            return (event.content,)
        case _:
            return ()


def worded(block: NeutralBlock) -> str:
    match block:
        case Text(text=text):
            return text
        case ToolCall(id=call):
            return f"call {call}"
        case ToolResult(call_id=call):
            told = " ".join(part.text for part in block.content if isinstance(part, Text))
            return f"{call} gave {told}"
        case _:
            return block.kind
