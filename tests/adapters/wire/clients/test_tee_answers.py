"""What a recorded client is answered: handed on as it comes, durable when it ends."""

import gc
import gzip
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any, cast

import anthropic
import httpx2
import pytest

from onrecord.adapters.demo.services.scenes import (
    Answer,
    Cut,
    Gzip,
    Playback,
    Stall,
)
from onrecord.adapters.wire.clients.record import record
from onrecord.domain.events import (
    ResponseCompleted,
    ResponseInterrupted,
)
from tests.adapters.recorded_calls import (
    CALLING,
    GREETING,
    HELLO,
    KEY,
    MODEL,
    Recorded,
    calling,
)
from tests.demo_faults import broken_off, spliced

MESSAGES = cast("list[anthropic.types.MessageParam]", HELLO)
THINKING = Answer(
    content=(
        {"type": "thinking", "thinking": "What do they want?"},
        {"type": "text", "text": "Hello! What can I do for you?"},
    )
)


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    return Recorded(tmp_path)


def interrupted(recorded: Recorded) -> ResponseInterrupted:
    (event,) = [e for e in recorded.events() if isinstance(e, ResponseInterrupted)]
    return event


# -- as it comes -----------------------------------------------------------------------------


class Pieces(httpx2.SyncByteStream):
    """A body in given pieces."""

    def __init__(self, pieces: list[bytes]) -> None:
        self.pieces = pieces
        self.closed = False

    def __iter__(self) -> Iterator[bytes]:
        yield from self.pieces

    def close(self) -> None:
        self.closed = True


class Canned(httpx2.BaseTransport):
    """Answers with given pieces."""

    def __init__(self, pieces: list[bytes], content_type: str) -> None:
        self.stream = Pieces(pieces)
        self.content_type = content_type

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": self.content_type}, stream=self.stream)


SSE = [
    b'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_1","type":',
    b'"message","role":"assistant","model":"m","content":[],"stop_reason":null,"usage":{}}}\n\n',
    b'data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{}}\n\n',
    b'data: {"type":"message_stop"}\n\n',
    b": and a comment\n\n",
]
JSON = [
    b'{"id":"msg_1","type":"message","role":"assistant","model":"m",',
    b'"content":[],"stop_reason":"end_turn","usage":{}}',
]


@pytest.mark.parametrize(("pieces", "content_type"), [(SSE, "text/event-stream"), (JSON, "json")])
def test_the_chunks_of_a_body_pass_on_as_the_very_same_objects(
    recorded: Recorded, pieces: list[bytes], content_type: str
) -> None:
    transport = Canned(pieces, content_type)
    http = httpx2.Client(transport=transport)
    with anthropic.Anthropic(api_key=KEY, base_url="http://test", http_client=http) as client:
        wrapped = record(client, recorded.binding)
        with wrapped.messages.with_streaming_response.create(
            model=MODEL, max_tokens=9, messages=MESSAGES
        ) as response:
            got = list(cast("httpx2.SyncByteStream", response.http_response.stream))
    assert all(one is other for one, other in zip(got, pieces, strict=True))
    assert transport.stream.closed
    assert recorded.types()[-1] == "response.completed"


@pytest.mark.parametrize("streamed", [True, False])
def test_an_answer_that_a_transport_has_whole_is_recorded(
    recorded: Recorded, streamed: bool
) -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        body = b"".join(SSE if streamed else JSON)
        kind = "text/event-stream" if streamed else "application/json"
        packed = {"content-type": kind, "content-encoding": "gzip"}
        return httpx2.Response(200, headers=packed, content=gzip.compress(body))

    http = httpx2.Client(transport=httpx2.MockTransport(answer))
    with anthropic.Anthropic(api_key=KEY, base_url="http://test", http_client=http) as client:
        wrapped = record(client, recorded.binding)
        if streamed:
            with wrapped.messages.stream(model=MODEL, max_tokens=9, messages=MESSAGES) as events:
                events.until_done()
        else:
            wrapped.messages.create(model=MODEL, max_tokens=9, messages=MESSAGES)
    assert recorded.types()[-1] == "response.completed"


def test_a_chunk_does_not_wait_for_the_next_one_nor_for_the_store(recorded: Recorded) -> None:
    release = Event()
    scene = Answer(content=GREETING.content, faults=(Stall(700, release),))
    with calling(recorded, [scene]) as calls:
        stream = calls.client.messages.create(
            model=MODEL, max_tokens=9, messages=MESSAGES, stream=True
        )
        assert next(stream).type == "message_start"
        before = len(recorded.counting.appends)
        release.set()
        assert [event.type for event in stream][-1] == "message_stop"
    assert before == 1


def test_the_last_event_is_handed_on_when_the_answer_is_durable(recorded: Recorded) -> None:
    with calling(recorded, [CALLING]) as calls:
        stream = calls.client.messages.create(
            model=MODEL, max_tokens=9, messages=MESSAGES, stream=True
        )
        seen = {event.type: recorded.types()[-1] for event in stream}
        assert seen["message_start"] == "request.sent"
        assert seen["message_stop"] == "response.completed"
    assert [call.id for call in recorded.chat.open_calls()] == ["toolu_01", "toolu_02"]


def test_a_call_that_nobody_can_answer_is_not_awaited(recorded: Recorded) -> None:
    call: Any = {"type": "tool_use", "id": "", "name": "look_up", "input": {}}
    with calling(recorded, [Answer(content=(call,), stop_reason="tool_use"), GREETING]) as calls:
        calls.ask()
        assert recorded.chat.open_calls() == []
        recorded.chat.user("Go on")
        calls.ask(recorded.chat.request("anthropic-messages")["messages"])
    assert recorded.types()[2:4] == ["opaque.recorded", "response.completed"]


@pytest.mark.parametrize("way", ["create", "stream", "raw", "streamed response", "beta"])
def test_each_way_to_call_records_the_same(recorded: Recorded, way: str) -> None:
    with calling(recorded, [THINKING]) as calls:
        messages: Any = calls.client.messages
        asked: Any = {"model": MODEL, "max_tokens": 9, "messages": MESSAGES}
        match way:
            case "create":
                messages.create(**asked)
            case "stream":
                calls.stream()
            case "raw":
                messages.with_raw_response.create(**asked).parse()
            case "streamed response":
                with messages.with_streaming_response.create(**asked, stream=True) as response:
                    assert b"".join(response.iter_bytes()).count(b"message_stop") == 2
            case _:
                with calls.client.beta.messages.stream(**asked) as stream:
                    stream.get_final_message()
    assert recorded.types() == [
        "message.recorded",
        "request.sent",
        "reasoning.recorded",
        "message.recorded",
        "response.completed",
    ]
    last = recorded.events()[-1]
    assert isinstance(last, ResponseCompleted)
    assert last.request == recorded.chat.events(after=0)[2].event_id
    assert last.request_id is not None
    assert last.raw is None


@pytest.mark.parametrize("streamed", [True, False])
def test_compressed_answers_are_read_as_well(recorded: Recorded, streamed: bool) -> None:
    scene = Answer(content=GREETING.content, faults=(Gzip(),))
    with calling(recorded, [scene]) as calls:
        message = calls.stream() if streamed else calls.ask()
    assert message.content[0].to_dict()["text"] == "Hello! What can I do for you?"
    assert recorded.types()[-2:] == ["message.recorded", "response.completed"]


# -- answers that do not end as they should --------------------------------------------------


@pytest.mark.parametrize("way", ["close", "leave", "drop", "raise", "unread"])
def test_a_stream_that_is_not_read_on_is_abandoned(recorded: Recorded, way: str) -> None:
    with calling(recorded, [THINKING]) as calls:
        stream: Any = calls.client.messages.create(
            model=MODEL, max_tokens=9, messages=MESSAGES, stream=True
        )
        match way:
            case "close":
                next(stream)
                stream.close()
            case "leave":
                with stream:
                    next(stream)
            case "drop":
                next(stream)
                del stream
                gc.collect()
            case "raise":
                with pytest.raises(KeyboardInterrupt), stream:
                    for _ in stream:
                        raise KeyboardInterrupt
            case _:
                stream.close()
        assert interrupted(recorded).reason == "abandoned"
        assert interrupted(recorded).raw is not None
    assert recorded.chat.open_calls() == []


def test_an_interrupt_while_waiting_for_bytes_abandons_the_answer(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupted(Pieces):
        def __iter__(self) -> Iterator[bytes]:
            yield SSE[0]
            raise KeyboardInterrupt

    transport = Canned(SSE, "text/event-stream")
    transport.stream = Interrupted(SSE)
    http = httpx2.Client(transport=transport)
    with anthropic.Anthropic(api_key=KEY, base_url="http://test", http_client=http) as client:
        wrapped = record(client, recorded.binding)
        stream = wrapped.messages.create(model=MODEL, max_tokens=9, messages=MESSAGES, stream=True)
        with pytest.raises(KeyboardInterrupt):
            list(stream)
    assert interrupted(recorded).reason == "abandoned"


@pytest.mark.parametrize("streamed", [True, False])
def test_a_cut_wire_is_recorded_as_cut_and_raised_as_ever(
    recorded: Recorded, streamed: bool
) -> None:
    scene = Answer(content=THINKING.content, faults=(Cut(900 if streamed else 100),))
    with calling(recorded, [scene]) as calls:
        with pytest.raises((httpx2.RemoteProtocolError, anthropic.APIConnectionError)):
            calls.stream() if streamed else calls.ask()
        assert calls.client.is_closed() is False
    assert interrupted(recorded).reason == "cut"
    raw = interrupted(recorded).raw
    assert raw is not None
    assert raw.size == (900 if streamed else 100)


def test_what_came_whole_before_a_cut_is_recorded(recorded: Recorded) -> None:
    scene = Answer(content=THINKING.content, faults=(Cut(1500),))
    with calling(recorded, [scene]) as calls, pytest.raises(httpx2.RemoteProtocolError):
        calls.stream()
    assert "reasoning.recorded" in recorded.types()
    assert [unfinished.index for unfinished in interrupted(recorded).unfinished] == [1]


def test_an_error_amid_the_stream_is_the_providers_word(recorded: Recorded) -> None:
    scene = Answer(content=GREETING.content, faults=(broken_off(4),))
    with calling(recorded, [scene]) as calls, pytest.raises(anthropic.APIStatusError):
        calls.stream()
    assert interrupted(recorded).reason == "error"
    assert interrupted(recorded).error == {"type": "overloaded_error", "message": "Overloaded"}


def test_what_is_not_understood_is_kept_raw(recorded: Recorded) -> None:
    foreign = b'data: {"type":"of the future","x":1}\n\n'
    with calling(recorded, [Answer(GREETING.content, faults=(spliced(3, foreign),))]) as calls:
        calls.stream()
    last = recorded.events()[-1]
    assert isinstance(last, ResponseCompleted)
    assert last.raw is not None
    kept = b"".join(recorded.store.get_blob(recorded.chat.conversation_id, last.raw))
    assert foreign in kept


def test_a_page_that_is_no_answer_is_kept_raw(recorded: Recorded) -> None:
    page = b"<html>Welcome to the airport</html>"
    with calling(recorded, [Playback(page, "text/html")]) as calls:
        calls.ask()
    assert interrupted(recorded).reason == "malformed"
    raw = interrupted(recorded).raw
    assert raw is not None
    assert raw.size == len(page)


@pytest.mark.parametrize("fault", ["feed", "finish"])
def test_a_fault_of_the_recorder_is_not_the_callers(
    recorded: Recorded, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> bool:
        raise ZeroDivisionError

    monkeypatch.setattr(f"onrecord.adapters.wire.anthropic.stream.MessageStream.{fault}", broken)
    with calling(recorded, [GREETING]) as calls:
        assert calls.stream().stop_reason == "end_turn"
    raw = interrupted(recorded).raw
    assert raw is not None
    kept = b"".join(recorded.store.get_blob(recorded.chat.conversation_id, raw))
    assert kept.count(b"event: message_stop") == 1
