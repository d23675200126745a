"""A denial and its result are recorded at once, and whoever names a question decides no other."""

from collections.abc import Sequence
from typing import Any, cast

import pytest

import onrecord
from onrecord.adapters.conversation.conversation import stream_of
from onrecord.adapters.storage.memory.memory import Memory
from onrecord.domain.errors import AlreadyDecided, ApprovalNotAsked, InvalidInput
from onrecord.domain.log import Append, Verdict
from onrecord.domain.tools import ApprovalDecided
from tests.adapters.tools.conversations import again, asked, told
from tests.adapters.tools.test_approvals import KEY, Payments


@pytest.fixture
def chat() -> onrecord.Conversation:
    return onrecord.connect("memory://", actor="ana").conversation(KEY)


def test_a_denial_is_recorded_with_its_result_or_not_at_all(
    chat: onrecord.Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked(chat, ("pay", {"amount": 7}))
    Payments().runner(chat).run()
    backend = stream_of(chat).backend

    def append_and_die(appends: Sequence[Append]) -> list[Verdict]:
        Memory.append(cast("Memory", backend), appends)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(backend, "append", append_and_die)
        with pytest.raises(KeyboardInterrupt):
            chat.deny("call_1", reason="too much", actor="ben")
    assert chat.open_calls() == []
    assert told(chat) == [("call_1", "Error: A person denied this call: too much", True)]


def test_a_denial_gives_its_result_to_no_later_call_of_the_same_id(
    chat: onrecord.Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    again(chat, "pay")
    payments = Payments()
    runner = onrecord.ToolRunner(
        chat, [onrecord.tool(lambda: payments.pay(1), name="pay", needs_approval=True)]
    )
    runner.run()
    backend = stream_of(chat).backend

    def append_late(appends: Sequence[Append]) -> list[Verdict]:
        monkeypatch.undo()
        chat.cancel("id_pay")
        again(chat, "pay")
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


def test_each_of_two_calls_of_one_id_is_denied_with_a_result_of_its_own(
    store: onrecord.Store,
) -> None:
    chat = store.conversation(KEY)
    runner = onrecord.ToolRunner(chat, [onrecord.tool(lambda: 1, name="pay", needs_approval=True)])
    for reason in ("too much", "too late"):
        again(chat, "pay")
        assert runner.run() == ()
        done = chat.deny("id_pay", reason=reason)
        assert (done.first, done.last) == (chat.head().version, chat.head().version)
    assert [text for _, text, _ in told(chat)] == [
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
    asked(chat, ("pay", {"amount": 7}))
    payments = Payments()
    payments.runner(chat).run()
    (pending,) = chat.approvals()
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
    assert told(chat) == [("call_1", text, True)]


def test_whoever_names_a_question_decides_no_other_and_is_told_what_was_decided(
    store: onrecord.Store,
) -> None:
    chat = store.conversation(KEY)
    runner = onrecord.ToolRunner(chat, [onrecord.tool(lambda: 1, name="pay", needs_approval=True)])
    again(chat, "pay")
    runner.run()
    (first,) = chat.approvals()
    again(chat, "pay")  # The provider numbers the calls of each answer anew.
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
    assert (chat.open_calls(), len(told(chat))) == ([], 1)


@pytest.mark.parametrize("question", ["3:0", (3, 0), (-1, 0), (1, 2**63), None, (True, 0)])
def test_a_question_is_named_as_it_is_listed(chat: onrecord.Conversation, question: object) -> None:
    asked(chat, ("pay", {"amount": 7}))
    Payments().runner(chat).run()
    named: Any = onrecord.ApprovalQuestion(*question) if isinstance(question, tuple) else question
    if question is None:
        chat.approve("call_1", question=None)
    elif question == (3, 0):
        assert [each.question for each in chat.approvals()] == [named]
        chat.approve("call_1", question=named)
    else:
        with pytest.raises(InvalidInput, match=r"question|version"):
            chat.approve("call_1", question=named)


def test_a_call_of_a_fork_takes_the_id_of_a_call_of_its_origin_over(store: onrecord.Store) -> None:
    chat = store.conversation(KEY)
    again(chat, "pay")
    fork = chat.fork("support/4712")
    runner = onrecord.ToolRunner(fork, [onrecord.tool(lambda: 1, name="pay", needs_approval=True)])
    runner.run()
    (first,) = fork.approvals()
    again(fork, "pay")
    runner.run()
    (second,) = fork.approvals()
    assert (first.question.call, second.question.call) == (0, fork.head().version - 1)
    with pytest.raises(ApprovalNotAsked):
        fork.deny("id_pay", reason="no", question=first.question)
    fork.deny("id_pay", reason="no", question=second.question)
    assert (fork.open_calls(), len(told(fork))) == ([], 1)
    assert [call.id for call in chat.open_calls()] == ["id_pay"]


def test_a_denial_in_a_fork_gives_the_result_there(store: onrecord.Store) -> None:
    chat = store.conversation(KEY)
    again(chat, "pay")
    fork = chat.fork("support/4712")
    onrecord.ToolRunner(fork, [onrecord.tool(lambda: 1, name="pay", needs_approval=True)]).run()
    (pending,) = fork.approvals()
    fork.deny("id_pay", reason="no", question=pending.question)
    assert (fork.open_calls(), len(told(fork)), told(chat)) == ([], 1, [])
    with pytest.raises(AlreadyDecided, match="denied before"):
        fork.approve("id_pay", question=pending.question)
