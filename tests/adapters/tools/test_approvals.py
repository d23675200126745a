"""A call that needs approval: it waits, a person decides once, and then it is made once or never."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

import onrecord
from onrecord.adapters.conversation.conversation import stream_of
from onrecord.adapters.store import backend_of
from onrecord.domain.errors import (
    AlreadyDecided,
    ApprovalNotAsked,
    ConversationClosed,
    InvalidContent,
    InvalidInput,
)
from onrecord.domain.log import RecordedEvent
from tests.adapters.tools.conversations import (
    KEY,
    Payments,
    call_again,
    call_tools,
    recorded_results,
)
from tests.patience import PATIENCE


@pytest.fixture
def chat(store: onrecord.Store) -> onrecord.Conversation:
    return store.conversation(KEY)


def test_a_call_waits_until_a_person_grants_it_and_then_runs_once(store: onrecord.Store) -> None:
    chat, payments = call_tools(store.conversation(KEY), ("pay", {"amount": 7})), Payments()
    runner = payments.runner(chat)
    assert runner.run() == ()
    assert runner.run() == ()
    assert [call.id for call in runner.waiting] == ["call_1"]
    assert [call.id for call in chat.open_calls()] == ["call_1"]
    (waiting,) = chat.approvals()
    assert (waiting.call.arguments, waiting.unsure) == ({"amount": 7}, False)
    assert (waiting.requested_time.tzinfo is not None, payments.made) == (True, [])

    chat.approve("call_1", reason="a known customer")
    assert chat.approvals() == ()
    assert [run.output for run in payments.runner(store.conversation(KEY)).run()] == ["paid 7"]
    assert payments.runner(chat).run() == ()
    assert payments.made == [7]
    assert recorded_results(chat) == [("call_1", "paid 7", False)]
    assert store.verify().faults == ()


def test_a_call_that_a_person_denies_is_never_made_and_the_model_reads_why(
    store: onrecord.Store,
) -> None:
    chat, payments = call_tools(store.conversation(KEY), ("pay", {"amount": 7})), Payments()
    payments.runner(chat).run()
    done = chat.deny("call_1", reason="too much", actor="ben")
    assert isinstance(done, onrecord.Recorded)
    assert (chat.open_calls(), payments.runner(chat).run(), payments.made) == ([], (), [])
    assert recorded_results(chat) == [
        ("call_1", "Error: A person denied this call: too much", True)
    ]
    assert store.verify().faults == ()


def test_the_audit_says_who_granted(tmp_path: Path) -> None:
    store = onrecord.connect(f"sqlite:///{tmp_path / 'talks.db'}", actor="ana")
    chat = call_tools(store.conversation(KEY), ("pay", {"amount": 7}))
    Payments().runner(chat).run()
    chat.approve("call_1", actor="ben")
    named = {entry.type: entry.actor_name for entry in store.views.audit()}
    assert named["approval.decided"] == "ben"
    assert named["approval.requested"] == "ana"
    store.close()


def test_two_people_who_decide_at_once_one_wins_and_the_other_is_told(
    store: onrecord.Store,
) -> None:
    chat = call_tools(store.conversation(KEY), ("pay", {"amount": 7}))
    Payments().runner(chat).run()
    both = threading.Barrier(2)

    def decide(who: str) -> str:
        own = store.conversation(KEY, actor=who)
        both.wait(PATIENCE)
        try:
            if who == "ben":
                own.approve("call_1", reason="fine")
            else:
                own.deny("call_1", reason="never")
        except (AlreadyDecided, ApprovalNotAsked):
            return "told"
        return who

    with ThreadPoolExecutor(2) as pool:
        ends = sorted(pool.map(decide, ("ben", "cy")))
    assert ends in (["ben", "told"], ["cy", "told"])
    decided = [each for each in chat.events() if each.type == "approval.decided"]
    assert len(decided) == 1


def test_a_decision_is_made_once(chat: onrecord.Conversation) -> None:
    call_tools(chat, ("pay", {"amount": 7}))
    Payments().runner(chat).run()
    chat.approve("call_1")
    with pytest.raises(AlreadyDecided, match="granted before") as caught:
        chat.deny("call_1", reason="never")
    assert caught.value.decision == "granted"
    with pytest.raises(AlreadyDecided):
        chat.approve("call_1")


def test_who_decides_reads_nothing_that_came_before_the_call(
    chat: onrecord.Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(50):
        chat.user(f"prompt {number}")
    before = chat.head().version
    call_tools(chat, ("pay", {"amount": 7}))
    backend, afters = stream_of(chat).backend, list[int]()
    read = backend.read

    def noting_read(
        conversation_id: UUID, *, after: int = 0, **options: Any
    ) -> Iterator[RecordedEvent]:
        afters.append(after)
        return read(conversation_id, after=after, **options)

    monkeypatch.setattr(backend, "read", noting_read)
    runner = Payments().runner(chat)
    runner.run()
    afters.clear()
    chat.approve("call_1")
    assert afters
    assert min(afters) >= before - 1  # Where the exchange begins that the call is in.


def test_nobody_can_decide_about_what_nobody_is_asked(chat: onrecord.Conversation) -> None:
    call_tools(chat, ("pay", {"amount": 7}))
    for call_id in ("call_1", "call_2"):
        with pytest.raises(ApprovalNotAsked, match="approvals"):
            chat.approve(call_id)
    Payments().runner(chat).run()
    chat.cancel("call_1")
    with pytest.raises(ApprovalNotAsked):
        chat.approve("call_1")


def test_it_must_be_known_who_decides_and_why_a_call_is_denied() -> None:
    chat = call_tools(onrecord.connect("memory://").conversation(KEY), ("pay", {"amount": 7}))
    Payments().runner(chat).run()
    before = chat.head().version
    with pytest.raises(InvalidInput, match="say who decides"):
        chat.approve("call_1")
    with pytest.raises(InvalidInput, match="say why"):
        chat.deny("call_1", reason=" ", actor="ana")
    assert chat.head().version == before
    chat.approve("call_1", actor="ana")


def test_a_closed_conversation_takes_no_decision(chat: onrecord.Conversation) -> None:
    call_tools(chat, ("pay", {"amount": 7}))
    Payments().runner(chat).run()
    chat.end()
    with pytest.raises(ConversationClosed):
        chat.approve("call_1")


def test_a_function_of_the_arguments_says_which_calls_need_approval(
    chat: onrecord.Conversation,
) -> None:
    payments = Payments()
    tool = onrecord.tool(payments.pay).with_options(
        needs_approval=lambda arguments: arguments["amount"] > 100
    )
    call_tools(chat, ("pay", {"amount": 7}), ("pay", {"amount": 700}), ("pay", {}))
    runner = onrecord.ToolRunner(chat, [tool])
    runs = runner.run()
    assert [(run.call.id, run.output) for run in runs] == [
        ("call_1", "paid 7"),
        ("call_3", "Error: the arguments of 'pay' are not valid: amount: it is missing"),
    ]
    assert [call.id for call in runner.waiting] == ["call_2"]
    assert payments.made == [7]


async def later(_arguments: object) -> bool:
    return True


@pytest.mark.parametrize("needs", ["yes", 1, later])
def test_what_cannot_say_whether_approval_is_needed_is_refused(needs: bool) -> None:
    with pytest.raises(InvalidContent, match="needs_approval"):
        onrecord.tool(Payments().pay, needs_approval=needs)


def test_an_id_that_a_later_call_has_again_needs_its_own_approval(
    chat: onrecord.Conversation,
) -> None:
    payments = Payments()
    tool = onrecord.tool(lambda: payments.pay(1), name="pay", needs_approval=True)
    runner = onrecord.ToolRunner(chat, [tool])
    for _ in range(2):
        call_again(chat, "pay")
        assert runner.run() == ()
        chat.approve("id_pay")
        assert len(runner.run()) == 1
    assert payments.made == [1, 1]


def test_a_fork_asks_again(store: onrecord.Store) -> None:
    chat, payments = call_tools(store.conversation(KEY), ("pay", {"amount": 7})), Payments()
    payments.runner(chat).run()
    chat.approve("call_1")
    fork = chat.fork("support/4712")
    assert payments.runner(fork).run() == ()
    assert [each.call.id for each in fork.approvals()] == ["call_1"]
    fork.approve("call_1")
    assert [run.output for run in payments.runner(fork).run()] == ["paid 7"]
    assert payments.made == [7]


def test_approvals_are_erased_with_the_conversation(store: onrecord.Store) -> None:
    chat = call_tools(store.conversation(KEY), ("pay", {"amount": 7}))
    Payments().runner(chat).run()
    chat.approve("call_1", reason="canary-4711")
    place = chat.conversation_id
    store.forget(KEY, reason="asked to")
    kept = list(backend_of(store).read(place))
    assert "approval.decided" in [each.type for each in kept]
    assert [each.body for each in kept] == [None] * len(kept)
    assert store.verify().faults == ()


def test_a_request_is_the_same_whether_a_call_was_approved_or_just_made(
    chat: onrecord.Conversation,
) -> None:
    call_tools(chat, ("pay", {"amount": 7}))
    payments = Payments()
    payments.runner(chat).run()
    chat.approve("call_1")
    payments.runner(chat).run()
    plain = call_tools(onrecord.connect("memory://").conversation(KEY), ("pay", {"amount": 7}))
    onrecord.ToolRunner(plain, [payments.pay]).run()
    for api in ("anthropic-messages", "openai-chat"):
        assert chat.request(api).body == plain.request(api).body


def test_the_loop_asks_no_model_while_a_person_is_asked(chat: onrecord.Conversation) -> None:
    call_tools(chat, ("pay", {"amount": 7}))
    payments, models = Payments(), list[str]()
    runner = payments.runner(chat)

    def ask() -> None:
        models.append("asked")
        chat.assistant("It is paid.")

    assert onrecord.run_until_answered(runner, ask) == ()
    assert (models, [call.id for call in runner.waiting]) == ([], ["call_1"])
    chat.approve("call_1")
    (run,) = onrecord.run_until_answered(runner, ask)
    assert (run.output, models, runner.waiting) == ("paid 7", ["asked"], ())
