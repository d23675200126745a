"""A batch with a request that cannot be read is refused, as a turn in that state: it never goes unrecorded."""

from __future__ import annotations

import io
import json
import warnings
from collections.abc import Generator
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import openai
import pytest

import onrecord
from onrecord.adapters.conversation.rendering import replays
from onrecord.adapters.wire.anthropic.wire import BATCHES as ANTHROPIC
from onrecord.adapters.wire.clients import unrecorded
from onrecord.adapters.wire.clients.record import record
from onrecord.adapters.wire.gemini.wire import BATCHES as GEMINI
from onrecord.domain.errors import InvalidContent, OnrecordError
from onrecord.domain.jsontext import JsonObject
from tests.adapters.recorded_calls import KEY, MODEL, Recorded
from tests.adapters.wire.batches.batch_server import ANSWERED, Batches, serving
from tests.adapters.wire.batches.openai_batch_server import FileBatches, lines
from tests.adapters.wire.batches.openai_batches import asking as lines_asking
from tests.adapters.wire.batches.openai_batches import client as openai_client


@pytest.fixture(autouse=True)
def _nothing_was_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unrecorded, "_warned_of", set[str]())


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    return Recorded(tmp_path)


@pytest.fixture
def server() -> Generator[Batches]:
    with serving(Batches(ANSWERED)) as running:
        yield running


def deep() -> JsonObject:
    schema: JsonObject = {}
    for _ in range(300):
        schema = {"properties": {"a": schema}}
    return schema


HELLO = [{"role": "user", "content": "Hello"}]
FINE: JsonObject = {"model": MODEL, "max_tokens": 9, "messages": HELLO}
ODD: dict[str, JsonObject] = {
    "nobody known": {**FINE, "messages": [{"role": "nobody", "content": "Hello"}]},
    "deep": {**FINE, "tools": [{"name": "t", "input_schema": deep()}]},
}
RAW: dict[str, JsonObject] = {
    "no role": {**FINE, "messages": [{"content": "Hello"}]},
    "no messages": {**FINE, "messages": "Hello"},
}


@pytest.mark.parametrize("odd", list(ODD))
def test_a_batch_with_an_odd_request_is_refused_as_a_turn_is(
    recorded: Recorded, server: Batches, odd: str
) -> None:
    entries: list[Any] = [
        {"custom_id": "a", "params": FINE},
        {"custom_id": "b", "params": ODD[odd]},
    ]
    plain = anthropic.Anthropic(api_key=KEY, base_url=server.url, max_retries=0)
    with record(plain, recorded.binding) as own:
        with pytest.raises(anthropic.AnthropicError, match="request was not sent"):
            own.post("/v1/messages", body=ODD[odd], cast_to=httpx2.Response)
        with pytest.raises(anthropic.AnthropicError, match="batch was not sent"):
            own.messages.batches.create(requests=entries)
    assert server.received == []
    assert recorded.requests() == []


@pytest.mark.parametrize("odd", list(RAW))
def test_a_request_that_says_nothing_known_is_recorded_as_it_is(
    recorded: Recorded, server: Batches, odd: str
) -> None:
    entries: list[Any] = [
        {"custom_id": "a", "params": FINE},
        {"custom_id": "b", "params": RAW[odd]},
    ]
    plain = anthropic.Anthropic(api_key=KEY, base_url=server.url, max_retries=0)
    with record(plain, recorded.binding) as own:
        own.messages.batches.create(requests=entries)
    assert len(recorded.requests()) == 2
    assert [outcome.is_whole for outcome in replays(recorded.chat)] == [True, True]


def test_which_request_is_odd_is_said_without_its_name(recorded: Recorded, server: Batches) -> None:
    entries: list[Any] = [
        {"custom_id": "a", "params": FINE},
        {"custom_id": "ana@example.org", "params": ODD["nobody known"]},
    ]
    plain = anthropic.Anthropic(api_key=KEY, base_url=server.url, max_retries=0)
    with (
        record(plain, recorded.binding) as own,
        pytest.raises(anthropic.AnthropicError, match="request 2 of the batch") as refused,
    ):
        own.messages.batches.create(requests=entries)
    assert "ana" not in str(refused.value)


@pytest.mark.parametrize(
    "body",
    [
        b"no json",
        b'{"requests": 1}',
        b'{"requests": [{"custom_id": "a"}]}',
        b'{"requests": [], "requests": []}',
    ],
)
def test_a_body_that_is_no_batch_is_refused(
    recorded: Recorded, server: Batches, body: bytes
) -> None:
    plain = anthropic.Anthropic(api_key=KEY, base_url=server.url, max_retries=0)
    with (
        record(plain, recorded.binding) as own,
        pytest.raises(anthropic.AnthropicError, match="batch was not sent"),
    ):
        own.post("/v1/messages/batches", content=body, cast_to=httpx2.Response)
    assert server.received == []


def test_a_batch_without_requests_goes_to_the_provider_and_is_said(
    recorded: Recorded, server: Batches
) -> None:
    plain = anthropic.Anthropic(api_key=KEY, base_url=server.url, max_retries=0)
    with (
        record(plain, recorded.binding) as own,
        pytest.warns(onrecord.RecordingWarning, match="a batch is not recorded"),
    ):
        own.messages.batches.create(requests=[])
    assert len(server.received) == 1


@pytest.mark.parametrize(
    "line",
    [
        b"no json",
        lines({**lines_asking("b")[0], "body": "Hello"}).strip(),
        lines({**lines_asking("b")[0], "body": {"messages": HELLO, "tools": [deep()]}}).strip(),
    ],
)
def test_a_file_with_an_odd_request_is_refused(recorded: Recorded, line: bytes) -> None:
    file = ("requests.jsonl", io.BytesIO(lines(*lines_asking("a")) + line))
    with (
        serving(FileBatches()) as server,
        openai_client(recorded, server) as own,
        pytest.raises(openai.OpenAIError, match="request 2 of the batch"),
    ):
        own.files.create(file=file, purpose="batch")
    assert server.received == []
    assert recorded.requests() == []


@pytest.mark.parametrize("odd", [{"contents": "Hello"}, {"request": 1}, 1])
def test_a_list_of_googles_with_an_odd_request_is_refused(odd: object) -> None:
    fine = {"request": {"contents": [{"parts": [{"text": "Hello"}]}]}}
    body = {"batch": {"inputConfig": {"requests": {"requests": [fine, odd]}}}}
    with pytest.raises(InvalidContent):
        GEMINI.entries(json.dumps(body).encode())


def test_requests_in_a_file_of_googles_lie_elsewhere() -> None:
    assert GEMINI.entries(b'{"batch": {"inputConfig": {"fileName": "files/1"}}}') == ()


def test_a_batch_of_a_file_that_cannot_be_read_is_said(recorded: Recorded) -> None:
    body = b'{"input_file_id": "file-x", "input_file_id": "file-x"}'
    with (
        serving(FileBatches()) as server,
        openai_client(recorded, server) as own,
        pytest.warns(onrecord.RecordingWarning, match="a batch is not recorded"),
    ):
        own.post("/batches", content=body, cast_to=httpx2.Response)


def test_no_warning_is_raised_for_a_batch_that_is_recorded(
    recorded: Recorded, server: Batches
) -> None:
    plain = anthropic.Anthropic(api_key=KEY, base_url=server.url, max_retries=0)
    with record(plain, recorded.binding) as own, warnings.catch_warnings():
        warnings.simplefilter("error")
        own.messages.batches.create(requests=[{"custom_id": "a", "params": FINE}])  # type: ignore[typeddict-item]
    assert len(recorded.requests()) == 1


def test_what_is_no_object_is_no_request() -> None:
    for body in (b"[]", b'{"requests": [1]}', b"{}"):
        with pytest.raises(OnrecordError):
            ANTHROPIC.entries(body)
