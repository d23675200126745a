"""Which blocks of a request are new, for programs that keep their own history."""

import base64
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard.domain import events
from hansard.domain.blobs import blob_of, spill
from hansard.domain.content import Document, Native, Reasoning, Text, ToolCall, ToolResult
from hansard.domain.errors import InvalidContent
from hansard.domain.events import Event, InstructionsSet, ToolsDefined
from hansard.domain.jsontext import JsonObject
from hansard.domain.prefix import Prefix, prefix_of
from hansard.domain.tools import ToolDefinition
from hansard.projections.continuation import (
    digest_of,
    equal,
    messages_of,
    new_pieces,
    pieces,
    same_instructions,
    same_tools,
    since,
)

RESPONSE, REQUEST = UUID(int=1), UUID(int=2)
ANSWER: JsonObject = {"type": "text", "text": "It says that all is well.", "citations": None}
CALL: JsonObject = {"type": "tool_use", "id": "toolu_1", "name": "look_up", "input": {"id": 1}}


def native(value: JsonObject) -> Native:
    return Native(api="anthropic-messages", value=value)


def answered(*blocks: JsonObject) -> list[Event]:
    said = [
        events.MessageRecorded(
            role="assistant", content=(native(block),), response=RESPONSE, index=index
        )
        for index, block in enumerate(blocks)
    ]
    done = events.ResponseCompleted(response=RESPONSE, api="anthropic-messages", envelope={})
    return [*said, done]


def cut(*blocks: JsonObject) -> list[Event]:
    *said, _ = answered(*blocks)
    closing = events.ResponseInterrupted(response=RESPONSE, api="anthropic-messages", reason="cut")
    return [*said, closing]


def prompted(text: str) -> Event:
    return events.MessageRecorded(role="user", content=(Text(text=text),))


def gave(call_id: str, text: str = "found") -> Event:
    content = ToolResult(call_id=call_id, content=(Text(text=text),))
    return events.ToolResultRecorded(call_id=call_id, content=content)


def result(call_id: str, content: Any = "found") -> JsonObject:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content}


def user(*content: Any) -> JsonObject:
    return {"role": "user", "content": content[0] if isinstance(content[0], str) else [*content]}


def assistant(*content: JsonObject) -> JsonObject:
    return {"role": "assistant", "content": [*content]}


def new(recorded: list[Event], sent: list[JsonObject]) -> list[JsonObject] | None:
    """The messages that are new in a request, after what an earlier request had."""
    found = new_pieces(pieces(sent), since(recorded), {})
    return None if found is None else messages_of(found, sent)


def test_after_its_answer_only_the_next_prompt_is_new() -> None:
    sent = [assistant(ANSWER), user("More")]
    assert new(answered(ANSWER), sent) == [user("More")]


def test_what_is_recorded_already_is_not_new() -> None:
    recorded = [*answered(CALL), gave("toolu_1"), prompted("More")]
    sent = [assistant(CALL), user(result("toolu_1"), {"type": "text", "text": "More"})]
    assert new(recorded, sent) == []


def test_results_may_come_in_any_order_and_some_may_be_new() -> None:
    recorded = [*answered(CALL), gave("toolu_3"), gave("toolu_1")]
    sent = [assistant(CALL), user(result("toolu_1"), result("toolu_2"), result("toolu_3"))]
    assert new(recorded, sent) == [user(result("toolu_2"))]


@pytest.mark.parametrize(
    ("recorded", "sent"),
    [
        (answered(ANSWER), [user("More")]),
        (answered(ANSWER), []),
        (answered(ANSWER, CALL), [assistant(ANSWER)]),
        (answered(ANSWER), [assistant({"type": "text", "text": "Something else"})]),
        ([*answered(ANSWER), prompted("More")], [assistant(ANSWER)]),
        ([*answered(ANSWER), prompted("More")], [assistant(ANSWER), user("Else")]),
        ([*answered(CALL), gave("toolu_1")], [assistant(CALL), user("Never mind")]),
        ([*answered(CALL), gave("toolu_1")], [assistant(CALL), user(result("toolu_1", "x"))]),
    ],
    ids=[
        "answer left out",
        "regenerated",
        "answer cut short",
        "answer rewritten",
        "prompt left out",
        "prompt rewritten",
        "result left out",
        "result rewritten",
    ],
)
def test_a_request_that_says_otherwise_does_not_go_on(
    recorded: list[Event], sent: list[JsonObject]
) -> None:
    assert new(recorded, sent) is None


def test_an_answer_that_did_not_come_whole_may_be_left_out() -> None:
    assert new(cut(ANSWER), [user("Again")]) == [user("Again")]
    assert new(cut(ANSWER), [assistant(ANSWER), user("Again")]) == [user("Again")]
    assert new(cut(ANSWER), [assistant(CALL)]) is None


@pytest.mark.parametrize("ended", [answered(ANSWER), cut(ANSWER)])
def test_text_that_broke_off_is_not_new(ended: list[Event]) -> None:
    begun = events.Unfinished(index=1, value={"type": "text", "text": ""}, partial="And so")
    *said, closing = ended
    recorded = [*said, closing.model_copy(update={"unfinished": (begun,)})]
    so: JsonObject = {"type": "text", "text": "And so"}
    assert new(recorded, [assistant(ANSWER, so), user("Go on")]) == [user("Go on")]
    assert new(recorded, [assistant(ANSWER), user("Go on")]) == [user("Go on")]


def test_a_call_that_broke_off_may_stay_away_or_come_as_the_program_made_it_up() -> None:
    begun = events.Unfinished(index=1, value=CALL, partial='{"id": ')
    *said, done = answered(ANSWER)
    recorded = [*said, done.model_copy(update={"unfinished": (begun,)})]
    assert new(recorded, [assistant(ANSWER), user("Go on")]) == [user("Go on")]
    made_up = [assistant(CALL), user(result("toolu_1"))]
    assert new(recorded, [assistant(ANSWER, CALL), *made_up[1:]]) == made_up


def test_side_lines_say_nothing_here() -> None:
    aside = [event.model_copy(update={"line": REQUEST}) for event in answered(CALL)]
    assert new([*aside, *answered(ANSWER)], [assistant(ANSWER)]) == []


def test_a_string_is_one_text_block_and_so_the_digests_say() -> None:
    sent = [user("Hello"), assistant(ANSWER), user({"type": "text", "text": "More"})]
    assert digest_of(pieces(sent)) == prefix_of(None, None, sent)
    assert digest_of(pieces(sent)[:1]) == prefix_of(None, None, sent[:1])
    assert digest_of(pieces(sent), Prefix("Be brief.")) == prefix_of("Be brief.", None, sent)


@pytest.mark.parametrize(
    ("recorded", "sent"),
    [
        (native({"type": "text", "text": "a", "citations": None}), {"text": "a", "type": "text"}),
        (Text(text="a"), {"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}),
        (Reasoning(text="a"), {"type": "thinking", "thinking": "a", "signature": "s"}),
        (ToolCall(id="toolu_1", name="look_up", arguments={"id": 1}), CALL),
        (native(result("t", "found")), result("t", [{"type": "text", "text": "found"}])),
        (native(result("t")), {**result("t"), "is_error": False}),
        (ToolResult(call_id="t", content=()), {"type": "tool_result", "tool_use_id": "t"}),
        (
            Document(media_type="application/pdf", blob=blob_of(b"%PDF")),
            {
                "type": "document",
                "source": {
                    "type": "base64",
                    "media_type": "application/pdf",
                    "data": base64.b64encode(b"%PDF").decode(),
                },
            },
        ),
        (
            Document(media_type="text/plain", blob=blob_of(b"hi")),
            {"type": "document", "source": {"type": "text", "data": "hi"}},
        ),
        (
            Document(media_type="image/png", url="https://x/y.png"),
            {"type": "image", "source": {"type": "url", "url": "https://x/y.png"}},
        ),
    ],
)
def test_blocks_are_equal_that_say_the_same(recorded: Any, sent: JsonObject) -> None:
    assert equal(recorded, sent, {})
    assert not equal(recorded, {"type": "text", "text": "other"}, {})


def test_a_block_whose_text_is_in_a_blob_is_equal_to_itself() -> None:
    block: JsonObject = {"type": "text", "text": "x" * 100_000}
    value, blobs = spill(block)
    assert equal(native(value), block, blobs)


@given(st.lists(st.sampled_from(["a", "b", "toolu_1", "toolu_2"]), unique=True))
def test_what_a_program_sends_is_new_once(texts: list[str]) -> None:
    sent = [
        user(result(text) if text.startswith("toolu") else {"type": "text", "text": text})
        for text in texts
    ]
    assert new([], sent) == sent
    recorded = [
        gave(text) if text.startswith("toolu") else prompted(text) for text in reversed(texts)
    ]
    said = [text for text in texts if not text.startswith("toolu")]
    assert new(recorded, sent) == ([] if len(said) < 2 else None)


def test_instructions_and_tools_are_compared_by_what_they_say() -> None:
    assert same_instructions(None, None, {})
    assert same_instructions(None, "", {})
    assert same_instructions(InstructionsSet(content=""), None, {})
    assert same_instructions(
        InstructionsSet(content="Be brief."), [{"type": "text", "text": "Be brief."}], {}
    )
    assert not same_instructions(InstructionsSet(content="Be brief."), None, {})
    tool = ToolDefinition(name="look_up", input_schema={"type": "object"})
    spelled: JsonObject = {"input_schema": {"type": "object"}, "name": "look_up"}
    assert same_tools(ToolsDefined(tools=(tool,)), [spelled], {})
    assert same_tools(ToolsDefined(tools=(native(spelled),)), [{**spelled, "strict": None}], {})
    assert same_tools(None, [], {})
    assert not same_tools(ToolsDefined(tools=(tool,)), None, {})


@pytest.mark.parametrize("message", [{"content": "x"}, {"role": "user", "content": ["x"]}])
def test_a_message_that_is_none_is_said_so(message: JsonObject) -> None:
    with pytest.raises(InvalidContent):
        pieces([message])
