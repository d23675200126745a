"""What an official client sends and gets over the Responses API is recorded, however it asks."""

import json
from pathlib import Path
from typing import Any, cast

import openai
import pytest
from pydantic import BaseModel

from onrecord.adapters.wire.clients.record import record
from onrecord.domain.content import Native
from onrecord.domain.events import (
    CompactionRecorded,
    Event,
    MessageRecorded,
    OpaqueRecorded,
    RequestSent,
    ResponseCompleted,
    ResponseInterrupted,
    ToolCallRecorded,
)
from tests.adapters.recorded_calls import Recorded
from tests.adapters.replaying_server import Replaying, replaying, streamed, whole
from tests.openai_responses_wire import (
    JsonObject,
    call,
    message,
    reasoning,
    response,
    stream_events,
)

MODEL = "gpt-5.4"
KEY = "sk-canary-0123456789"
FULL: JsonObject = {
    "instructions": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "temperature": 1.0,
    "tool_choice": "auto",
    "top_p": 1.0,
}


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    return Recorded(tmp_path)


def answer(*output: JsonObject, **more: Any) -> JsonObject:
    usage: JsonObject = {
        "input_tokens": 11,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": 22,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 33,
    }
    members: JsonObject = {**FULL, "usage": usage, **more}
    return response(*output, **members)


def waiting(status: str = "queued") -> JsonObject:
    return answer(status=status, background=True, usage=None)


def client_of(server: Replaying, recorded: Recorded) -> openai.OpenAI:
    return record(openai.OpenAI(api_key=KEY, base_url=server.url, max_retries=0), recorded.binding)


def async_client_of(server: Replaying, recorded: Recorded) -> openai.AsyncOpenAI:
    return record(
        openai.AsyncOpenAI(api_key=KEY, base_url=server.url, max_retries=0), recorded.binding
    )


def values(events: list[Event]) -> list[JsonObject]:
    """The items of the answers that events hold, in order."""
    found: list[JsonObject] = []
    for event in events:
        content: object = getattr(event, "content", None)
        held = cast("tuple[object, ...]", content) if isinstance(content, tuple) else (content,)
        if getattr(event, "response", None):
            found += [block.value for block in held if isinstance(block, Native)]
    return found


def closings(events: list[Event]) -> list[ResponseCompleted | ResponseInterrupted]:
    return [event for event in events if isinstance(event, ResponseCompleted | ResponseInterrupted)]


SAID = answer(reasoning(), message(), call())


def test_an_answer_is_recorded_with_its_items_as_they_came(recorded: Recorded) -> None:
    with replaying(whole(SAID)) as server, client_of(server, recorded) as client:
        client.responses.create(model=MODEL, input="Hello")
    assert recorded.types() == [
        "message.recorded",
        "request.sent",
        "reasoning.recorded",
        "message.recorded",
        "tool_call.recorded",
        "response.completed",
    ]
    events = recorded.events()
    assert values(events) == SAID["output"]
    [closing] = closings(events)
    assert closing.request is not None
    assert (closing.provider_id, closing.input_tokens) == ("resp_01", 11)


@pytest.mark.parametrize("helper", [True, False])
def test_a_streamed_answer_is_recorded(recorded: Recorded, helper: bool) -> None:
    with replaying(streamed(stream_events(SAID))) as server, client_of(server, recorded) as client:
        if helper:
            with client.responses.stream(model=MODEL, input="Hello") as events:
                assert events.get_final_response().output_text == "Hello."
        else:
            for _ in client.responses.create(model=MODEL, input="Hello", stream=True):
                pass
    assert values(recorded.events()) == SAID["output"]
    assert isinstance(closings(recorded.events())[0], ResponseCompleted)


async def test_an_async_client_is_recorded(recorded: Recorded) -> None:
    with replaying(whole(SAID), streamed(stream_events(SAID))) as server:
        async with async_client_of(server, recorded) as client:
            await client.responses.create(model=MODEL, input="Hello")
            async for _ in await client.responses.create(model=MODEL, input="Hello", stream=True):
                pass
    assert values(recorded.events()) == SAID["output"] * 2


def test_an_answer_that_is_parsed_is_recorded_as_it_was_said(recorded: Recorded) -> None:
    class City(BaseModel):
        name: str

    said = answer(message('{"name":"Rome"}'))
    with replaying(whole(said)) as server, client_of(server, recorded) as client:
        reply = client.responses.parse(model=MODEL, input="Hello", text_format=City)
    assert reply.output_parsed == City(name="Rome")
    assert values(recorded.events()) == said["output"]


def test_an_error_is_a_failed_attempt(recorded: Recorded) -> None:
    error = {"error": {"type": "invalid_request_error", "message": "no", "code": None}}
    with (
        replaying(whole(error, 400)) as server,
        client_of(server, recorded) as client,
        pytest.raises(openai.BadRequestError),
    ):
        client.responses.create(model=MODEL, input="Hello")
    assert recorded.types()[-1] == "attempt.failed"


class TestInTheBackground:
    def test_the_answer_is_recorded_once_when_it_is_over(self, recorded: Recorded) -> None:
        polls = [waiting("queued"), waiting("in_progress"), SAID, SAID]
        with (
            replaying(whole(waiting()), *map(whole, polls)) as server,
            client_of(server, recorded) as client,
        ):
            reply = client.responses.create(model=MODEL, input="Hello", background=True)
            for _ in polls:
                reply = client.responses.retrieve(reply.id)
        assert reply.status == "completed"
        deferred, completed = closings(recorded.events())
        assert isinstance(deferred, ResponseInterrupted)
        assert (deferred.reason, deferred.raw) == ("deferred", None)
        assert isinstance(completed, ResponseCompleted)
        assert completed.request == deferred.request
        assert values(recorded.events()) == SAID["output"]
        assert recorded.types().count("request.sent") == 1

    def test_another_process_may_read_it(self, recorded: Recorded) -> None:
        with replaying(whole(waiting()), whole(SAID), whole(SAID)) as server:
            with client_of(server, recorded) as client:
                client.responses.create(model=MODEL, input="Hello", background=True)
            for _ in range(2):
                recorded.recorder = recorded.new_recorder()
                with client_of(server, recorded) as client:
                    client.responses.retrieve("resp_01")
        assert values(recorded.events()) == SAID["output"]

    async def test_an_async_client_may_read_it(self, recorded: Recorded) -> None:
        with replaying(whole(waiting()), whole(SAID)) as server:
            async with async_client_of(server, recorded) as client:
                reply = await client.responses.create(model=MODEL, input="Hi", background=True)
                await client.responses.retrieve(reply.id)
        assert values(recorded.events()) == SAID["output"]

    def test_a_stream_that_broke_off_is_read_from_there(self, recorded: Recorded) -> None:
        events = list(stream_events(SAID))
        for data in events[:2]:
            data["response"] = {**data["response"], "background": True}
        with (
            replaying(streamed(events[:9]), streamed(events[9:])) as server,
            client_of(server, recorded) as client,
        ):
            stream = client.responses.create(
                model=MODEL, input="Hello", background=True, stream=True
            )
            seen = [data.sequence_number for data in stream]
            rest = client.responses.retrieve("resp_01", stream=True, starting_after=seen[-1])
            seen += [data.sequence_number for data in rest]
        assert seen == list(range(len(events)))
        cut, completed = closings(recorded.events())
        assert isinstance(cut, ResponseInterrupted)
        assert cut.reason == "cut"
        assert isinstance(completed, ResponseCompleted)
        after = [event for event in recorded.events() if _response_of(event) == completed.response]
        assert values(after) == SAID["output"]

    @pytest.mark.parametrize("status", ["failed", "cancelled"])
    def test_that_it_went_wrong_is_recorded(self, recorded: Recorded, status: str) -> None:
        gone = answer(status=status, background=True)
        with (
            replaying(whole(waiting()), whole(gone), whole(gone)) as server,
            client_of(server, recorded) as client,
        ):
            client.responses.create(model=MODEL, input="Hello", background=True)
            client.responses.retrieve("resp_01")
            client.responses.retrieve("resp_01")
        reasons = [getattr(closing, "reason", None) for closing in closings(recorded.events())]
        assert reasons == ["deferred", "error" if status == "failed" else "abandoned"]

    def test_a_poll_that_fails_or_is_cut_records_nothing(self, recorded: Recorded) -> None:
        events = list(stream_events(SAID))[:5]
        error = {"error": {"type": "server_error", "message": "no"}}
        with (
            replaying(whole(waiting()), whole(error, 500), streamed(events), whole(SAID)) as server,
            client_of(server, recorded) as client,
        ):
            client.responses.create(model=MODEL, input="Hello", background=True)
            with pytest.raises(openai.InternalServerError):
                client.responses.retrieve("resp_01")
            for _ in client.responses.retrieve("resp_01", stream=True):
                pass
            before = recorded.types()
            client.responses.retrieve("resp_01")
        assert before[-1] == "response.interrupted"
        assert recorded.types()[-1] == "response.completed"

    def test_what_is_not_known_or_is_no_answer_passes_unrecorded(self, recorded: Recorded) -> None:
        cancelled = answer(status="cancelled", background=True)
        with (
            replaying(whole(SAID), whole(cancelled)) as server,
            client_of(server, recorded) as client,
        ):
            client.responses.retrieve("resp_unknown")
            client.responses.cancel("resp_unknown")
        assert recorded.events() == []
        assert server.received == [
            "GET /v1/responses/resp_unknown",
            "POST /v1/responses/resp_unknown/cancel",
        ]


def test_a_compaction_is_recorded_with_all_that_it_returned(recorded: Recorded) -> None:
    prompt = message(role="user", content=[{"type": "input_text", "text": "Hello"}])
    summary = {"id": "cmp_1", "type": "compaction", "encrypted_content": "gAAAAA"}
    compacted = {
        "id": "resp_02",
        "object": "response.compaction",
        "created_at": 1767225600,
        "output": [prompt, summary],
        "usage": SAID["usage"],
    }
    with replaying(whole(compacted)) as server, client_of(server, recorded) as client:
        client.responses.compact(model=MODEL, input=[{"role": "user", "content": "Hello"}])
    events = recorded.events()
    assert values(events) == compacted["output"]
    kinds = [type(event) for event in events[-3:]]
    assert kinds == [OpaqueRecorded, CompactionRecorded, ResponseCompleted]
    assert [request.blocks for request in recorded.requests()] == [0]


def test_the_clients_own_list_goes_on_with_what_was_answered(recorded: Recorded) -> None:
    given: Any = {"type": "function_call_output", "call_id": "call_1", "output": "found"}
    with (
        replaying(whole(SAID), whole(answer(message("Found."), id="resp_02"))) as server,
        client_of(server, recorded) as client,
    ):
        said: list[Any] = [{"role": "user", "content": "Hello"}]
        reply = client.responses.create(model=MODEL, input=said)
        said += [item.model_dump(exclude_unset=True, by_alias=True) for item in reply.output]
        client.responses.create(model=MODEL, input=[*said, given])
    kinds = recorded.types()
    assert kinds[kinds.index("response.completed") + 1 :] == [
        "tool_result.recorded",
        "request.sent",
        "message.recorded",
        "response.completed",
    ]
    assert {event.line for event in recorded.events()} == {None}
    assert sum(isinstance(event, ToolCallRecorded) for event in recorded.events()) == 1
    assert sum(isinstance(event, RequestSent) for event in recorded.events()) == 2


def test_the_key_is_in_nothing_that_is_recorded(recorded: Recorded) -> None:
    with replaying(whole(SAID)) as server, client_of(server, recorded) as client:
        client.responses.create(model=MODEL, input="Hello")
    assert KEY not in json.dumps([event.model_dump(mode="json") for event in recorded.events()])
    assert any(isinstance(event, MessageRecorded) for event in recorded.events())


def _response_of(event: Event) -> object:
    return getattr(event, "response", None)
