"""What a conversation takes next: one rule for whoever appends, imports or verifies.

It is about order alone: a conversation begins once, is a fork from its beginning on, and says
nothing new once it is closed. Answers that were under way as it was closed are recorded still.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from onrecord.domain import events, items, tools
from onrecord.domain.encoding import NAMES, Erased, Unrecognised
from onrecord.domain.errors import ConversationClosed, InvalidContent, OnrecordError
from onrecord.domain.events import (
    ContentRedacted,
    ConversationForked,
    Event,
    HistoryCompacted,
    LineAdopted,
    RequestSent,
)
from onrecord.domain.head import effect_of

Need = Literal["first", "early", "open"]
"""What an event needs of its conversation: not to have begun, to be new, not to be closed."""

_NEEDS: Final[Mapping[type[Event], Need]] = {
    events.ConversationStarted: "first",
    events.ConversationForked: "early",
    events.ConversationEnded: "open",
    events.InstructionsSet: "open",
    events.ToolsDeclared: "open",
    events.MessageRecorded: "open",
    events.ToolCallRecorded: "open",
    events.ToolResultRecorded: "open",
    events.ToolResultRejected: "open",
    events.SignalReceived: "open",
    events.RequestSent: "open",
    events.LineAdopted: "open",
    events.HistoryCompacted: "open",
    events.ContextCarried: "open",
    tools.ApprovalRequested: "open",
    tools.ApprovalDecided: "open",
    tools.ToolCallBegun: "open",
    items.ItemRecorded: "open",
    items.ItemWithdrawn: "open",
    items.ItemAmended: "open",
    items.ItemsReplaced: "open",
    items.StreamCleared: "open",
    items.StatePut: "open",
}
_OF_ANSWERS: Final = (events.MessageRecorded, events.ToolCallRecorded)
_NAMING_VERSIONS: Final = frozenset(
    {
        *(LineAdopted, HistoryCompacted, ContentRedacted, RequestSent),
        *(items.ItemRecorded, items.ItemWithdrawn, items.ItemAmended, items.ItemsReplaced),
    }
)
_WHY: Final[Mapping[Need, str]] = {
    "first": "the conversation has begun, and begins once: start another",
    "early": "only a new conversation can be a fork: give the fork a key that none has yet",
    "open": "the conversation is closed: start another, or fork it",
}


def need_of(event: Event | Unrecognised | Erased) -> Need | None:
    """Return what an event needs; None where it comes at any time, or where nobody can tell."""
    match event:
        case Unrecognised():
            return None
        case Erased():
            shape = NAMES.get(event.type)
            return None if shape is None or shape in _OF_ANSWERS else _NEEDS.get(shape)
        case events.MessageRecorded() | events.ToolCallRecorded() if event.response is not None:
            return None
        case _:
            return _NEEDS.get(type(event))


def closes(event: Event | Unrecognised | Erased) -> bool:
    """Return whether an event closes its conversation: on a side branch it does not."""
    if isinstance(event, Erased):
        return NAMES.get(event.type) is events.ConversationEnded
    return effect_of(event).closes


class Standing(NamedTuple):
    """Where a conversation stands, as far as that decides about what it takes."""

    begun: bool = False
    version: int = 0
    closed: bool = False

    def takes(self, need: Need | None) -> bool:
        """Return whether an event that has this need can come next."""
        match need:
            case "first":
                return not self.begun
            case "early":
                return self.version <= 1
            case "open":
                return not self.closed
            case None:
                return True

    def after(self, *, closes: bool) -> Standing:
        """Return where it stands after the next event."""
        return Standing(True, self.version + 1, self.closed or closes)


@dataclass(frozen=True, slots=True)
class Refused:
    """The conversation does not take event number `ordinal` (from 0); nothing changed.

    What the event needs says why: `error_of`.
    """

    ordinal: int


def why_refused(need: Need | None) -> str:
    """Return why an event is refused whose need is not met, and what to do."""
    return _WHY[need or "open"]


def error_of(need: Need | None) -> OnrecordError:
    """Return the error for an event whose need is not met."""
    kind = ConversationClosed if need == "open" else InvalidContent
    return kind(why_refused(need))


# The versions that an event names: a reference that does not lie strictly before its event is
# none.
#
# One writer never records another kind, but an import, or a program that appends events of its
# own, may bring any number. So every fold asks `refers_back` before it follows one: then each
# step leads to an earlier event, and every read ends.

HIGHEST: Final = 2**63 - 1
"""The highest version that any log can count to."""


def refers_back(event: Event, version: int) -> bool:
    """Return whether what an event names lies before it, at `version`; else it changes nothing."""
    if not _is_in_order(event):
        return False
    return all(0 <= named < version for named in _named(event))


def must_refer_back(event: Event, version: int) -> None:
    """Raise InvalidContent for an event that would name itself, or what comes after it."""
    if refers_back(event, version):
        return
    named = ", ".join(str(each) if abs(each) <= HIGHEST else "a huge one" for each in _named(event))
    raise InvalidContent(
        f"an event at version {version} cannot refer to version {named}: name earlier ones, in order"
    )


def names_versions(event: Event) -> bool:
    """Return whether an event is of a kind that names versions of its own conversation."""
    return type(event) in _NAMING_VERSIONS


def _named(event: Event) -> Iterator[int]:
    """Yield the versions of its own conversation that an event names."""
    match event:
        case LineAdopted() | RequestSent():
            members = (event.after, event.as_of, event.begun)
            yield from (named for named in members if named is not None)
        case HistoryCompacted():
            yield event.until
        case ContentRedacted() | items.ItemWithdrawn() | items.ItemAmended():
            yield event.version
        case items.ItemRecorded():
            yield event.after or 0
            yield event.beside or 0
        case items.ItemsReplaced():
            yield from (version for first_and_last in event.kept for version in first_and_last)
        case _:
            return


def _is_in_order(event: Event) -> bool:
    """Return whether the members agree: a side branch begins behind the place that it left."""
    match event:
        case LineAdopted():
            is_of_side = event.begun is None or event.adopted is not None
            return is_of_side and (event.begun is None or event.after < event.begun)
        case RequestSent():
            return event.begun is None or event.after is None or event.after < event.begun
        case ConversationForked():
            return 1 <= event.version <= HIGHEST
        case items.ItemsReplaced():
            named = [version for first_and_last in event.kept for version in first_and_last]
            return named == sorted(named)
        case _:
            return True
