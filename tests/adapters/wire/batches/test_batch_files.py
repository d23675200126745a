"""Batches of OpenAI's are recorded: the requests as their file is uploaded, each answer as it is read."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import openai
import pytest

import onrecord
from onrecord.adapters.conversation.conversation import stream_of, tenancy_of
from onrecord.adapters.conversation.rendering import replays
from onrecord.adapters.demo.services.connection import Received, Reply
from onrecord.adapters.demo.services.scenes import Cut
from onrecord.adapters.recording.batch_records import key_of
from onrecord.adapters.storage.sqlite.sqlite import open_sqlite
from onrecord.adapters.store import backend_of
from onrecord.adapters.wire.clients import unrecorded
from onrecord.adapters.wire.clients.record import record
from onrecord.domain.errors import StorageBusy
from onrecord.domain.events import (
    AnnotationAdded,
    AttemptFailed,
    RequestSent,
    ResponseCompleted,
    ResponseInterrupted,
)
from onrecord.domain.jsontext import JsonObject
from tests.adapters.openai_clients import KEY
from tests.adapters.recorded_calls import Recorded
from tests.adapters.wire.batches.batch_events import answers, texts
from tests.adapters.wire.batches.batch_server import serving
from tests.adapters.wire.batches.openai_batch_server import (
    ANSWERED,
    BATCH,
    CHAT,
    ERRORS,
    FAILED,
    GIVEN,
    OUTPUT,
    FileBatches,
    answered,
    completion,
    ended,
    lines,
    response,
)
from tests.adapters.wire.batches.openai_batches import RESPONSES, asking, client, collect, create

ALL = [
    ("user", "What of a?"),
    ("user", "What of b?"),
    ("assistant", "Blue."),
    ("assistant", "Green."),
]


@pytest.fixture(autouse=True)
def _nothing_was_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unrecorded, "_warned_of", set[str]())


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    return Recorded(tmp_path)


@pytest.fixture
def server() -> Generator[FileBatches]:
    with serving(ended()) as running:
        yield running


def test_results_are_recorded_as_the_answers_of_their_requests(
    recorded: Recorded, server: FileBatches
) -> None:
    with client(recorded, server) as own:
        create(own, asking("a", "b"))
        assert collect(own) == ["a", "b"]
    events = recorded.events()
    assert texts(events) == ALL
    sent = [
        (stored.event_id, event)
        for stored, event in zip(recorded.chat.events(after=0), events, strict=True)
        if isinstance(event, RequestSent)
    ]
    done = [event for event in events if isinstance(event, ResponseCompleted)]
    assert [event.request for event in done] == [request for request, _ in sent]
    assert [event.line for event in done] == [event.line for _, event in sent]
    assert {(event.api, event.endpoint, event.model) for _, event in sent} == {
        ("openai-chat", CHAT, "gpt-5")
    }
    assert [(event.provider_id, event.request_id) for event in done] == [
        ("chatcmpl-01", "req_a"),
        ("chatcmpl-02", "req_b"),
    ]
    assert done[0].envelope["onrecord:batch"] == {"id": BATCH, "custom_id": "a"}
    assert [outcome.is_whole for outcome in replays(recorded.chat)] == [True, True]


def test_a_batch_of_responses_is_recorded_as_such(recorded: Recorded) -> None:
    results = [answered("a", response("Blue.", 1)), answered("b", {"error": {"code": "x"}}, 500)]
    with serving(ended(results, RESPONSES)) as server, client(recorded, server) as own:
        create(own, asking("a", "b", url=RESPONSES), RESPONSES)
        collect(own)
    events = recorded.events()
    assert texts(events) == [*ALL[:3]]
    closed = [e for e in events if isinstance(e, ResponseCompleted | ResponseInterrupted)]
    assert {event.api for event in closed} == {"openai-responses"}
    assert answers(events) == [("a", "said"), ("b", "x")]


def test_the_requests_are_durable_in_one_commit_before_the_file_is_sent(
    recorded: Recorded,
) -> None:
    seen: list[int] = []

    class Watching(FileBatches):
        def reply(self, received: Received) -> Reply:
            seen.append(len(recorded.counting.appends))
            return super().reply(received)

    with serving(Watching()) as watching, client(recorded, watching) as own:
        create(own, asking("a", "b", "c"))
    assert seen[0] == 1
    (first, *_) = recorded.counting.appends
    assert [event.type for event in first.events].count("request.sent") == 3


def test_a_file_whose_requests_cannot_be_recorded_is_not_sent(
    recorded: Recorded, server: FileBatches
) -> None:
    recorded.chat.user("Before.")
    recorded.counting.broken = StorageBusy("busy")
    with (
        client(recorded, server) as own,
        pytest.raises(openai.OpenAIError, match="batch was not sent"),
    ):
        create(own, asking("a", "b"))
    assert server.received == []


def test_files_and_results_pass_as_they_are(recorded: Recorded, server: FileBatches) -> None:
    requests = asking("a", "b")
    with client(recorded, server) as own:
        create(own, requests)
        own.batches.retrieve(BATCH)
        assert own.files.content(OUTPUT).read() == server.files[OUTPUT]
    assert lines(*requests) in server.received[0].body


def test_reading_twice_records_once(recorded: Recorded, server: FileBatches) -> None:
    with client(recorded, server) as own:
        create(own, asking("a", "b"))
        for _ in range(2):
            assert collect(own) == ["a", "b"]
    assert texts(recorded.events()) == ALL


def test_a_file_that_is_sent_in_two_batches_is_answered_twice(
    recorded: Recorded, server: FileBatches
) -> None:
    with client(recorded, server) as own:
        create(own, asking("a", "b"))
        collect(own)
        server.batch, server.output = "batch_02", "file-again"
        again = (answered("a", completion("Red.", 3)), answered("b", completion("Grey.", 4)))
        server.files["file-again"] = lines(*again)
        collect(own, "batch_02")
    assert texts(recorded.events()) == [*ALL, ("assistant", "Red."), ("assistant", "Grey.")]
    assert len(recorded.requests()) == 2


def test_a_file_of_results_says_in_stored_labels_whose_they_are(
    recorded: Recorded, server: FileBatches
) -> None:
    """The names of the labels are stored: a later release finds old batches by them."""
    with client(recorded, server) as own:
        create(own, asking("a", "b"))
        own.batches.retrieve(BATCH)
    named = tenancy_of(recorded.chat).recorders.find(key_of(OUTPUT))
    assert named is not None
    kept = [item.event() for item in recorded.store.read(named.stream.conversation_id)]
    place = str(stream_of(recorded.chat).conversation_id)
    assert [event.labels for event in kept if isinstance(event, AnnotationAdded)] == [
        {"conversation": place, "batch": BATCH, "requests": GIVEN}
    ]


def test_what_was_not_answered_says_why(recorded: Recorded, server: FileBatches) -> None:
    server.files[ERRORS] = lines(*FAILED)
    with client(recorded, server) as own:
        create(own, asking("a", "b", "c", "d"))
        assert collect(own) == ["a", "b", "c", "d"]
    events = recorded.events()
    assert answers(events) == [
        *(("a", "said"), ("b", "said")),
        *(("c", "invalid_value"), ("d", "batch_expired")),
    ]
    assert {e.reason for e in events if isinstance(e, ResponseInterrupted)} == {"deferred", "error"}


def test_results_that_are_cut_record_the_lines_that_came_whole(
    recorded: Recorded, server: FileBatches
) -> None:
    with client(recorded, server) as own:
        create(own, asking("a", "b"))
        server.faults = (Cut(len(server.files[OUTPUT]) - 20),)
        with pytest.raises(Exception):  # noqa: B017 - whatever the SDK says of a cut
            collect(own)
        assert answers(recorded.events()) == [("a", "said")]
        server.faults = ()
        collect(own)
    assert answers(recorded.events()) == [("a", "said"), ("b", "said")]


def test_a_reader_that_stops_has_recorded_what_it_read(
    recorded: Recorded, server: FileBatches
) -> None:
    with client(recorded, server) as own:
        create(own, asking("a", "b"))
        own.batches.retrieve(BATCH)
        with own.files.with_streaming_response.content(OUTPUT) as reading:
            assert json.loads(next(reading.iter_lines()))["custom_id"] == "a"
    assert ("a", "said") in answers(recorded.events())


def test_an_upload_that_is_tried_again_is_recorded_once(
    recorded: Recorded, server: FileBatches
) -> None:
    server.refusals = [500]
    with client(recorded, server, retries=1) as own:
        create(own, asking("a", "b"))
        collect(own)
    failed = [event for event in recorded.events() if isinstance(event, AttemptFailed)]
    assert [event.status for event in failed] == [500, 500]
    assert texts(recorded.events()) == ALL


def test_coroutines_are_recorded_alike(recorded: Recorded, server: FileBatches) -> None:
    async def run() -> str:
        plain = openai.AsyncOpenAI(api_key=KEY, base_url=f"{server.url}/v1", max_retries=0)
        async with record(plain, recorded.binding) as own:
            file = await own.files.create(file=lines(*asking("a", "b")), purpose="batch")
            await own.batches.create(input_file_id=file.id, endpoint=CHAT, completion_window="24h")
            found = [batch async for batch in own.batches.list()]
            return (await own.files.content(found[0].output_file_id or "")).text

    assert asyncio.run(run()).encode() == server.files[OUTPUT]
    assert texts(recorded.events()) == ALL


def test_a_batch_leaves_the_main_line_as_it_is(recorded: Recorded, server: FileBatches) -> None:
    recorded.chat.user("Hello")
    before = recorded.chat.request("openai-chat")
    with client(recorded, server) as own:
        create(own, asking("a", "b"))
        collect(own)
    assert recorded.chat.request("openai-chat") == before


def test_no_secret_of_a_batch_is_stored(tmp_path: Path, server: FileBatches) -> None:
    recorded = Recorded(tmp_path, open_sqlite(tmp_path / "log.db"))
    token = "canary-token-0123456789"
    mcp = [{"type": "mcp", "server_label": "m", "server_url": "https://m", "authorization": token}]
    error: JsonObject = {"error": {"code": "invalid_api_key", "message": f"not {KEY}"}}
    server.endpoint = RESPONSES
    server.files[OUTPUT] = lines(answered("a", response("Blue.")), answered("b", error, 401))
    with client(recorded, server) as own:
        create(own, asking("a", "b", url=RESPONSES, tools=mcp), RESPONSES)
        collect(own)
    assert answers(recorded.events()) == [("a", "said"), ("b", "invalid_api_key")]
    recorded.store.close()
    held = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"What of a?" in held
    assert token.encode() not in held
    assert KEY.encode() not in held


PROGRAM = """
import sys, openai, onrecord
store, url, key, what = sys.argv[1:]
with onrecord.connect(store) as kept:
    plain = openai.OpenAI(api_key="sk-0123456789", base_url=url, max_retries=0)
    own = kept.conversation(key).record(plain) if key else kept.record(plain)
    exec(what)
"""


@pytest.mark.parametrize("key", ["", "k"])
def test_processes_that_know_one_id_each_record_a_batch_together(
    tmp_path: Path, server: FileBatches, key: str
) -> None:
    url = f"sqlite:///{tmp_path}/log.db"

    def run(key: str, what: str) -> None:
        program = [sys.executable, "-W", "error", "-c", PROGRAM, url, f"{server.url}/v1", key, what]
        subprocess.run(program, check=True, timeout=120, capture_output=True)

    run(key, f"own.files.create(file={lines(*asking('a', 'b'))!r}, purpose='batch')")
    made = f"input_file_id={GIVEN!r}, endpoint={CHAT!r}, completion_window='24h'"
    run("", f"own.batches.create({made})")
    run("other", f"own.files.content({OUTPUT!r})")
    with onrecord.connect(url) as store:
        held = [known for known in store.conversations() if known.head.version > 2]
        events = [event.event() for event in backend_of(store).read(held[0].conversation_id)]
    assert len(held) == 1
    assert texts(events) == ALL  # type: ignore[arg-type]


def test_a_batch_that_was_forgotten_is_not_recorded_anew(
    recorded: Recorded, server: FileBatches
) -> None:
    with client(recorded, server) as own:
        create(own, asking("a", "b"))
        recorded.store.forget(recorded.chat.conversation_id)
        assert collect(own) == ["a", "b"]
    assert {event.body for event in recorded.store.read(recorded.chat.conversation_id)} == {None}


def test_what_the_store_cannot_take_waits_in_the_spool(
    recorded: Recorded, server: FileBatches
) -> None:
    with client(recorded, server) as own:
        create(own, asking("a", "b"))
        own.batches.retrieve(BATCH)
        with own.files.with_streaming_response.content(OUTPUT) as reading:
            recorded.counting.broken = StorageBusy("busy")
            assert reading.read() == server.files[OUTPUT]
            recorded.counting.broken = None
    with pytest.warns(onrecord.RecordingWarning, match="recorded late"):
        recorded.chat.head()
    assert texts(recorded.events()) == ALL


def test_azures_order_of_members_is_read_too(recorded: Recorded) -> None:
    turned = [{key: line[key] for key in ("custom_id", "error", "response")} for line in ANSWERED]
    with serving(ended(turned, "/chat/completions")) as server, client(recorded, server) as own:
        create(own, asking("a", "b", url="/chat/completions"), "/chat/completions")
        collect(own)
    assert texts(recorded.events()) == ALL
