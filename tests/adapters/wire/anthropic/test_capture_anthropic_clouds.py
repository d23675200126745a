"""Anthropic's Messages API as Bedrock and Vertex spell it: paths, requests, and answers in frames."""

import json
from pathlib import Path

import httpx2
import pytest
from anthropic.lib.bedrock import AnthropicBedrock
from hypothesis import given
from hypothesis import strategies as st

from onrecord.adapters.wire.answer import Answer
from onrecord.adapters.wire.anthropic.wire import WIRE
from onrecord.adapters.wire.eventstream import FRAMES
from onrecord.adapters.wire.stream_reader import Decoder
from onrecord.adapters.wire.wires import Purpose, endpoint_of
from tests.adapters.wire.anthropic.anthropic_streams import fed
from tests.anthropic_wire import SAMPLES, JsonObject, call, message, stream_events, text
from tests.bedrock_wire import chunked, chunks, error, event, exception, frame

SSE = sorted(path for path in SAMPLES.glob("*.sse"))
ARN = "arn:aws:bedrock:us-east-1:111122223333:"


def read(data: bytes, size: int = 1_000_000) -> Answer:
    stream = WIRE.streams[FRAMES]()
    for chunk in chunks(data, [size]):
        stream.feed(chunk)
    return stream.finish()


def framed(*events: JsonObject) -> bytes:
    return b"".join(map(chunked, events))


def events_of(body: bytes) -> list[JsonObject]:
    """The events of a stream."""
    whole = [one.data for one in Decoder().feed(body)]
    return [json.loads(data) for data in whole]


def odd(answer: Answer) -> list[str]:
    return [anomaly.what for anomaly in answer.anomalies]


@pytest.mark.parametrize(
    "path",
    [
        "/model/us.anthropic.claude-sonnet-4-5-20250929-v1:0/invoke",
        "/model/anthropic.claude-3-7-sonnet-20250219-v1%3A0/invoke-with-response-stream",
        f"/model/{ARN}inference-profile/us.anthropic.claude-opus-4-8/invoke",
        f"/model/{ARN}inference-profile%2Fus.anthropic.claude-opus-4-8/invoke",
        f"/model/{ARN}application-inference-profile/abc123/invoke-with-response-stream",
        f"/model/{ARN}application-inference-profile%2Fabc123/invoke".replace(":", "%3A"),
        "/v1/projects/p/locations/global/publishers/anthropic/models/claude-opus-4-8:rawPredict",
        "/v1/projects/p/locations/eu/publishers/anthropic/models/claude-x@2026:streamRawPredict",
    ],
)
def test_a_call_of_its_models_is_a_turn(path: str) -> None:
    assert endpoint_of("POST", path) == Purpose("anthropic-messages", "turn")


@pytest.mark.parametrize(
    "path",
    [
        "/v1/projects/p/locations/eu/publishers/anthropic/models/count-tokens:rawPredict",
        "/model/us.anthropic.claude-opus-4-8/count-tokens",
        "/model/amazon.titan-text-express-v1/invoke",
        "/model/us.anthropic.claude-opus-4-8/async-invoke",
        "/v1/projects/p/locations/eu/publishers/google/models/gemini-3:generateContent/invoke",
    ],
)
def test_what_counts_tokens_or_calls_other_models_is_none(path: str) -> None:
    assert endpoint_of("POST", path).kind == "none"


@pytest.mark.parametrize(
    ("path", "model"),
    [
        ("/v1/messages", None),
        ("/model/us.anthropic.claude-x-v1:0/invoke", "us.anthropic.claude-x-v1:0"),
        ("/model/anthropic.x-v1%3A0/invoke-with-response-stream", "anthropic.x-v1:0"),
        (f"/model/{ARN}inference-profile%2Fa.b/invoke", f"{ARN}inference-profile/a.b"),
        ("/my-model/model/anthropic.x/invoke", "anthropic.x"),
        ("/p/publishers/anthropic/models/claude-x@2026:rawPredict", "claude-x@2026"),
        ("/p/publishers/anthropic/models/claude-x@2026:streamRawPredict", "claude-x@2026"),
    ],
)
def test_the_path_says_what_the_body_does_not(path: str, model: str | None) -> None:
    body: JsonObject = {"anthropic_version": "bedrock-2023-05-31", "messages": []}
    sent = WIRE.read_request(json.dumps(body).encode(), path)
    assert sent.model == model


def test_a_body_that_names_its_model_is_believed() -> None:
    body: JsonObject = {"model": "claude-y", "messages": []}
    sent = WIRE.read_request(json.dumps(body).encode(), "/model/anthropic.x/invoke")
    assert sent.model == "claude-y"


@pytest.mark.parametrize("path", SSE, ids=lambda path: path.stem)
@pytest.mark.parametrize("size", [1, 64, 1_000_000])
def test_a_sample_in_frames_is_read_as_the_sample(path: Path, size: int) -> None:
    expected = fed(path.read_bytes()).finish()
    answer = read(framed(*events_of(path.read_bytes())), size)
    assert [block.value for block in answer.blocks] == [block.value for block in expected.blocks]
    assert answer.envelope == expected.envelope
    assert answer.stop_reason == expected.stop_reason
    assert answer.interruption == expected.interruption


@given(st.lists(st.integers(1, 60), min_size=1, max_size=4), st.text(max_size=40))
def test_however_the_chunks_fall_the_answer_is_the_same(sizes: list[int], said: str) -> None:
    told = message(text(said), call(1, city="Oslo"), stop_reason="tool_use")
    data = framed(*stream_events(told))
    stream = WIRE.streams[FRAMES]()
    ended = [stream.feed(chunk) for chunk in chunks(data, sizes)]
    answer = stream.finish()
    assert ended[-1]
    assert [block.value for block in answer.blocks] == told["content"]
    assert (answer.is_complete, answer.awaits_results, answer.needs_raw) == (True, True, False)


def test_the_counts_that_bedrock_adds_to_the_last_event_are_kept() -> None:
    metrics = {"inputTokenCount": 9, "outputTokenCount": 4, "invocationLatency": 700}
    *begun, last = stream_events(message(text()))
    answer = read(framed(*begun, {**last, "amazon-bedrock-invocationMetrics": metrics}))
    assert answer.envelope["amazon-bedrock-invocationMetrics"] == metrics
    assert not answer.needs_raw


def test_an_exception_in_a_frame_ends_the_answer_as_an_error() -> None:
    first, *_ = stream_events(message(text()))
    answer = read(framed(first) + exception("throttlingException", "Too many."))
    assert answer.interruption == "error"
    assert answer.error == {"type": "throttlingException", "message": "Too many."}
    assert answer.detail == "throttlingException"


def test_an_unmodelled_error_ends_the_answer_as_an_error() -> None:
    answer = read(error("InternalFailure", "Oops."))
    assert answer.error == {"type": "InternalFailure", "message": "Oops."}


def test_a_damaged_frame_keeps_what_came_before_it() -> None:
    first, second, *rest = stream_events(message(text("Hi")))
    damaged = bytearray(framed(second))
    damaged[-1] ^= 1
    answer = read(framed(first) + bytes(damaged) + framed(*rest))
    assert answer.interruption == "malformed"
    assert answer.detail == "the checksum of a frame does not hold"
    assert answer.envelope["id"] == "msg_01Test"


def test_a_stream_that_breaks_off_amid_a_frame_says_so() -> None:
    first, *_ = stream_events(message(text()))
    answer = read(framed(first)[:-5])
    assert answer.interruption == "cut"
    assert answer.detail is not None
    assert answer.detail.startswith("the last frame broke off after")


def test_a_chunk_without_an_event_is_malformed() -> None:
    answer = read(event("chunk", {"bytes": "no base64!"}))
    assert (answer.interruption, answer.detail) == ("malformed", "a chunk without an event")


def test_a_frame_of_another_type_is_noted_and_the_answer_goes_on() -> None:
    odd_one = frame({":message-type": "event", ":event-type": "initial-response"}, b"{}")
    answer = read(odd_one + framed(*stream_events(message(text()))))
    assert answer.is_complete
    assert odd(answer) == ["an event of unknown type initial-response"]


def test_the_official_client_reads_the_same_message_from_frames() -> None:
    told = message(text("Hello."), call(1, city="Oslo"), stop_reason="tool_use")
    data = framed(*stream_events(told))

    def answering(request: httpx2.Request) -> httpx2.Response:
        assert request.url.path == "/model/anthropic.claude-x-v1:0/invoke-with-response-stream"
        return httpx2.Response(200, headers={"content-type": FRAMES}, content=data)

    with (
        httpx2.Client(transport=httpx2.MockTransport(answering)) as http,
        AnthropicBedrock(
            aws_region="us-east-1", api_key="k", http_client=http, max_retries=0
        ) as client,
        client.messages.stream(
            model="anthropic.claude-x-v1:0",
            max_tokens=9,
            messages=[{"role": "user", "content": "Hello"}],
        ) as stream,
    ):
        read_by_it = stream.get_final_message().model_dump(mode="json", exclude_unset=True)
    assert read_by_it["content"] == [block.value for block in read(data).blocks]
