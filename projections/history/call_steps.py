"""What became of the calls that await a result: who was asked about each, and who began it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, assert_never

from onrecord.domain.log import RecordedEvent
from onrecord.domain.tools import ApprovalDecided, ApprovalRequested, CallStep, ToolCallBegun

_STEPS: Final = frozenset(("approval.requested", "approval.decided", "tool_call.begun"))


@dataclass(slots=True)
class CallState:
    """How far one call has come.

    `approval` is what became of the last question to a person; None where nobody was asked since the
    call was begun last. `requested_at` and `until` are in microseconds since 1970-01-01 UTC; up to
    `until` whoever began the call is making it. `approvals` and `begun` count, `begun` renewals too.
    """

    approval: Literal["requested", "granted", "denied"] | None = None
    unsure: bool = False
    reason: str | None = None
    requested_at: int = 0
    approvals: int = 0
    begun: int = 0
    until: int = 0

    def take(self, step: CallStep) -> None:
        """Take in what happened next."""
        match step:
            case ApprovalRequested():
                self.approval, self.unsure = "requested", step.unsure
                self.requested_at, self.approvals = step.at, step.number + 1
            case ApprovalDecided():
                self.approval, self.reason = step.decision, step.reason
            case ToolCallBegun():
                if not step.renews:  # Who goes on takes back neither a question nor its answer.
                    self.approval = None
                self.begun, self.until = step.number + 1, step.until
            case _:
                assert_never(step)


def call_states(events: Iterable[RecordedEvent]) -> dict[tuple[str, int], CallState]:
    """Return how far calls have come, by their ids and versions; those of which nothing is told not."""
    states: dict[tuple[str, int], CallState] = {}
    for recorded in events:
        step = recorded.event() if recorded.type in _STEPS else None
        if isinstance(step, CallStep) and step.line is None:
            states.setdefault((step.call_id, step.call), CallState()).take(step)
    return states
