from __future__ import annotations

from functools import partial
from uuid import UUID

from onrecord.domain import conversation, events
from onrecord.domain.content import Document, Native, Text, ToolCall, ToolResult
from onrecord.domain.errors import ConversationClosed, InvalidContent
from onrecord.domain.head import Head
from onrecord.domain.tools import ToolDefinition, tools_digest
from tests.scenario import given

RESPONSE = UUID(int=1)
STARTED = events.ConversationStarted(key="support/4711")
PROMPT = events.MessageRecorded(role="user", content=(Text(text="What does it say?"),))
CALL = events.ToolCallRecorded(
    response=RESPONSE,
    index=0,
    call_id="toolu_1",
    name="read",
    content=ToolCall(id="toolu_1", name="read", arguments={}),
)
RESULT = events.ToolResultRecorded(
    call_id="toolu_1", content=ToolResult(call_id="toolu_1", content=(Text(text="42"),))
)
CLOSED = events.ConversationEnded(reason="done")


def test_a_conversation_starts_with_its_key() -> None:
    given().when(lambda head: conversation.start(head, "support/4711")).then(STARTED)


def test_a_conversation_starts_once() -> None:
    given(STARTED).when(lambda head: conversation.start(head, "support/4711")).then()


def test_a_blank_key_names_nothing() -> None:
    given().when(lambda head: conversation.start(head, " ")).then_refused(
        InvalidContent, "needs a key"
    )


def test_a_prompt_is_a_message_of_the_user() -> None:
    given(STARTED).when(lambda head: conversation.say(head, [Text(text="What does it say?")])).then(
        PROMPT
    )


def test_a_prompt_may_bring_documents_and_native_blocks() -> None:
    said = (
        Document(media_type="application/pdf", url="https://example.org/report.pdf"),
        Native(api="anthropic-messages", value={"type": "text", "text": "see above"}),
    )
    given(STARTED).when(lambda head: conversation.say(head, said)).then(
        events.MessageRecorded(role="user", content=said)
    )


def test_a_message_without_content_is_refused() -> None:
    given(STARTED).when(lambda head: conversation.say(head, [])).then_refused(
        InvalidContent, "needs content"
    )


def test_blank_text_is_recorded_as_it_is() -> None:
    blank = events.MessageRecorded(role="user", content=(Text(text=" "),))
    given(STARTED).when(lambda head: conversation.say(head, [Text(text=" ")])).then(blank)


def test_a_result_names_its_call() -> None:
    given(STARTED, PROMPT, CALL).when(
        lambda head: conversation.give_result(head, "toolu_1", [Text(text="42")])
    ).then(RESULT)


def test_a_result_of_a_call_nobody_made_is_recorded_all_the_same() -> None:
    given(STARTED).when(
        lambda head: conversation.give_result(head, "toolu_1", [Text(text="42")])
    ).then(RESULT)


def test_a_result_without_a_call_id_is_refused() -> None:
    given(STARTED).when(lambda head: conversation.give_result(head, "", [])).then_refused(
        InvalidContent, "id of its call"
    )


def test_a_call_that_was_given_up_has_a_result_without_words() -> None:
    stand_in = ToolResult(call_id="toolu_1", content=(), is_error=True)
    given(STARTED, PROMPT, CALL).when(lambda head: conversation.cancel_call(head, "toolu_1")).then(
        events.ToolResultRecorded(
            call_id="toolu_1", content=stand_in, is_error=True, cancelled=True
        )
    )


def test_a_signal_that_waits_is_recorded_alone() -> None:
    signal = events.SignalReceived(content=(Text(text="a bell rang"),), interrupts=True)
    given(STARTED, PROMPT, CALL).when(lambda head: conversation.receive(head, (signal,))).then(
        signal.model_copy(update={"interrupts": False})
    )


def test_signals_that_interrupt_stand_behind_the_results_of_the_calls_given_up() -> None:
    signal = events.SignalReceived(name="bell")
    given_up = conversation.cancel_call(Head(version=3), "toolu_1")
    given(STARTED, PROMPT, CALL).when(
        lambda head: conversation.receive(head, (signal, signal), given_up)
    ).then(
        *given_up,
        signal.model_copy(update={"interrupts": True}),
        signal.model_copy(update={"interrupts": True}),
    )


def test_instructions_and_tools_can_change_at_any_time() -> None:
    tool = ToolDefinition(name="read", input_schema={"type": "object"})
    (
        given(STARTED, PROMPT)
        .when(lambda head: conversation.instruct(head, "Be brief."))
        .then(events.InstructionsSet(content="Be brief."))
        .when(lambda head: conversation.declare_tools(head, [tool]))
        .then(events.ToolsDeclared(tools=(tool,), sha256=tools_digest((tool,))))
        .when(lambda head: conversation.declare_tools(head, []))
        .then(events.ToolsDeclared(tools=(), sha256=tools_digest(())))
    )


def test_a_closed_conversation_takes_no_new_facts() -> None:
    closed = given(STARTED, PROMPT, CLOSED)
    for decision in (
        partial(conversation.say, content=[Text(text="and?")]),
        partial(conversation.instruct, content="Be brief."),
        partial(conversation.declare_tools, tools=[]),
        partial(conversation.give_result, call_id="toolu_1", content=[]),
        partial(conversation.cancel_call, call_id="toolu_1"),
    ):
        closed.when(decision).then_refused(ConversationClosed, "start another, or fork it")


def test_a_closed_conversation_takes_annotations() -> None:
    remark = events.AnnotationAdded(labels={"reviewed": "yes"}, version=2)
    given(STARTED, PROMPT, CLOSED).when(
        lambda head: conversation.annotate(head, {"reviewed": "yes"}, 2)
    ).then(remark)


def test_only_what_was_recorded_can_be_compacted() -> None:
    given(STARTED, PROMPT).when(
        lambda head: conversation.compact(head, "All was said.", 3)
    ).then_refused(InvalidContent, "no event at version 3")


def test_only_what_was_recorded_can_be_annotated() -> None:
    given(STARTED, PROMPT).when(
        lambda head: conversation.annotate(head, {"reviewed": "yes"}, 3)
    ).then_refused(InvalidContent, "no event at version 3")


def test_a_conversation_closes_once() -> None:
    (
        given(STARTED)
        .when(lambda head: conversation.close(head, "done"))
        .then(CLOSED)
        .when(conversation.close)
        .then()
    )


def test_only_what_was_recorded_can_be_redacted() -> None:
    begun = given(STARTED, PROMPT)
    begun.when(lambda head: conversation.redact(head, 2, "a name")).then(
        events.ContentRedacted(version=2, reason="a name")
    )
    begun.when(lambda head: conversation.redact(head, 3)).then_refused(
        InvalidContent, "no event at version 3"
    )


def test_a_fork_goes_on_from_another_conversation() -> None:
    origin = UUID(int=7)
    given(STARTED).when(lambda head: conversation.fork(head, origin, 5)).then(
        events.ConversationForked(origin=origin, version=5)
    )


def test_only_a_new_conversation_can_be_a_fork() -> None:
    given(STARTED, PROMPT).when(lambda head: conversation.fork(head, UUID(int=7), 5)).then_refused(
        InvalidContent, "a key that none has yet"
    )
