"""Batches of Gemini's are recorded that hold their requests, and whose status holds their results."""

from __future__ import annotations

import asyncio
import io
import json
import warnings
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from google import genai

import onrecord
from onrecord.adapters.conversation.rendering import replays
from onrecord.adapters.demo.services.connection import Received, Reply
from onrecord.adapters.demo.services.scenes import Cut, Fault
from onrecord.adapters.recording import batch_records as batch_answers
from onrecord.adapters.wire.answer import events_of
from onrecord.adapters.wire.clients import unrecorded
from onrecord.adapters.wire.clients.record import record
from onrecord.domain.errors import StorageBusy
from onrecord.domain.events import ResponseCompleted, ResponseInterrupted
from onrecord.domain.jsontext import JsonObject
from tests.adapters.recorded_calls import KEY, Recorded
from tests.adapters.wire.batches.batch_events import answers, texts
from tests.adapters.wire.batches.batch_server import serving

pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class:DeprecationWarning")

MODEL = "gemini-3-pro"
BATCH = "batches/123"
ALL = [
    ("user", "What of a?"),
    ("user", "What of b?"),
    ("assistant", "Blue."),
    ("assistant", "Green."),
]


def told(text: str, number: int) -> JsonObject:
    content = {"role": "model", "parts": [{"text": text}]}
    said: JsonObject = {
        "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
        "modelVersion": MODEL,
        "responseId": f"r{number}",
    }
    return {"response": said}


ANSWERED = [told("Blue.", 1), told("Green.", 2)]


@dataclass
class InlineBatches:
    """A server whose batch has these results, in the order of its requests; none yet if empty."""

    results: list[JsonObject]
    faults: tuple[Fault, ...] = ()
    url: str = ""
    received: list[Received] = field(default_factory=list[Received])

    def reply(self, received: Received) -> Reply:
        self.received.append(received)
        body = json.dumps(self.made(received.method == "GET")).encode()
        headers = {"content-type": "application/json"}
        if received.path.startswith("/upload/"):
            body = b'{"file": {"name": "files/1"}}'
            headers["x-goog-upload-url"] = f"{self.url}/upload/v1beta/files?upload_id=1"
            headers["x-goog-upload-status"] = "final"
        return Reply(200, headers, body, chunked=True, faults=self.faults)

    def made(self, is_over: bool) -> JsonObject:
        metadata: JsonObject = {"state": "BATCH_STATE_PENDING", "model": f"models/{MODEL}"}
        if is_over and self.results:
            results = {"inlinedResponses": {"inlinedResponses": self.results}}
            metadata = {**metadata, "state": "BATCH_STATE_SUCCEEDED", "output": results}
        return {"name": BATCH, "metadata": metadata}


@pytest.fixture(autouse=True)
def _nothing_was_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unrecorded, "_warned_of", set[str]())


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    return Recorded(tmp_path)


@pytest.fixture
def server() -> Generator[InlineBatches]:
    with serving(InlineBatches(ANSWERED)) as running:
        yield running


def client(recorded: Recorded, server: InlineBatches) -> genai.Client:
    options: Any = {"base_url": server.url}
    plain = genai.Client(api_key=KEY, vertexai=False, http_options=options)
    return record(plain, recorded.binding)


def asking(*names: str) -> list[Any]:
    return [{"contents": f"What of {name}?", "metadata": {"key": name}} for name in names]


def test_results_are_recorded_as_the_answers_of_their_requests(
    recorded: Recorded, server: InlineBatches
) -> None:
    with client(recorded, server) as own:
        made = own.batches.create(model=MODEL, src=asking("a", "b"))
        own.batches.get(name=made.name or "")
        read = own.batches.get(name=made.name or "").dest
    assert read is not None
    assert [it.response.text for it in read.inlined_responses or () if it.response] == [
        *("Blue.", "Green.")
    ]
    events = recorded.events()
    assert texts(events) == ALL
    assert answers(events) == [("0", "said"), ("1", "said")]
    done = [event for event in events if isinstance(event, ResponseCompleted)]
    assert [event.line for event in done] == [event.line for event in recorded.requests()]
    assert {event.model for event in recorded.requests()} == {MODEL}
    assert done[0].envelope["onrecord:batch"] == {"id": BATCH, "custom_id": "0"}
    assert [outcome.is_whole for outcome in replays(recorded.chat)] == [True, True]


def test_results_that_are_shown_again_are_not_looked_up_again(
    recorded: Recorded, server: InlineBatches, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_up: list[object] = []
    read = type(recorded.counting).read

    def counted(own: Any, conversation_id: Any, **more: Any) -> Any:
        looked_up.append(conversation_id)
        return read(own, conversation_id, **more)

    with client(recorded, server) as own:
        own.batches.create(model=MODEL, src=asking("a", "b"))
        server.results = ANSWERED[:1]
        own.batches.get(name=BATCH)
        monkeypatch.setattr(type(recorded.counting), "read", counted)
        own.batches.get(name=BATCH)
        assert looked_up == []
        server.results = ANSWERED
        own.batches.get(name=BATCH)
        assert looked_up != []
    assert texts(recorded.events()) == ALL


def test_a_result_that_could_not_be_recorded_is_taken_at_the_next_look(
    recorded: Recorded, server: InlineBatches, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(answer: Any, event_of: Any, **more: Any) -> object:
        if answer.provider_id == "r1":
            raise ValueError("a fault of the recorder")
        return events_of(answer, event_of, **more)

    with client(recorded, server) as own:
        own.batches.create(model=MODEL, src=asking("a", "b"))
        with monkeypatch.context() as faulty:
            faulty.setattr(batch_answers, "events_of", failing)
            own.batches.get(name=BATCH)
        assert answers(recorded.events()) == [("1", "said")]
        own.batches.get(name=BATCH)
    assert answers(recorded.events()) == [("1", "said"), ("0", "said")]


def test_a_batch_that_is_not_over_says_nothing(recorded: Recorded) -> None:
    with serving(InlineBatches([])) as server, client(recorded, server) as own:
        own.batches.create(model=MODEL, src=asking("a", "b"))
        version = recorded.chat.head().version
        own.batches.get(name=BATCH)
        own.batches.cancel(name=BATCH)
    assert recorded.chat.head().version == version
    closed = [event for event in recorded.events() if isinstance(event, ResponseInterrupted)]
    assert [event.reason for event in closed] == ["deferred", "deferred"]


def test_a_batch_that_cannot_be_recorded_is_not_sent(
    recorded: Recorded, server: InlineBatches
) -> None:
    recorded.chat.user("Before.")
    recorded.counting.broken = StorageBusy("busy")
    with (
        client(recorded, server) as own,
        pytest.raises(genai.errors.APIError, match="batch was not sent"),
    ):
        own.batches.create(model=MODEL, src=asking("a"))
    assert server.received == []


def test_what_was_not_answered_says_why(recorded: Recorded) -> None:
    failed: JsonObject = {"error": {"code": 4, "message": "late", "status": "DEADLINE_EXCEEDED"}}
    results = [told("Blue.", 1), failed]
    with serving(InlineBatches(results)) as server, client(recorded, server) as own:
        own.batches.create(model=MODEL, src=asking("a", "b"))
        own.batches.get(name=BATCH)
    assert answers(recorded.events()) == [("0", "said"), ("1", "DEADLINE_EXCEEDED")]


def test_a_status_that_is_cut_is_read_again(recorded: Recorded, server: InlineBatches) -> None:
    with client(recorded, server) as own:
        own.batches.create(model=MODEL, src=asking("a", "b"))
        server.faults = (Cut(200),)
        with pytest.raises(Exception):  # noqa: B017 - whatever the SDK says of a cut
            own.batches.get(name=BATCH)
        assert answers(recorded.events()) == []
        server.faults = ()
        own.batches.get(name=BATCH)
    assert texts(recorded.events()) == ALL


def test_coroutines_are_recorded_alike(recorded: Recorded, server: InlineBatches) -> None:
    async def run() -> None:
        own = client(recorded, server)
        async with own.aio as asked:
            made = await asked.batches.create(model=MODEL, src=asking("a", "b"))
            await asked.batches.get(name=made.name or "")
        own.close()

    asyncio.run(run())
    assert texts(recorded.events()) == ALL


def test_a_batch_that_nobody_recorded_has_its_answers_recorded_alone(
    recorded: Recorded, server: InlineBatches
) -> None:
    with client(recorded, server) as own:
        with pytest.warns(onrecord.RecordingWarning, match="no recorded client made"):
            own.batches.get(name=BATCH)
        with warnings.catch_warnings():
            warnings.simplefilter("error", onrecord.RecordingWarning)
            own.batches.get(name=BATCH)
    assert texts(recorded.events()) == [("assistant", "Blue."), ("assistant", "Green.")]


def test_a_batch_of_a_file_is_said_not_to_be_recorded(
    recorded: Recorded, server: InlineBatches
) -> None:
    with (
        client(recorded, server) as own,
        pytest.warns(onrecord.RecordingWarning, match="a batch is not recorded"),
    ):
        own.batches.create(model=MODEL, src="files/requests")
    assert not recorded.chat.head().version


@pytest.mark.parametrize("is_async", [False, True])
def test_a_file_that_is_uploaded_passes(
    recorded: Recorded, server: InlineBatches, is_async: bool
) -> None:
    async def upload() -> None:
        async with own.aio as asked:
            await asked.files.upload(file=io.BytesIO(b"notes"), config=config)

    config: Any = {"mime_type": "text/plain"}
    with client(recorded, server) as own:
        if is_async:
            asyncio.run(upload())
        else:
            own.files.upload(file=io.BytesIO(b"notes"), config=config)
    assert server.received[-1].body == b"notes"
    assert not recorded.chat.head().version
