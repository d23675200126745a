"""Threads that Anthropic's service holds: each request says only what is new (R22)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from threading import Lock
from typing import Any

import anthropic
import pytest
from anthropic import beta_async_tool, beta_tool

from onrecord.adapters.conversation.rendering import replays
from onrecord.adapters.demo.services import scenes
from onrecord.adapters.demo.services.scenes import Answer, HttpError
from onrecord.adapters.demo.services.server import DemoServer
from onrecord.adapters.wire.clients.record import record
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.members import objects, text
from tests.adapters.recorded_calls import KEY, MODEL, Recorded
from tests.adapters.recording.own_history import Anthropic, Program

SYSTEM = "You look parcels up."
MAIN = ["Where are they?", "I look.", "call toolu_01", "toolu_01 gave in depot North", "There."]


KEPT = ("system", "tools")


class ThreadServer(DemoServer):
    """Holds conversations, by the id of their last message; each answer can be continued once.

    A thread refuses a request with another system prompt or other tools. Shapes and codes:
    anthropic 2.11, lib/threads and types/thread_*_error.
    """

    def __init__(self, script: Sequence[Answer]) -> None:
        super().__init__(script)
        self._held_lock = Lock()
        self._held: dict[str, scenes.JsonObject] = {}
        self._continued: set[str] = set()

    def whole(self, request: scenes.JsonObject) -> scenes.JsonObject | HttpError:
        thread = request.get("thread")
        if not isinstance(thread, dict) or thread.get("type") != "continue":
            return request
        previous = text(thread.get("previous_message_id"))
        with self._held_lock:
            stored, is_continued = self._held.get(previous), previous in self._continued
        if stored is None:
            why = f"No usable Thread state was found for {previous}"
            return HttpError(404, "not_found_error", why, code="thread_not_found")
        if is_continued:
            return refusal(f"{previous} has already been continued", "thread_already_continued")
        for name in KEPT:
            if name in request and request[name] != stored.get(name):
                why = f"{name} differs from the value stored with the Thread"
                return refusal(why, "thread_fingerprint_mismatch")
        messages = [*objects(stored["messages"]), *objects(request.get("messages"))]
        inherited: scenes.JsonObject = {name: stored[name] for name in KEPT if name in stored}
        return {**request, **inherited, "messages": [*messages]}

    def complaints(self, request: scenes.JsonObject) -> Iterator[str]:
        bare = {name: value for name, value in request.items() if name != "thread"}
        yield from super().complaints(bare)

    def keep(
        self, whole: scenes.JsonObject, message_id: str, content: Sequence[scenes.JsonObject]
    ) -> None:
        thread = whole.get("thread")
        if not isinstance(thread, dict):
            return
        answer: scenes.JsonObject = {"role": "assistant", "content": [*content]}
        with self._held_lock:
            self._continued.add(text(thread.get("previous_message_id")))
            messages = [*objects(whole.get("messages")), answer]
            self._held[message_id] = {**whole, "messages": [*messages]}

    def lose(self) -> None:
        """Forget all threads, as the service does when they have expired."""
        with self._held_lock:
            self._held.clear()


def refusal(why: str, code: str) -> HttpError:
    return HttpError(400, "invalid_request_error", why, code=code)


def calling(call: str, text: str = "I look.") -> Answer:
    called: JsonObject = {"type": "tool_use", "id": call, "name": "track", "input": {"parcel": "1"}}
    return Answer(content=({"type": "text", "text": text}, called), stop_reason="tool_use")


def saying(text: str) -> Answer:
    return Answer(content=({"type": "text", "text": text},))


SCRIPT = [calling("toolu_01"), saying("There.")]


@beta_tool
def track(parcel: str) -> str:
    """Tell where a parcel is."""
    return "in depot North"


@beta_async_tool(name="track")
async def track_async(parcel: str) -> str:
    """Tell where a parcel is."""
    return "in depot North"


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    return Recorded(tmp_path)


@pytest.fixture
def server() -> Generator[ThreadServer]:
    with ThreadServer([*SCRIPT, *[saying(f"a{number}") for number in range(9)]]) as server:
        yield server


@pytest.fixture
def client(recorded: Recorded, server: DemoServer) -> Generator[anthropic.Anthropic]:
    with anthropic.Anthropic(api_key=KEY, base_url=server.url, max_retries=0) as plain:
        yield record(plain, recorded.binding)


def asked(**more: Any) -> dict[str, Any]:
    messages: list[JsonObject] = [{"role": "user", "content": MAIN[0]}]
    return {"model": MODEL, "max_tokens": 64, "system": SYSTEM, "messages": messages, **more}


def run(client: anthropic.Anthropic, way: str) -> None:
    runner: Any = client.beta.messages.tool_runner
    if way == "whole":
        runner(tools=[track], **asked()).until_done()
    else:
        for stream in runner(tools=[track], stream=True, **asked()):
            stream.until_done()


async def run_async(recorded: Recorded, server: DemoServer, way: str) -> None:
    async with anthropic.AsyncAnthropic(api_key=KEY, base_url=server.url, max_retries=0) as plain:
        runner: Any = record(plain, recorded.binding).beta.messages.tool_runner
        if way == "whole":
            await runner(tools=[track_async], **asked()).until_done()
        else:
            async for stream in runner(tools=[track_async], stream=True, **asked()):
                await stream.until_done()


def bodies(server: DemoServer) -> list[JsonObject]:
    return [json.loads(request.body) for request in server.requests]


def program(recorded: Recorded) -> Program:
    return Program(recorded, Anthropic())


@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.parametrize("way", ["whole", "streamed"])
def test_a_tool_runner_that_continues_a_thread_is_one_history(
    recorded: Recorded, server: DemoServer, client: anthropic.Anthropic, kind: str, way: str
) -> None:
    if kind == "sync":
        run(client, way)
    else:
        asyncio.run(run_async(recorded, server, way))
    first, second = bodies(server)
    assert first["thread"] == {"type": "create"}
    assert second["thread"]["type"] == "continue"
    assert len(second["messages"]) == 1
    assert program(recorded).relations() == ["extends", "reference"]
    assert program(recorded).main() == MAIN
    assert not recorded.chat.open_calls()


def test_a_continued_thread_keeps_its_instructions_and_tools(
    recorded: Recorded, client: anthropic.Anthropic
) -> None:
    run(client, "whole")
    request = recorded.chat.request("anthropic-messages")
    assert request["system"] == SYSTEM
    assert [tool["name"] for tool in request["tools"]] == ["track"]
    assert "thread" not in request
    assert recorded.types().count("instructions.set") == 1
    assert recorded.types().count("tools.declared") == 1


def test_each_request_of_a_thread_comes_back_as_it_was_sent(
    recorded: Recorded, client: anthropic.Anthropic
) -> None:
    run(client, "whole")
    assert [outcome.is_whole for outcome in replays(recorded.chat)] == [True, True]


def test_a_thread_goes_on_with_what_was_said_in_full(
    recorded: Recorded, server: DemoServer, client: anthropic.Anthropic
) -> None:
    run(client, "whole")
    recorded.chat.user("And 2?")
    request: Any = recorded.chat.request("anthropic-messages")
    client.messages.create(model=MODEL, max_tokens=64, **request)
    assert program(recorded).main() == [*MAIN, "And 2?", "a0"]
    assert program(recorded).relations() == ["extends", "reference", "extends"]


def test_a_thread_that_the_service_lost_is_said_again_and_recorded_once(
    recorded: Recorded, server: ThreadServer, client: anthropic.Anthropic
) -> None:
    made: Any = client.beta.messages.tool_runner
    runner: Any = made(tools=[track], **asked())
    next(runner)
    server.lose()
    runner.until_done()
    assert [body["thread"]["type"] for body in bodies(server)] == ["create", "continue", "create"]
    assert program(recorded).main() == MAIN
    assert program(recorded).relations()[-1] in ("extends", "reference")


def test_another_process_goes_on_with_a_thread(recorded: Recorded) -> None:
    threads = program(recorded)
    first = threads.spelling.answer("a1", ["c1"])
    created: JsonObject = {"system": SYSTEM, "thread": {"type": "create"}}
    threads.answered(threads.send(threads.user("u1"), **created), first)
    recorded.recorder = recorded.new_recorder()
    thread = {"type": "continue", "previous_message_id": first["id"]}
    threads.answer(threads.send(threads.results(c1="r1"), thread=thread), "a2")
    assert threads.relations() == ["extends", "reference"]
    assert threads.main() == ["u1", "a1", "call c1", "c1 gave r1", "a2"]
    assert recorded.chat.request("anthropic-messages")["system"] == SYSTEM


def test_a_paused_turn_is_continued_with_nothing_new(recorded: Recorded) -> None:
    threads = program(recorded)
    first = threads.spelling.answer("I look.", [])
    first["stop_reason"] = "pause_turn"
    threads.answered(threads.send(threads.user("u1"), thread={"type": "create"}), first)
    thread = {"type": "continue", "previous_message_id": first["id"]}
    threads.answer(threads.send([], thread=thread), "Here.")
    assert threads.relations() == ["extends", "reference"]
    assert threads.main() == ["u1", "I look.", "Here."]


def test_a_program_that_gives_its_thread_up_sends_its_whole_list(recorded: Recorded) -> None:
    threads = program(recorded)
    history = threads.user("u1")
    first = threads.spelling.answer("a1", ["c1"])
    history += threads.answered(threads.send(history, thread={"type": "create"}), first)
    thread = {"type": "continue", "previous_message_id": first["id"]}
    results = threads.results(c1="r1")
    history += [*results, *threads.answer(threads.send(results, thread=thread), "a2")]
    threads.answer(threads.send([*history, *threads.user("u3")], thread={"type": "create"}), "a3")
    assert threads.main() == ["u1", "a1", "call c1", "c1 gave r1", "a2", "u3", "a3"]
    assert threads.said() == ["u1", "c1 gave r1", "u3"]


def test_an_older_message_of_a_thread_is_continued_beside_the_history(recorded: Recorded) -> None:
    threads = program(recorded)
    first = threads.spelling.answer("a1", [])
    threads.answered(threads.send(threads.user("u1"), thread={"type": "create"}), first)
    thread = {"type": "continue", "previous_message_id": first["id"]}
    threads.answer(threads.send(threads.user("u2"), thread=thread), "a2")
    threads.answer(threads.send(threads.user("u2b"), thread=thread), "b2")
    assert threads.relations() == ["extends", "reference", "reference aside"]
    assert threads.main() == ["u1", "a1", "u2", "a2"]
