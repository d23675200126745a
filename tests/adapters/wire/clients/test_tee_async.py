"""Async clients: the same record, written off the event loop."""

import asyncio
import gc
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from threading import Event
from typing import Any, cast

import anthropic
import anyio
import anyio.to_thread
import httpx2
import pytest

from onrecord.adapters.demo.services.scenes import Answer, Cut, Script, Stall
from onrecord.adapters.demo.services.server import DemoServer
from onrecord.adapters.wire.clients.record import record
from onrecord.domain.errors import NotRecorded, StorageFull
from onrecord.domain.events import ResponseCompleted, ResponseInterrupted
from tests.adapters.recorded_calls import GREETING, HELLO, KEY, MODEL, WAITING, Recorded
from tests.demo_faults import overloaded
from tests.patience import PATIENCE

MESSAGES = cast("list[anthropic.types.MessageParam]", HELLO)
ASKED: Any = {"model": MODEL, "max_tokens": 9, "messages": MESSAGES}

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    return Recorded(tmp_path)


@asynccontextmanager
async def calling(
    recorded: Recorded, script: Script, retries: int = 0
) -> AsyncGenerator[tuple[anthropic.AsyncAnthropic, DemoServer]]:
    with DemoServer(script) as server:
        async with anthropic.AsyncAnthropic(
            api_key=KEY, base_url=server.url, max_retries=retries
        ) as client:
            yield record(client, recorded.binding), server


def interrupted(recorded: Recorded) -> ResponseInterrupted:
    (event,) = [e for e in recorded.events() if isinstance(e, ResponseInterrupted)]
    return event


async def until_closed(recorded: Recorded) -> None:
    """Let what nobody waits for any more be recorded: a generator's end, a thread's work."""
    async with asyncio.timeout(WAITING):
        while recorded.types()[-1:] in ([], ["request.sent"]):
            await asyncio.sleep(0.01)


async def test_each_way_to_call_records_the_same(recorded: Recorded) -> None:
    async with calling(recorded, [GREETING] * 4) as (client, _):
        await client.messages.create(**ASKED)
        async with client.messages.stream(**ASKED) as stream:
            await stream.get_final_message()
        async with client.beta.messages.stream(**ASKED) as beta:
            await beta.get_final_message()
        streaming = client.messages.with_streaming_response
        async with streaming.create(**ASKED, stream=True) as response:
            assert b"message_stop" in b"".join([part async for part in response.iter_bytes()])
    assert recorded.types() == [
        "message.recorded",
        *["request.sent", "message.recorded", "response.completed"] * 4,
    ]
    assert len(recorded.counting.appends) == 8


async def test_nothing_is_written_on_the_event_loop(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: set[str] = set()
    inner = recorded.counting.append

    def watched(appends: Any) -> Any:
        threads.add(threading.current_thread().name)
        return inner(appends)

    monkeypatch.setattr(recorded.counting, "append", watched)
    async with calling(recorded, [GREETING, overloaded()]) as (client, _):
        await client.messages.create(**ASKED)
        with pytest.raises(anthropic.APIStatusError):
            async with client.messages.stream(**ASKED) as stream:
                await stream.get_final_message()
    assert len(recorded.counting.appends) == 4
    assert threading.main_thread().name not in threads


async def test_calls_gathered_are_each_recorded_whole(recorded: Recorded) -> None:
    async def ask(question: str) -> str:
        message = await client.messages.create(
            model=MODEL, max_tokens=9, messages=[{"role": "user", "content": question}]
        )
        return str(message.content[0].to_dict()["text"])

    async with calling(recorded, [GREETING] * 12) as (client, _):
        answers = await asyncio.gather(*(ask(f"Question {n}") for n in range(12)))
    assert answers == ["Hello! What can I do for you?"] * 12
    requests = recorded.requests()
    completed = [e for e in recorded.events() if isinstance(e, ResponseCompleted)]
    assert len(requests) == len(completed) == 12
    assert [request.line for request in requests].count(None) == 1
    by_line = {e.line: e.request for e in completed}
    assert all(line in (None, request) for line, request in by_line.items())


async def test_retries_are_attempts_of_one_request(recorded: Recorded) -> None:
    async with calling(recorded, [overloaded(), GREETING], retries=1) as (client, _):
        await client.messages.create(**ASKED)
    assert recorded.types()[1:3] == ["request.sent", "attempt.failed"]
    assert recorded.types().count("request.sent") == 1


async def test_a_call_that_cannot_be_recorded_is_refused_once(recorded: Recorded) -> None:
    async with calling(recorded, [GREETING], retries=3) as (client, server):
        recorded.counting.broken = StorageFull("no room")
        with pytest.raises(NotRecorded) as refused:
            await client.messages.create(**ASKED)
        assert server.requests == ()
    assert isinstance(refused.value, anthropic.AnthropicError)
    assert len(recorded.counting.appends) == 1


async def test_a_cut_wire_is_recorded_as_cut(recorded: Recorded) -> None:
    scene = Answer(GREETING.content, faults=(Cut(700),))
    async with calling(recorded, [scene]) as (client, _):
        with pytest.raises(httpx2.RemoteProtocolError):
            async with client.messages.stream(**ASKED) as stream:
                await stream.get_final_message()
    assert interrupted(recorded).reason == "cut"


async def test_a_cancelled_task_abandons_its_answer(recorded: Recorded) -> None:
    begun, release = asyncio.Event(), Event()

    async def read() -> None:
        stream = await client.messages.create(**ASKED, stream=True)
        async for _ in stream:
            begun.set()

    scene = Answer(GREETING.content, faults=(Stall(700, release),))
    async with calling(recorded, [scene]) as (client, _):
        task = asyncio.create_task(read())
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        release.set()
    assert interrupted(recorded).reason == "abandoned"


async def test_a_call_cancelled_before_its_answer_is_a_failed_attempt(recorded: Recorded) -> None:
    arrived, release = Event(), Event()

    def script(_: Any) -> Answer:
        arrived.set()
        release.wait(PATIENCE)
        return GREETING

    async def ask() -> None:
        await client.messages.create(**ASKED)

    async with calling(recorded, script) as (client, _):
        task = asyncio.create_task(ask())
        await asyncio.to_thread(arrived.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        release.set()
    assert recorded.types() == ["message.recorded", "request.sent", "attempt.failed"]


async def test_a_call_cancelled_while_it_is_recorded_is_a_failed_attempt_and_not_sent(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    writing, release = Event(), Event()
    inner = recorded.counting.append

    def slow(appends: Any) -> Any:
        writing.set()
        assert release.wait(WAITING)
        return inner(appends)

    async def ask() -> None:
        await client.messages.create(**ASKED)

    monkeypatch.setattr(recorded.counting, "append", slow)
    async with calling(recorded, [GREETING]) as (client, server):
        task = asyncio.create_task(ask())
        await asyncio.to_thread(writing.wait, WAITING)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        release.set()
        await until_closed(recorded)
        assert server.requests == ()
    assert recorded.types() == ["message.recorded", "request.sent", "attempt.failed"]


async def test_recording_waits_for_no_thread_of_the_programs(recorded: Recorded) -> None:
    busy, release = Event(), Event()
    limiter = anyio.to_thread.current_default_thread_limiter()
    limiter.total_tokens = 1

    def work() -> None:
        busy.set()
        assert release.wait(WAITING)

    async with calling(recorded, [GREETING]) as (client, _), anyio.create_task_group() as group:
        group.start_soon(anyio.to_thread.run_sync, work)
        await asyncio.to_thread(busy.wait, WAITING)
        try:
            with anyio.fail_after(WAITING / 2):
                await client.messages.create(**ASKED)
        finally:
            release.set()
    assert recorded.types()[-1] == "response.completed"


@pytest.mark.parametrize("way", ["close", "break", "drop"])
async def test_a_stream_that_is_not_read_on_is_abandoned(recorded: Recorded, way: str) -> None:
    async with calling(recorded, [GREETING]) as (client, _):
        stream: Any = await client.messages.create(**ASKED, stream=True)
        if way == "break":
            async with stream:
                async for _ in stream:
                    break
        else:
            await anext(aiter(stream))
            if way == "close":
                await stream.close()
            else:
                del stream
                gc.collect()
                await until_closed(recorded)
    assert interrupted(recorded).reason == "abandoned"
