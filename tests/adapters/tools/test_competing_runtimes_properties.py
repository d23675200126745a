"""Runtimes that look, ask, run, stand still, die and are told what people decide: in any order.

Each acts on what it saw when it looked, however long ago that is: so it races with all that came since.
"""

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

import onrecord
from onrecord.adapters.conversation.conversation import stream_of
from onrecord.adapters.conversation.open_calls import OpenCall, open_calls
from onrecord.adapters.conversation.tool_results import give_result
from onrecord.adapters.tools.runner.decisions import lease_of, tool_to_call
from onrecord.adapters.tools.runner.leases import LEASE, CallLease, LeaseRenewals
from onrecord.domain.errors import AlreadyDecided, ApprovalNotAsked
from onrecord.domain.tools import ApprovalDecided, ToolCallBegun
from tests.adapters.tools.conversations import call_tools, recorded_results

RUNTIMES = st.integers(0, 2)
CALL = "call_1"
SECOND = 1_000_000


class ByHand(LeaseRenewals):
    """Renews nothing by itself: a runtime may stand still."""

    def _set_timer(self, due: float) -> None:
        del due


class Runtimes(RuleBasedStateMachine):
    """Three runtimes, two people, one call."""

    url = "memory://"

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.store = onrecord.connect(self.url.format(folder=Path(self.folder.name)))
        self.chat = call_tools(self.store.conversation("support/4711"), ("pay", {}))
        self.stream = stream_of(self.chat)
        self.late = 0
        clock = self.stream.backend.clock
        vars(self.stream.backend)["clock"] = lambda: clock() + self.late * SECOND
        self.looked: dict[int, tuple[OpenCall, int]] = {}
        self.making: dict[int, CallLease] = {}
        self.until: dict[int, int] = {}
        self.made = 0
        self.decisions: list[tuple[int, str]] = []
        self.again = 0

    @initialize(needs_approval=st.booleans(), repeatable=st.booleans())
    def choose(self, needs_approval: bool, repeatable: bool) -> None:
        def pay() -> str:
            return "paid"

        self.tool = onrecord.tool(pay, needs_approval=needs_approval, repeatable=repeatable)

    @rule(runtime=RUNTIMES)
    def look(self, runtime: int) -> None:
        opened = open_calls(self.stream)
        if opened and runtime not in self.making:
            self.looked[runtime] = (opened[0], self.stream.backend.clock())

    @precondition(lambda self: self.looked)
    @rule(data=st.data())
    def act(self, data: st.DataObject) -> None:
        """Do what is to be done of the call as it was seen."""
        runtime = data.draw(st.sampled_from(sorted(self.looked)))
        opened, now = self.looked.pop(runtime)
        called = tool_to_call(self.stream, opened, self.tool, now)
        seconds = lease_of(opened, LEASE)
        if called is None:
            return
        if seconds is None:
            give_result(self.stream, CALL, "denied", is_error=True)
            return
        lease = CallLease(self.stream, opened, seconds, ByHand())
        if lease.begin():
            self.makes(runtime, lease)

    def makes(self, runtime: int, lease: CallLease) -> None:
        now = self.stream.backend.clock()
        assert all(until <= now for until in self.until.values()), "two have a lease at once"
        assert not any(decision == "denied" for _, decision in self.decisions)
        self.made += 1
        if not self.tool.repeatable:
            assert self.made <= 1 + self.again, "it was made once more than anybody said"
        if self.tool.needs_approval:
            assert self.decisions, "nobody let it be made"
        self.making[runtime] = lease
        self.until[runtime] = self.last_until()

    @precondition(lambda self: self.making)
    @rule(data=st.data())
    def renew(self, data: st.DataObject) -> None:
        runtime = self.one_at_work(data)
        others = {each: until for each, until in self.until.items() if each != runtime}
        if self.making[runtime].renew() is not None:
            now = self.stream.backend.clock()
            assert all(until <= now for until in others.values()), "two have a lease at once"
            self.until[runtime] = self.last_until()

    @precondition(lambda self: self.making)
    @rule(data=st.data(), way=st.sampled_from(["finishes", "gives up", "dies"]))
    def end(self, data: st.DataObject, way: str) -> None:
        runtime = self.one_at_work(data)
        lease = self.making.pop(runtime)
        match way:
            case "finishes":
                give_result(self.stream, CALL, f"paid by {runtime}")
                lease.settle()
            case "gives up":
                lease.drop()
            case _:
                # Its lease goes on until it runs out, and nobody renews it.
                return
        self.until.pop(runtime)

    @rule()
    def time_passes(self) -> None:
        self.late += int(LEASE) + 1
        self.until = {each: self.until[each] for each in self.making}

    @rule(grants=st.booleans())
    def decide(self, grants: bool) -> None:
        pending = self.chat.approvals()
        try:
            if grants:
                self.chat.approve(CALL, actor="ana")
            else:
                self.chat.deny(CALL, reason="no", actor="bob")
        except (AlreadyDecided, ApprovalNotAsked):
            assert not pending
            return
        (answered,) = pending
        self.again += answered.unsure and grants
        self.decisions.append((len(self.decisions), "granted" if grants else "denied"))

    @invariant()
    def no_decision_is_lost(self) -> None:
        events = [each.event() for each in self.chat.events()]
        decided = [each for each in events if isinstance(each, ApprovalDecided)]
        assert [(each.number, each.decision) for each in decided] == self.decisions
        opened = open_calls(self.stream)
        if not (opened and decided):
            return
        assert decided[-1].decision == "granted", "a denial is a result"
        since = events[events.index(decided[-1]) :]
        if not any(isinstance(each, ToolCallBegun) and not each.renews for each in since):
            assert opened[0].state.approval == "granted"

    @invariant()
    def a_call_has_one_result(self) -> None:
        assert len(recorded_results(self.chat)) + len(self.chat.open_calls()) == 1

    def teardown(self) -> None:
        assert self.store.verify().is_whole
        self.store.close()
        self.folder.cleanup()

    def one_at_work(self, data: st.DataObject) -> int:
        runtime: int = data.draw(st.sampled_from(sorted(self.making)))
        return runtime

    def last_until(self) -> int:
        return open_calls(self.stream)[0].state.until


class RuntimesOnSqlite(Runtimes):
    """The same on SQLite."""

    url = "sqlite:///{folder}/o.db"


CHECKS: dict[str, Any] = {"deadline": None, "suppress_health_check": list(HealthCheck)}
TestRuntimes = Runtimes.TestCase
TestRuntimes.settings = settings(max_examples=60, stateful_step_count=20, **CHECKS)
TestRuntimesOnSqlite = RuntimesOnSqlite.TestCase
TestRuntimesOnSqlite.settings = settings(max_examples=10, stateful_step_count=15, **CHECKS)
