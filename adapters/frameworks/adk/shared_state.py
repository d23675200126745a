"""The state of an app or of a user of ADK, which lies in a conversation of its own."""

from __future__ import annotations

from typing import Any, Final, NamedTuple, TypeAlias, cast

from onrecord.adapters.frameworks.item_events import ItemEvents
from onrecord.adapters.streams.stream import Stream
from onrecord.domain.errors import CorruptRecord
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.frameworks.current_items import CurrentItems, HeldItem

FRAMEWORK: Final = "google-adk"

SUMMARY: Final = "summary"
"""The name that a summary of state is put under, in a session too."""
SHARED: Final = "state"
"""The stream of an app's or a user's conversation: its items are no events of ADK."""

State: TypeAlias = dict[str, Any]


class SharedState(NamedTuple):
    """The state of an app or a user, and when the event was recorded that says each value of it."""

    values: State
    recorded_at: dict[str, int]

    def take(self, delta: State, recorded_at: int) -> None:
        """Take up what an event says, where no later one said another value."""
        for name, value in delta.items():
            if recorded_at >= self.recorded_at.get(name, 0):
                self.values[name] = value
                self.recorded_at[name] = recorded_at


def shared_state(own: ItemEvents, held: Stream) -> tuple[SharedState, set[str], int]:
    """Return the state of an app or a user, the names of what it took up lately, and the version."""
    version, events = own.from_end(held)
    current = CurrentItems(FRAMEWORK, SHARED)
    for at, event in events:
        current.take(at, event)
        if SUMMARY in current.state or current.is_complete:
            break
    state = _shared_summary(current.state.get(SUMMARY))
    for each in reversed(current.items):
        state.take(*_taking(each))
    return state, {each.item_id or "" for each in current.items}, version


def _shared_summary(value: Any) -> SharedState:
    match value:
        case None:
            return SharedState({}, {})
        case {"values": {}, "recorded_at": {}}:
            summary = cast("JsonObject", value)
            if all(isinstance(time, int) for time in summary["recorded_at"].values()):
                return SharedState(dict(summary["values"]), dict(summary["recorded_at"]))
        case _:
            pass
    raise no_state("the summary of the state")


def _taking(held: HeldItem) -> tuple[State, int]:
    """Return what an event said of the state, and when that was recorded."""
    match held.item:
        case {"delta": {**delta}, "recorded_at": int(recorded_at)}:
            return cast("State", delta), recorded_at
        case _:
            raise no_state(f"the change of the state at version {held.version}")


def no_state(what: str) -> CorruptRecord:
    """Return the error of a state that another program put."""
    return CorruptRecord(
        f"{what} is none that can be read: redact the version at which another program put it"
    )
