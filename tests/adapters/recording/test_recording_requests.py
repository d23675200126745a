"""What a request means for a conversation, with the official SDK as its sender."""

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from onrecord.adapters.conversation.conversation import stream_of
from onrecord.adapters.conversation.rendering import ask
from onrecord.adapters.demo.services.scenes import HttpError, JsonObject
from onrecord.domain.events import InstructionsSet, MessageRecorded, RequestSent, ToolsDeclared
from onrecord.domain.request_template import (
    BlobSpan,
    ContentSpan,
    EncodedSpan,
    LiteralSpan,
)
from onrecord.domain.tools import ToolDefinition
from onrecord.projections.apis.request import Options, Request, renderer_digest
from onrecord.projections.matching.template import Stored, join
from tests.adapters.recorded_calls import (
    CALLING,
    GREETING,
    HELLO,
    KEY,
    Calls,
    Recorded,
    calling,
    requests_of,
    results,
    said,
)
from tests.demo_faults import internal_error
from tests.prefixes import prefix_of

TOOL: JsonObject = {
    "name": "look_up",
    "description": "Look an order up.",
    "input_schema": {"type": "object", "properties": {"id": {"type": "integer"}}},
}
QUESTION: JsonObject = {"role": "user", "content": "And then?"}


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    return Recorded(tmp_path)


def rendered(recorded: Recorded, **options: Any) -> Request:
    """What `chat.request` does: render, and remember the recipe."""
    chat = recorded.chat
    asked = ask(
        stream_of(chat).backend, stream_of(chat).lineage(chat.head().version), Options(**options)
    )
    recorded.recorder.remember(asked)
    return asked.request


def ask_rendered(calls: Calls, request: Request) -> None:
    calls.ask(**request)


def bodies(calls: Calls) -> list[bytes]:
    return [received.body for received in calls.server.requests]


def test_the_first_request_brings_the_conversation_into_being(recorded: Recorded) -> None:
    with calling(recorded, [GREETING]) as calls:
        calls.ask(HELLO, system="Be brief.", tools=[TOOL])
    assert recorded.types() == [
        "instructions.set",
        "tools.declared",
        "message.recorded",
        "request.sent",
        "message.recorded",
        "response.completed",
    ]
    assert recorded.requests()[0].line is None


def test_a_call_takes_one_commit_before_it_and_one_after(recorded: Recorded) -> None:
    with calling(recorded, [GREETING, GREETING]) as calls:
        calls.ask(HELLO)
        assert [len(append.events) for append in recorded.counting.appends] == [3, 2]
        calls.stream(HELLO)
    assert len(recorded.counting.appends) == 4


def test_a_request_that_goes_on_adds_only_what_is_new(recorded: Recorded) -> None:
    with calling(recorded, [CALLING, GREETING]) as calls:
        first = calls.ask(HELLO, tools=[TOOL])
        before = recorded.chat.head().version
        calls.ask([*HELLO, said(first), results("toolu_02", "toolu_01"), QUESTION], tools=[TOOL])
    new = [event.type for event in recorded.chat.events(after=before)]
    assert new == [
        "tool_result.recorded",
        "tool_result.recorded",
        "message.recorded",
        "request.sent",
        "message.recorded",
        "response.completed",
    ]
    assert [request.line for request in recorded.requests()] == [None, None]
    assert recorded.requests()[1].parent == recorded.chat.events(after=0)[3].event_id


def test_a_program_may_spell_history_in_its_own_way(recorded: Recorded) -> None:
    with calling(recorded, [GREETING, GREETING]) as calls:
        first = calls.ask(HELLO)
        text: JsonObject = {"text": "Hello! What can I do for you?", "type": "text"}
        assert first.content[0].to_dict() == text
        history: list[JsonObject] = [
            {
                "content": [
                    {"text": "Hello", "type": "text", "cache_control": {"type": "ephemeral"}}
                ],
                "role": "user",
            },
            {"role": "assistant", "content": [{**text, "citations": None}]},
        ]
        before = recorded.chat.head().version
        calls.ask([*history, QUESTION])
    assert [event.type for event in recorded.chat.events(after=before)][:2] == [
        "message.recorded",
        "request.sent",
    ]


def test_what_was_said_before_the_first_request_is_not_recorded_twice(recorded: Recorded) -> None:
    recorded.chat.instruct("Be brief.")
    recorded.chat.tools.declare([ToolDefinition(name="look_up", input_schema={"type": "object"})])
    recorded.chat.user("Hello")
    tool: JsonObject = {"name": "look_up", "input_schema": {"type": "object"}}
    with calling(recorded, [GREETING]) as calls:
        calls.ask(HELLO, system="Be brief.", tools=[tool])
    assert recorded.types() == [
        "instructions.set",
        "tools.declared",
        "message.recorded",
        "request.sent",
        "message.recorded",
        "response.completed",
    ]


def test_a_result_given_before_is_found_by_its_call(recorded: Recorded) -> None:
    with calling(recorded, [CALLING, GREETING]) as calls:
        first = calls.ask(HELLO, tools=[TOOL])
        recorded.chat.tool_result("toolu_02", "found")
        before = recorded.chat.head().version
        calls.ask([*HELLO, said(first), results("toolu_01", "toolu_02")], tools=[TOOL])
    new = recorded.chat.events(after=before)
    assert [event.type for event in new][:2] == ["tool_result.recorded", "request.sent"]
    assert recorded.requests()[-1].line is None


@pytest.mark.parametrize(
    "history",
    [
        [{"role": "user", "content": "Hello!"}],
        [{"role": "user", "content": "Something else altogether"}, QUESTION],
        [*HELLO, {"role": "assistant", "content": "I said so."}, QUESTION],
        [*HELLO],
    ],
    ids=["edited", "unrelated", "rewritten answer", "regenerated"],
)
def test_a_request_that_does_not_go_on_stands_on_a_line_of_its_own(
    recorded: Recorded, history: list[JsonObject]
) -> None:
    with calling(recorded, [GREETING, GREETING]) as calls:
        calls.ask(HELLO)
        head = recorded.chat.head()
        calls.ask(history)
        aside = recorded.chat.events(after=head.version)
        sent = bodies(calls)[-1]
    assert recorded.chat.head().request == head.request
    assert recorded.chat.head().exchange == head.exchange
    sent_aside = next(event for event in aside if event.type == "request.sent")
    assert {event.line for event in recorded.events()[-len(aside) :]} == {sent_aside.event_id}
    assert [event.type for event in aside][-2:] == ["message.recorded", "response.completed"]
    assert body_of(recorded, -1) == sent


def body_of(recorded: Recorded, place: int) -> bytes:
    """The body of a request, joined from what is stored."""
    said: dict[UUID, bytes] = {}
    joined: dict[UUID, bytes] = {}
    for event in recorded.chat.events(after=0):
        said[event.event_id] = event.body or b""
        request = event.event()
        if isinstance(request, RequestSent):
            blobs = {
                span.blob.sha256: b"".join(
                    recorded.store.get_blob(recorded.chat.conversation_id, span.blob)
                )
                for span in request.template.spans
                if isinstance(span, BlobSpan | EncodedSpan)
            }
            joined[event.event_id] = join(request.template, Stored(said, joined, blobs))
    return list(joined.values())[place]


def test_the_bodies_that_were_sent_come_back_byte_for_byte(recorded: Recorded) -> None:
    long: JsonObject = {"role": "user", "content": "ü" * 100_000}
    with calling(recorded, [GREETING] * 5) as calls:
        history: list[JsonObject] = [*HELLO]
        for extra in (QUESTION, long, QUESTION, QUESTION):
            history += [said(calls.ask(history, system="Sé breve, por favor.")), extra]
        calls.ask(history, system="Sé breve, por favor.")
        sent = bodies(calls)
    assert [body_of(recorded, place) for place in range(5)] == sent
    assert [request.line for request in recorded.requests()] == [None] * 5
    # Only what is new is stored: the body grew, its template did not.
    kept = sum(
        len(span.text)
        for span in recorded.requests()[-1].template.spans
        if isinstance(span, LiteralSpan)
    )
    assert kept < 400 < len(sent[-1])


def test_a_rendered_request_keeps_its_recipe_and_not_its_text(recorded: Recorded) -> None:
    long = "Be brief. " * 20
    recorded.chat.instruct(long)
    recorded.chat.tools.declare(
        [ToolDefinition(name="look_up", description=long.upper(), input_schema={})]
    )
    recorded.chat.user("Hello " * 40)
    request = rendered(recorded)
    with calling(recorded, [GREETING]) as calls:
        calls.client.messages.create(model="m", max_tokens=9, **request)
        sent = bodies(calls)[0]
    (recorded_request,) = recorded.requests()
    assert recorded_request.recipe is not None
    assert recorded_request.recipe.renderer == renderer_digest("anthropic-messages")
    spans = recorded_request.template.spans
    places = [span.pointer for span in spans if isinstance(span, ContentSpan)]
    assert sorted(places) == ["/content", "/content/0/text", "/tools/0/description"]
    assert body_of(recorded, 0) == sent
    assert recorded.types()[3:] == ["request.sent", "message.recorded", "response.completed"]


def test_a_rendered_request_with_other_instructions_puts_them_in_force(recorded: Recorded) -> None:
    recorded.chat.user("Hello")
    with calling(recorded, [GREETING]) as calls:
        calls.client.messages.create(
            model="m", max_tokens=9, system="Be kind.", **rendered(recorded)
        )
    assert [e.content for e in recorded.events() if isinstance(e, InstructionsSet)] == ["Be kind."]
    assert recorded.requests()[0].recipe is not None


def test_a_rendered_request_sent_again_after_its_answer_is_a_sample(recorded: Recorded) -> None:
    recorded.chat.user("Hello")
    request = rendered(recorded)
    with calling(recorded, [GREETING, GREETING]) as calls:
        calls.client.messages.create(model="m", max_tokens=9, **request)
        calls.client.messages.create(model="m", max_tokens=9, **request)
    first, second = recorded.requests()
    assert first.line is None
    assert second.line is not None
    assert second.recipe == first.recipe


def test_a_rendered_request_may_be_tried_again_after_a_failure(recorded: Recorded) -> None:
    recorded.chat.user("Hello")
    request = rendered(recorded)
    with calling(recorded, [internal_error(), GREETING]) as calls:
        with pytest.raises(Exception, match="Internal server error"):
            calls.client.messages.create(model="m", max_tokens=9, **request)
        calls.client.messages.create(model="m", max_tokens=9, **request)
    assert [request.line for request in recorded.requests()] == [None, None]


def test_own_history_may_be_tried_again_after_a_failure(recorded: Recorded) -> None:
    with calling(recorded, [internal_error(), GREETING]) as calls:
        with pytest.raises(Exception, match="Internal server error"):
            calls.ask(HELLO)
        calls.ask(HELLO)
    assert [request.line for request in recorded.requests()] == [None, None]
    assert recorded.types().count("message.recorded") == 2


def test_other_instructions_and_tools_are_recorded_when_they_change(recorded: Recorded) -> None:
    with calling(recorded, [GREETING] * 3) as calls:
        history: list[JsonObject] = [*HELLO]
        history += [said(calls.ask(history, system="Be brief.", tools=[TOOL])), QUESTION]
        blocks = [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]
        history += [said(calls.ask(history, system=blocks, tools=[TOOL])), QUESTION]
        calls.ask(history, system="Be kind.")
    set_to = [e.content for e in recorded.events() if isinstance(e, InstructionsSet)]
    defined = [len(e.tools) for e in recorded.events() if isinstance(e, ToolsDeclared)]
    assert set_to == ["Be brief.", "Be kind."]
    assert defined == [1, 0]


def test_a_request_says_what_its_answer_is_bound_to(recorded: Recorded) -> None:
    with calling(recorded, [GREETING]) as calls:
        calls.ask(HELLO, system="Be brief.", tools=[TOOL])
    (request,) = recorded.requests()
    assert request.prefix == prefix_of("Be brief.", [TOOL], HELLO)
    assert request.history == prefix_of(None, None, HELLO)
    assert request.blocks == 1
    assert request.account == recorded.store.digest(KEY).hex()
    assert request.headers.keys() == {"anthropic-version"}
    assert request.endpoint == "/v1/messages"


def test_betas_are_part_of_what_was_asked(recorded: Recorded) -> None:
    with calling(recorded, [GREETING]) as calls:
        calls.client.beta.messages.create(
            model="m",
            max_tokens=9,
            messages=[{"role": "user", "content": "Hello"}],
            betas=["context-management-2025-06-27"],
        )
    (request,) = recorded.requests()
    assert request.headers["anthropic-beta"] == "context-management-2025-06-27"
    assert request.endpoint == "/v1/messages"


def test_another_process_goes_on_where_the_first_one_stopped(recorded: Recorded) -> None:
    with calling(recorded, [GREETING]) as calls:
        history = [*HELLO, said(calls.ask(HELLO)), QUESTION]
    recorded.recorder = recorded.new_recorder()
    with calling(recorded, [GREETING]) as calls:
        calls.ask(history)
        assert body_of(recorded, -1) == bodies(calls)[-1]
    assert [request.line for request in recorded.requests()] == [None, None]
    assert [
        event.content[0].model_dump()
        for event in recorded.events()
        if isinstance(event, MessageRecorded) and event.role == "user"
    ] == [{"kind": "text", "text": text} for text in ("Hello", "And then?")]


def test_a_request_that_makes_no_sense_is_recorded_as_it_is(recorded: Recorded) -> None:
    with calling(recorded, [HttpError(400, "invalid_request_error", "no")]) as calls:
        with pytest.raises(Exception, match="invalid_request_error"):
            calls.ask([{"content": "Hello"}])
        sent = bodies(calls)[0]
    assert recorded.types() == ["request.sent", "attempt.failed"]
    assert json.loads(body_of(recorded, 0)) == json.loads(sent)
    assert recorded.requests()[0].line is not None


def test_a_result_that_says_something_else_is_a_view(recorded: Recorded) -> None:
    with calling(recorded, [CALLING, GREETING, GREETING]) as calls:
        first = calls.ask(HELLO, tools=[TOOL])
        history = [*HELLO, said(first), results("toolu_01", "toolu_02")]
        history.append(said(calls.ask(history, tools=[TOOL])))
        rewritten = results("toolu_01", "toolu_02", content="something else")
        calls.ask([*history[:2], rewritten, *history[3:], QUESTION], tools=[TOOL])
    assert recorded.requests()[-1].line is None
    assert recorded.requests()[-1].relation == "view"


def test_reading_does_not_grow_with_the_conversation(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    inner = recorded.counting.read

    def counted(*args: Any, **options: Any) -> Any:
        found = list(inner(*args, **options))
        read.append(len(found))
        return iter(found)

    with calling(recorded, [GREETING] * 12) as calls:
        history: list[JsonObject] = [*HELLO]
        monkeypatch.setattr(recorded.counting, "read", counted)
        costs: list[int] = []
        for _ in range(12):
            read.clear()
            history += [said(calls.ask(history, system="Be brief.")), QUESTION]
            costs.append(sum(read))
    assert costs[-1] == costs[2] <= 4


def test_a_program_goes_on_in_a_fork_with_the_history_it_keeps(recorded: Recorded) -> None:
    with calling(recorded, [GREETING] * 2) as calls:
        history = [*HELLO, said(calls.ask(system="Be brief."))]
        fork = recorded.chat.fork("fork")
        client = fork.record(calls.plain)
        messages: Any = [*history, QUESTION]
        client.messages.create(model="m", max_tokens=9, system="Be brief.", messages=messages)
    (request,) = requests_of(fork)
    assert request.line is None
    assert request.parent is not None
    assert [event.type for event in fork.events(after=0)] == [
        "conversation.started",
        "conversation.forked",
        "message.recorded",
        "request.sent",
        "message.recorded",
        "response.completed",
    ]
    assert len(fork.request("anthropic-messages")["messages"]) == 4
