"""A denial and its result are recorded at once, and whoever names a question decides no other."""

from collections.abc import Sequence
from typing import Any

import pytest

import onrecord
from onrecord.adapters.conversation.conversation import stream_of
from onrecord.domain.errors import AlreadyDecided, ApprovalNotAsked, InvalidInput
from onrecord.domain.log import Append, Verdict
from onrecord.domain.tools import ApprovalDecided
from tests.adapters.tools.conversations import (
    KEY,
    Payments,
    call_again,
    call_tools,
    recorded_results,
)


@pytest.fixture
def chat(store: onrecord.Store) -> onrecord.Conversation:
    return store.conversation(KEY)


def ask_about_a_payment(chat: onrecord.Conversation) -> onrecord.PendingApproval:
    """The model calls a tool, and a person is asked about the call."""
    call_tools(chat, ("pay", {"amount": 7}))
    Payments().runner(chat).run()
    (pending,) = chat.approvals()
    return pending


def runner_that_asks(chat: onrecord.Conversation) -> onrecord.ToolRunner:
    """A runner of a tool without arguments that needs approval."""
    return onrecord.ToolRunner(chat, [onrecord.tool(lambda: 1, name="pay", needs_approval=True)])


def test_a_denial_that_ends_after_its_append_is_recorded_with_its_result(
    chat: onrecord.Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask_about_a_payment(chat)
    backend = stream_of(chat).backend
    append = backend.append

    def append_and_die(appends: Sequence[Append]) -> list[Verdict]:
        append(appends)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(backend, "append", append_and_die)
        with pytest.raises(KeyboardInterrupt):
            chat.deny("call_1", reason="too much", actor="ben")
    assert [event.type for event in chat.events()][-2:] == [
        "approval.decided",
        "tool_result.recorded",
    ]
    assert (chat.open_calls(), chat.approvals()) == ([], ())
    assert recorded_results(chat) == [
        ("call_1", "Error: A person denied this call: too much", True)
    ]


def test_a_denial_that_ends_before_its_append_records_nothing(
    chat: onrecord.Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    pending = ask_about_a_payment(chat)
    version = chat.head().version

    def die(_appends: Sequence[Append]) -> list[Verdict]:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(stream_of(chat).backend, "append", die)
        with pytest.raises(KeyboardInterrupt):
            chat.deny("call_1", reason="too much", actor="ben")
    assert (chat.head().version, chat.approvals()) == (version, (pending,))
    chat.deny("call_1", reason="too much", actor="ben")
    assert len(recorded_results(chat)) == 1


def test_a_denial_gives_its_result_to_no_later_call_of_the_same_id(
    chat: onrecord.Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    call_again(chat, "pay")
    runner = runner_that_asks(chat)
    runner.run()
    backend = stream_of(chat).backend

    def append_late(appends: Sequence[Append]) -> list[Verdict]:
        monkeypatch.undo()
        chat.cancel("id_pay")
        call_again(chat, "pay")
        runner.run()
        return backend.append(appends)

    monkeypatch.setattr(backend, "append", append_late)
    (pending,) = chat.approvals()
    with pytest.raises(ApprovalNotAsked):
        chat.deny("id_pay", reason="too much", question=pending.question)
    assert [call.id for call in chat.open_calls()] == ["id_pay"]
    (later,) = chat.approvals()
    assert later.question != pending.question
    assert "approval.decided" not in [event.type for event in chat.events()]


@pytest.mark.parametrize("is_fork", [False, True])
def test_a_call_is_denied_however_fast_others_write(
    chat: onrecord.Conversation, monkeypatch: pytest.MonkeyPatch, *, is_fork: bool
) -> None:
    call_tools(chat, ("pay", {"amount": 7}))
    if is_fork:
        chat = chat.fork("support/4712")
    Payments().runner(chat).run()
    backend = stream_of(chat).backend
    append = backend.append

    def append_late(appends: Sequence[Append]) -> list[Verdict]:
        with monkeypatch.context() as patched:
            patched.setattr(backend, "append", append)
            chat.signal("news")
        return append(appends)

    monkeypatch.setattr(backend, "append", append_late)
    chat.deny("call_1", reason="too much")
    assert chat.open_calls() == []
    assert recorded_results(chat) == [
        ("call_1", "Error: A person denied this call: too much", True)
    ]
    assert [event.type for event in chat.events()].count("approval.decided") == 1
    with pytest.raises(AlreadyDecided):
        chat.deny(
            "call_1", reason="too much", question=onrecord.ApprovalQuestion(0 if is_fork else 3, 0)
        )


@pytest.mark.parametrize("late", ["result", "cancelled"])
def test_a_call_that_got_a_result_meanwhile_is_not_denied(
    chat: onrecord.Conversation, monkeypatch: pytest.MonkeyPatch, late: str
) -> None:
    call_tools(chat, ("pay", {"amount": 7}))
    Payments().runner(chat).run()
    backend = stream_of(chat).backend

    def append_late(appends: Sequence[Append]) -> list[Verdict]:
        monkeypatch.undo()
        if late == "result":
            chat.tool_result("call_1", "paid elsewhere")
        else:
            chat.cancel("call_1")
        return backend.append(appends)

    monkeypatch.setattr(backend, "append", append_late)
    with pytest.raises(ApprovalNotAsked):
        chat.deny("call_1", reason="too much")
    assert "approval.decided" not in [event.type for event in chat.events()]


def test_each_of_two_calls_of_one_id_is_denied_with_a_result_of_its_own(
    store: onrecord.Store,
) -> None:
    chat = store.conversation(KEY)
    runner = runner_that_asks(chat)
    for reason in ("too much", "too late"):
        call_again(chat, "pay")
        assert runner.run() == ()
        done = chat.deny("id_pay", reason=reason)
        assert (done.first, done.last) == (chat.head().version, chat.head().version)
    assert [text for _, text, _ in recorded_results(chat)] == [
        "Error: A person denied this call: too much",
        "Error: A person denied this call: too late",
    ]
    assert chat.open_calls() == []
    assert store.verify().faults == ()


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        ("too much", "Error: A person denied this call: too much"),
        (None, "Error: A person denied this call"),
        (" ", "Error: A person denied this call"),
    ],
)
def test_a_denial_that_was_recorded_alone_gets_its_result_from_the_next_runner(
    chat: onrecord.Conversation, reason: str | None, text: str
) -> None:
    pending, payments = ask_about_a_payment(chat), Payments()
    chat.log.append(
        ApprovalDecided(
            call_id="call_1",
            call=pending.question.call,
            number=pending.question.number,
            at=pending.requested_at,
            decision="denied",
            reason=reason,
        )
    )
    assert [call.id for call in chat.open_calls()] == ["call_1"]
    (run,) = payments.runner(chat).run()
    assert (run.is_error, payments.made) == (True, [])
    assert recorded_results(chat) == [("call_1", text, True)]


def test_whoever_names_a_question_decides_no_other_and_is_told_what_was_decided(
    store: onrecord.Store,
) -> None:
    chat = store.conversation(KEY)
    runner = runner_that_asks(chat)
    call_again(chat, "pay")
    runner.run()
    (first,) = chat.approvals()
    call_again(chat, "pay")  # The provider numbers the calls of each answer anew.
    runner.run()
    (second,) = chat.approvals()
    assert first.question != second.question
    before = chat.head().version
    with pytest.raises(ApprovalNotAsked, match=f"which waits has question {second.question}"):
        chat.approve("id_pay", question=first.question)
    with pytest.raises(ApprovalNotAsked, match="which waits"):
        chat.deny("id_pay", reason="no", question=first.question)
    assert chat.head().version == before
    chat.deny("id_pay", reason="no", question=second.question)
    for decide in (
        lambda: chat.approve("id_pay", question=second.question),
        lambda: chat.deny("id_pay", reason="no", question=second.question),
    ):
        with pytest.raises(AlreadyDecided, match="denied before"):
            decide()
    assert (chat.open_calls(), len(recorded_results(chat))) == ([], 1)


def test_a_question_is_named_as_it_is_listed(chat: onrecord.Conversation) -> None:
    pending = ask_about_a_payment(chat)
    assert (pending.question, str(pending.question)) == (onrecord.ApprovalQuestion(3, 0), "3:0")
    chat.approve("call_1", question=onrecord.ApprovalQuestion.parse("3:0"))
    assert chat.approvals() == ()


def test_without_a_question_the_last_one_is_decided(chat: onrecord.Conversation) -> None:
    ask_about_a_payment(chat)
    chat.approve("call_1", question=None)
    assert chat.approvals() == ()


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ("3:0", "is of the type ApprovalQuestion, not str"),
        ((3, 0), "is of the type ApprovalQuestion, not tuple"),
        (onrecord.ApprovalQuestion(-1, 0), "no such version"),
        (onrecord.ApprovalQuestion(1, 2**63), "no such version"),
        (onrecord.ApprovalQuestion(True, 0), "a version is an integer, not bool"),
    ],
)
def test_what_is_no_question_is_refused(
    chat: onrecord.Conversation, question: Any, message: str
) -> None:
    pending = ask_about_a_payment(chat)
    with pytest.raises(InvalidInput, match=message):
        chat.approve("call_1", question=question)
    assert chat.approvals() == (pending,)


def test_a_call_of_a_fork_takes_the_id_of_a_call_of_its_origin_over(store: onrecord.Store) -> None:
    chat = store.conversation(KEY)
    call_again(chat, "pay")
    fork = chat.fork("support/4712")
    runner = runner_that_asks(fork)
    runner.run()
    (first,) = fork.approvals()
    call_again(fork, "pay")
    runner.run()
    (second,) = fork.approvals()
    assert (first.question.call, second.question.call) == (0, fork.head().version - 1)
    with pytest.raises(ApprovalNotAsked):
        fork.deny("id_pay", reason="no", question=first.question)
    fork.deny("id_pay", reason="no", question=second.question)
    assert (fork.open_calls(), len(recorded_results(fork))) == ([], 1)
    assert [call.id for call in chat.open_calls()] == ["id_pay"]


def test_a_denial_in_a_fork_gives_the_result_there(store: onrecord.Store) -> None:
    chat = store.conversation(KEY)
    call_again(chat, "pay")
    fork = chat.fork("support/4712")
    runner_that_asks(fork).run()
    (pending,) = fork.approvals()
    fork.deny("id_pay", reason="no", question=pending.question)
    assert (fork.open_calls(), len(recorded_results(fork)), recorded_results(chat)) == ([], 1, [])
    with pytest.raises(AlreadyDecided, match="denied before"):
        fork.approve("id_pay", question=pending.question)
