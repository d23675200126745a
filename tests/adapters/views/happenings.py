"""What may happen to a conversation, each kind of event as a strategy: for properties of views."""

from __future__ import annotations

import secrets
from uuid import UUID, uuid4

from hypothesis import strategies as st
from uuid_utils.compat import uuid7

from onrecord.domain import events
from onrecord.domain.content import Document, Native, Role, Text, ToolCall, ToolResult
from onrecord.domain.events import Event
from onrecord.domain.head import Effect
from onrecord.domain.header import ClientHeader, header_bytes
from onrecord.domain.items import ItemRecorded, ItemsReplaced, ItemWithdrawn, StreamCleared
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.log import NewEvent
from onrecord.domain.request_template import Template
from tests.factories import OCCURRED_AT, TENANT

_TEMPLATE = Template(spans=(), sha256="0" * 64, size=0)
_APIS = ("anthropic-messages", "openai-chat", "gemini", "bedrock-converse")
_MODELS = ("claude-sonnet-5", "gpt-6", None, "")

texts = st.one_of(
    st.sampled_from(["hello", "what does it say?", "\0", "\ud800", "zeile\nzwei", "  ", "多字"]),
    st.text(max_size=20),
    st.just("long " * 60_000),
)
"""What people and models say, NUL and lone surrogates included."""

_lines = st.sampled_from([None, None, None, UUID(int=1), UUID(int=2)])
_apis = st.sampled_from(_APIS)
_models = st.sampled_from(_MODELS)
_calls = st.sampled_from(["c1", "c2", "c3"])
_versions = st.integers(1, 12)
_counts = st.one_of(st.none(), st.integers(0, 5000), st.sampled_from([-1, 2**53 - 1, 2**70]))


def _response(number: int) -> UUID:
    return UUID(int=1000 + number)


def _message(
    role: Role, line: UUID | None, said: str, form: str, response: int
) -> events.MessageRecorded:
    content: dict[str, Text | Document | Native] = {
        "text": Text(text=said),
        "native": Native(api="anthropic-messages", value={"type": "text", "text": said}),
        "whole": Native(api="openai-chat", value={"role": "user", "content": said}),
        "unknown": Native(api="unheard-of", value={"words": said}),
        "document": Document(media_type="text/plain", url="https://example.org/a"),
        "blob": Native(
            api="anthropic-messages",
            value={"type": "text", "text": {"$onrecord.blob": "0" * 64, "size": 70_000}},
        ),
    }
    is_answer = role == "assistant"
    return events.MessageRecorded(
        role=role,
        content=(content[form],),
        line=line,
        response=_response(response) if is_answer else None,
        index=0 if is_answer else None,
    )


_roles: st.SearchStrategy[Role] = st.sampled_from(["user", "user", "assistant", "system"])

messages = st.builds(
    _message,
    _roles,
    _lines,
    texts,
    st.sampled_from(["text", "native", "whole", "unknown", "document", "blob"]),
    st.integers(0, 3),
)


@st.composite
def tool_calls(draw: st.DrawFn) -> Event:
    call_id, name, line = draw(_calls), draw(st.sampled_from(["look_up", "se\0nd"])), draw(_lines)
    content = ToolCall(id=call_id, name=name, arguments={"q": draw(texts)})
    awaited = draw(st.booleans())
    return events.ToolCallRecorded(
        call_id=call_id, name=name, content=content, awaited=awaited, line=line
    )


@st.composite
def results(draw: st.DrawFn) -> Event:
    call_id, line = draw(_calls), draw(_lines)
    content = ToolResult(call_id=call_id, content=(Text(text=draw(texts)),))
    is_error = draw(st.booleans())
    if draw(st.booleans()):
        return events.ToolResultRejected(
            call_id=call_id, content=content, is_error=is_error, reason="duplicate", line=line
        )
    cancelled = draw(st.booleans())
    return events.ToolResultRecorded(
        call_id=call_id, content=content, is_error=is_error, cancelled=cancelled, line=line
    )


@st.composite
def server_tools(draw: st.DrawFn) -> Event:
    call_id, line, response = draw(_calls), draw(_lines), _response(draw(st.integers(0, 3)))
    if draw(st.booleans()):
        called: JsonObject = {
            "type": "server_tool_use",
            "id": call_id,
            "name": "web_search",
            "input": {},
        }
        return events.ServerToolCallRecorded(
            response=response,
            index=1,
            call_id=call_id,
            name="web_search",
            content=Native(api="anthropic-messages", value=called),
            line=line,
        )
    gave: JsonObject = {"type": "web_search_tool_result", "tool_use_id": call_id, "content": []}
    return events.ServerToolResultRecorded(
        response=response,
        index=2,
        call_id=call_id,
        content=Native(api="anthropic-messages", value=gave),
        line=line,
    )


@st.composite
def requests(draw: st.DrawFn) -> events.RequestSent:
    return events.RequestSent(
        api=draw(_apis),
        endpoint="/v1/messages",
        model=draw(_models),
        template=_TEMPLATE,
        line=draw(_lines),
    )


def _usage(api: str, taken: object, cached: object) -> JsonObject:
    match api:
        case "anthropic-messages":
            return {"usage": {"input_tokens": taken, "cache_read_input_tokens": cached}}
        case "gemini":
            return {"usageMetadata": {"cachedContentTokenCount": cached}}
        case "bedrock-converse":
            return {"usage": {"cacheReadInputTokens": cached, "cacheWriteInputTokens": "many"}}
        case _:
            return {"usage": [], "id": "\0"}


@st.composite
def closings(draw: st.DrawFn) -> events.ResponseCompleted | events.ResponseInterrupted:
    api, taken, given = draw(_apis), draw(_counts), draw(_counts)
    known = {
        "response": draw(st.uuids()),
        "api": api,
        "model": draw(_models),
        "envelope": _usage(api, taken, draw(_counts)) if draw(st.booleans()) else {},
        "input_tokens": taken,
        "output_tokens": given,
        "line": draw(_lines),
    }
    if draw(st.booleans()):
        return events.ResponseCompleted.model_validate(known)
    reason = draw(st.sampled_from(["cut", "error", "deferred"]))
    return events.ResponseInterrupted.model_validate({**known, "reason": reason})


_document = Document(media_type="application/pdf", name="a\0.pdf", url="https://example.org/b")


def _unrecognised(name: str) -> NewEvent:
    """An event of a later release, or of none: what is known of it is its header alone."""
    event_id = uuid7()
    header = ClientHeader(event_id, TENANT, uuid4(), name, 99, OCCURRED_AT)
    return NewEvent(
        event_id=event_id,
        type=name,
        schema_version=99,
        header=header_bytes(header),
        salt=secrets.token_bytes(16),
        body=b'{"of":"another release"}',
        effect=Effect(),
    )


@st.composite
def beside(draw: st.DrawFn) -> Event:
    """What is neither said nor done by a model: it begins, ends and changes what else there is."""
    at, line, said = draw(_versions), draw(_lines), draw(texts)
    shown: Text | Document = _document if draw(st.booleans()) else Text(text=said)
    signal = events.SignalReceived(content=(shown,), interrupts=draw(st.booleans()), name="timer")
    call_id = draw(st.one_of(st.none(), _calls))
    possible: list[Event] = [
        events.ConversationStarted(key=said),
        events.ConversationForked(origin=UUID(int=9), version=at),
        events.ConversationEnded(line=line),
        signal,
        events.DocumentExtracted(document=_document, call_id=call_id, line=line),
        events.LineAdopted(adopted=line, begun=at, after=at // 2),
        events.HistoryCompacted(summary="in short", until=at),
        events.ContentRedacted(version=at),
        events.AnnotationAdded(labels={"note": said}),
        events.AttemptFailed(request=draw(st.uuids(version=4)), status=529),
    ]
    return draw(st.sampled_from(possible))


@st.composite
def items(draw: st.DrawFn) -> Event:
    """What a framework stored, or did to what it stored."""
    said, used = draw(texts), draw(_counts)
    message = {"role": "assistant", "id": draw(st.sampled_from(["msg_1", "msg_2"]))}
    called = {"type": "tool_use", "id": draw(_calls), "name": "track", "input": {"n": said}}
    gave = {"type": "tool_result", "tool_use_id": draw(_calls), "content": said}
    called_too, gave_too = {**called, "id": draw(_calls)}, {**gave, "tool_use_id": draw(_calls)}
    usage = {"input_tokens": used, "output_tokens": 3}
    possible: list[Event] = [
        _claude("user", {"role": "user", "content": said}),
        _claude("user", {"role": "user", "content": [gave]}),
        _claude("user", {"role": "user", "content": [gave, gave_too]}),
        _claude("assistant", {**message, "content": [called, called_too]}),
        _claude("assistant", {**message, "content": [called], "usage": usage, "model": "m"}),
        _claude("assistant", {**message, "content": said, "usage": usage}),
        ItemRecorded(framework="openai-agents", stream="s", item={"role": "user", "content": said}),
        ItemRecorded(framework="unheard-of", item={"words": said}),
        ItemWithdrawn(version=draw(_versions)),
        ItemsReplaced(framework="claude-agent-sdk", kept=((1, draw(_versions)),)),
        StreamCleared(framework="claude-agent-sdk", whole=draw(st.booleans())),
    ]
    return draw(st.sampled_from(possible))


def _claude(speaker: str, message: JsonObject) -> Event:
    return ItemRecorded(
        framework="claude-agent-sdk", item={"type": speaker, "message": message, "uuid": "u"}
    )


unrecognised = st.sampled_from(["message.recorded", "response.completed", "weather.changed"]).map(
    _unrecognised
)
