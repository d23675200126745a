"""Batches of Anthropic's are recorded: the requests before they go out, each answer as it is read."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import warnings
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anthropic
import pytest

import onrecord
from onrecord.adapters.conversation.rendering import replays
from onrecord.adapters.demo.services.connection import Received, Reply
from onrecord.adapters.demo.services.scenes import Cut
from onrecord.adapters.storage.sqlite.sqlite import open_sqlite
from onrecord.adapters.store import backend_of
from onrecord.adapters.wire.clients import unrecorded
from onrecord.adapters.wire.clients.record import record
from onrecord.domain.errors import StorageBusy
from onrecord.domain.events import (
    AttemptFailed,
    RequestSent,
    ResponseCompleted,
    ResponseInterrupted,
)
from onrecord.domain.jsontext import JsonObject
from tests.adapters.recorded_calls import KEY, MODEL, Recorded
from tests.adapters.wire.batches.batch_events import answers, texts
from tests.adapters.wire.batches.batch_server import (
    ANSWERED,
    BATCH,
    MIXED,
    Batches,
    serving,
    succeeded,
)


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


def asking(*names: str, **more: Any) -> list[Any]:
    return [
        {
            "custom_id": name,
            "params": {
                "model": MODEL,
                "max_tokens": 9,
                "messages": [{"role": "user", "content": f"What of {name}?"}],
                **more,
            },
        }
        for name in names
    ]


def client(recorded: Recorded, server: Batches, retries: int = 0) -> anthropic.Anthropic:
    plain = anthropic.Anthropic(api_key=KEY, base_url=server.url, max_retries=retries)
    return record(plain, recorded.binding)


def read(recorded: Recorded, server: Batches) -> list[str]:
    with client(recorded, server) as reader:
        return [line.custom_id for line in reader.messages.batches.results(BATCH)]


def create(recorded: Recorded, server: Batches, *names: str, **more: Any) -> None:
    with client(recorded, server) as creator:
        creator.messages.batches.create(requests=asking(*names, **more))


ALL = [
    ("user", "What of a?"),
    ("user", "What of b?"),
    ("assistant", "Blue."),
    ("assistant", "Green."),
]


def test_results_are_recorded_as_the_answers_of_their_requests(
    recorded: Recorded, server: Batches
) -> None:
    create(recorded, server, "a", "b")
    assert read(recorded, server) == ["a", "b"]
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
    assert [event.provider_id for event in done] == ["msg_01", "msg_02"]
    assert done[0].envelope["onrecord:batch"] == {"id": BATCH, "custom_id": "a"}
    assert [outcome.is_whole for outcome in replays(recorded.chat)] == [True, True]


def test_the_requests_are_durable_in_one_commit_before_the_batch_is_sent(
    recorded: Recorded,
) -> None:
    seen: list[int] = []

    class Watching(Batches):
        def reply(self, received: Received) -> Reply:
            seen.append(len(recorded.counting.appends))
            return super().reply(received)

    with serving(Watching(ANSWERED)) as watching:
        create(recorded, watching, "a", "b", "c")
    assert seen == [1]
    (first, *_) = recorded.counting.appends
    assert [event.type for event in first.events].count("request.sent") == 3


def test_a_batch_that_cannot_be_recorded_is_not_sent(recorded: Recorded, server: Batches) -> None:
    recorded.chat.user("Before.")
    recorded.counting.broken = StorageBusy("busy")
    with pytest.raises(anthropic.AnthropicError, match="batch was not sent"):
        create(recorded, server, "a", "b")
    assert server.received == []
    recorded.counting.broken = None
    assert "request.sent" not in recorded.types()


@pytest.mark.parametrize("packed", [False, True])
def test_the_reader_gets_its_bytes_untouched(recorded: Recorded, packed: bool) -> None:
    with serving(Batches(MIXED, packed=packed)) as server:
        create(recorded, server, "a", "b", "c", "d", "e")
        with client(recorded, server) as reader:
            got = reader.messages.batches.with_raw_response.results(BATCH).http_response.read()
    assert got == server.results()
    assert len(answers(recorded.events())) == 5


def test_reading_twice_records_once(recorded: Recorded, server: Batches) -> None:
    create(recorded, server, "a", "b")
    for _ in range(2):
        read(recorded, server)
    assert texts(recorded.events()) == ALL


def test_readers_at_the_same_time_record_once(tmp_path: Path, server: Batches) -> None:
    recorded = Recorded(tmp_path, open_sqlite(tmp_path / "log.db"))
    server.lines = [succeeded(f"n{number}", "Yes.", number) for number in range(40)]
    names = [f"n{number}" for number in range(40)]
    create(recorded, server, *names)
    with ThreadPoolExecutor(4) as pool:
        readers = [pool.submit(read, recorded, server) for _ in range(4)]
        assert [reader.result() for reader in readers] == [names] * 4
    assert sorted(name for name, _ in answers(recorded.events())) == sorted(names)
    recorded.store.close()


def test_what_was_not_answered_says_why(recorded: Recorded) -> None:
    with serving(Batches(MIXED)) as server:
        create(recorded, server, "a", "b", "c", "d", "e")
        read(recorded, server)
    events = recorded.events()
    assert answers(events) == [
        *(("a", "said"), ("b", "said"), ("c", "invalid_request_error")),
        *(("d", "expired"), ("e", "canceled")),
    ]
    failed = next(e for e in events if isinstance(e, ResponseInterrupted) and e.request_id)
    assert (failed.reason, failed.request_id) == ("error", "req_01")


def test_a_stream_that_is_cut_records_the_lines_that_came_whole(recorded: Recorded) -> None:
    with serving(Batches(ANSWERED)) as server:
        create(recorded, server, "a", "b")
        server.faults = (Cut(len(server.results()) - 20),)
        with pytest.raises(Exception):  # noqa: B017 - whatever the SDK says of a cut
            read(recorded, server)
        assert answers(recorded.events()) == [("a", "said")]
        server.faults = ()
        read(recorded, server)
    assert answers(recorded.events()) == [("a", "said"), ("b", "said")]


def test_a_line_is_recorded_before_it_is_handed_on(recorded: Recorded, server: Batches) -> None:
    create(recorded, server, "a", "b")
    with client(recorded, server) as reader:
        lines = iter(reader.messages.batches.results(BATCH))
        assert next(lines).custom_id == "a"
        assert ("a", "said") in answers(recorded.events())


def test_a_batch_leaves_the_main_line_as_it_is(recorded: Recorded, server: Batches) -> None:
    recorded.chat.user("Hello")
    before = recorded.chat.request("anthropic-messages")
    create(recorded, server, "a", "b", system="You are brief.")
    read(recorded, server)
    assert recorded.chat.request("anthropic-messages") == before


def test_what_a_request_of_a_batch_repeats_is_not_recorded_again(
    recorded: Recorded, server: Batches
) -> None:
    recorded.chat.user("Hello")
    params: Any = {"model": MODEL, "max_tokens": 9, **recorded.chat.request("anthropic-messages")}
    with client(recorded, server) as creator:
        entries: list[Any] = [{"custom_id": name, "params": params} for name in ("a", "b")]
        creator.messages.batches.create(requests=entries)
    read(recorded, server)
    events = recorded.events()
    assert texts(events) == [("user", "Hello"), ("assistant", "Blue."), ("assistant", "Green.")]
    assert [event.relation for event in recorded.requests()] == ["branches", "branches"]


def test_an_answer_of_a_batch_that_a_program_goes_on_from_is_history(
    recorded: Recorded, server: Batches
) -> None:
    recorded.chat.user("Hello")
    params: Any = {"model": MODEL, "max_tokens": 9, **recorded.chat.request("anthropic-messages")}
    with client(recorded, server) as program:
        entries: list[Any] = [{"custom_id": name, "params": params} for name in ("a", "b")]
        program.messages.batches.create(requests=entries)
        list(program.messages.batches.results(BATCH))
        said: list[Any] = [
            {"role": "user", "content": "Hello"},
            {"role": "assistant", "content": "Green."},
            {"role": "user", "content": "And then?"},
        ]
        program.messages.create(model=MODEL, max_tokens=9, messages=said)
    history = recorded.chat.request("anthropic-messages")["messages"]
    told = [(message["role"], json.dumps(message["content"])) for message in history]
    expected = [("user", "Hello"), ("assistant", "Green."), ("user", "And then?")]
    assert len(told) == 4
    assert all(
        role == other and text in content
        for (role, content), (other, text) in zip(told, expected, strict=False)
    )


def test_a_batch_that_is_tried_again_is_recorded_once(recorded: Recorded, server: Batches) -> None:
    server.refusals = [500]
    with client(recorded, server, retries=1) as creator:
        creator.messages.batches.create(requests=asking("a", "b"))
    assert len(recorded.requests()) == 2
    failed = [event for event in recorded.events() if isinstance(event, AttemptFailed)]
    assert [event.status for event in failed] == [500, 500]
    read(recorded, server)
    assert texts(recorded.events()) == ALL


def test_the_beta_spelling_and_coroutines_are_recorded_alike(
    recorded: Recorded, server: Batches
) -> None:
    async def run() -> list[str]:
        plain = anthropic.AsyncAnthropic(api_key=KEY, base_url=server.url, max_retries=0)
        async with record(plain, recorded.binding) as own:
            await own.beta.messages.batches.create(requests=asking("a", "b"))
            return [line.custom_id async for line in await own.beta.messages.batches.results(BATCH)]

    assert asyncio.run(run()) == ["a", "b"]
    assert texts(recorded.events()) == ALL


def test_a_batch_that_nobody_recorded_has_its_answers_recorded_alone(
    recorded: Recorded, server: Batches
) -> None:
    with pytest.warns(onrecord.RecordingWarning, match="no recorded client made"):
        read(recorded, server)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read(recorded, server)
    events = recorded.events()
    assert texts(events) == [("assistant", "Blue."), ("assistant", "Green.")]
    assert answers(events) == [("a", "said"), ("b", "said")]
    assert {event.line for event in events[1:]} & {None} == set()


def test_no_secret_of_a_batch_is_stored(tmp_path: Path, server: Batches) -> None:
    recorded = Recorded(tmp_path, open_sqlite(tmp_path / "log.db"))
    token = "canary-token-0123456789"
    mcp = [{"type": "url", "name": "m", "url": "https://m", "authorization_token": token}]
    create(recorded, server, "a", "b", mcp_servers=mcp)
    error: JsonObject = {"type": "authentication_error", "message": f"not {KEY}"}
    failed: JsonObject = {"type": "errored", "error": {"type": "error", "error": error}}
    server.lines = [succeeded("a", "Blue."), {"custom_id": "b", "result": failed}]
    read(recorded, server)
    assert answers(recorded.events()) == [("a", "said"), ("b", "authentication_error")]
    recorded.store.close()
    held = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"What of a?" in held
    assert token.encode() not in held
    assert KEY.encode() not in held


PROGRAM = """
import json, sys, anthropic, onrecord
store, url, what, key = sys.argv[1:]
with onrecord.connect(store) as kept:
    plain = anthropic.Anthropic(api_key="sk-ant-0123456789", base_url=url, max_retries=0)
    client = kept.conversation(key).record(plain) if key else kept.record(plain)
    if what == "read":
        print([line.custom_id for line in client.messages.batches.results("msgbatch_01")])
    else:
        client.messages.batches.create(requests=json.loads(what))
"""


@pytest.mark.parametrize(("made", "reads"), [("k", ""), ("", ""), ("", "other")])
def test_one_process_makes_a_batch_and_another_one_reads_it(
    tmp_path: Path, server: Batches, made: str, reads: str
) -> None:
    url = f"sqlite:///{tmp_path}/log.db"

    def run(what: str, key: str) -> None:
        program = [sys.executable, "-W", "error", "-c", PROGRAM, url, server.url, what, key]
        subprocess.run(program, check=True, timeout=120, capture_output=True)

    run(json.dumps(asking("a", "b")), made)
    run("read", reads)
    with onrecord.connect(url) as store:
        held = [known for known in store.conversations() if known.head.version > 2]
        events = [event.event() for event in backend_of(store).read(held[0].conversation_id)]
    assert len(held) == 1
    assert texts(events) == ALL  # type: ignore[arg-type]


def test_a_batch_that_was_forgotten_is_not_recorded_anew(
    recorded: Recorded, server: Batches
) -> None:
    create(recorded, server, "a", "b")
    recorded.store.forget(recorded.chat.conversation_id)
    assert read(recorded, server) == ["a", "b"]
    assert {event.body for event in recorded.store.read(recorded.chat.conversation_id)} == {None}


def test_what_the_store_cannot_take_waits_in_the_spool(recorded: Recorded, server: Batches) -> None:
    create(recorded, server, "a", "b")
    with client(recorded, server) as reader:
        results = reader.messages.batches.results(BATCH)
        recorded.counting.broken = StorageBusy("busy")
        assert len(list(results)) == 2
        recorded.counting.broken = None
    with pytest.warns(onrecord.RecordingWarning, match="recorded late"):
        recorded.chat.head()
    assert texts(recorded.events()) == ALL
