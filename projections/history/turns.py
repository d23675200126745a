"""The fold of events to turns: the main branch of a conversation as the model sees it.

What is decided here (with fold.py, rounds.py, answers.py and responses.py), for every API alike:

- A tool's result is in time if no request was sent between the call and the result. All results of
  a round stand first in the user's turn, in the order of the calls. Where one is missing, a
  cancelled result stands in; a late one becomes a block of the turn in which it came. So nothing
  that was sent once changes later.
- What the user says while a request is out comes after the response to it: the model had not seen
  it. So does what was recorded between the making of a request and its sending (amendments.py).
- A response that broke off keeps its finished blocks and the text of an unfinished one; a call that
  awaits no result and has none is left out. A response that was refused is no part of the history
  (Anthropic, "Handling refusals"), nor is what was redacted or erased.
- Where the caller's own summary stands for what was said, it is the first that the user says.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence

from onrecord.domain.encoding import name_of
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.log import Told
from onrecord.projections.history.amendments import (
    AMENDS,
    Presence,
    amended,
    as_compacted,
    as_seen,
    taken_out,
)
from onrecord.projections.history.fold import Fold
from onrecord.projections.history.history import History, Missing, Turn
from onrecord.projections.history.responses import Item, Place, place_of, seen_by


def turns(recorded: Iterable[Item]) -> tuple[Turn, ...]:
    """Return the turns of a conversation's main branch, from its events in order of version."""
    return history(recorded).turns


def history(recorded: Iterable[Item], missing: Missing = "cancel") -> History:
    """Return the turns, and the instructions and tools in force, from events in order of version.

    The events may begin later than the conversation (a window); then those that set instructions
    and tools in force come first. The events of a fork come after those of its origin. `missing`
    says what becomes of calls without a result; to heed `refuse` is for whoever sends the history.
    """
    return GrowingHistory(recorded, missing).history()


class GrowingHistory:
    """The history of events that may go on: what was taken in is not folded again.

    It is at any time what `history` makes of all its `items`. One thread at a time.
    """

    def __init__(self, recorded: Iterable[Item], missing: Missing = "cancel") -> None:
        """Take in the first events, as `history` does; CorruptRecord where one has not its shape."""
        self.items = list(recorded)
        self._missing: Missing = missing
        self._fold, self._presence = self._folded()

    def take(self, recorded: Sequence[Item]) -> None:
        """Take in events that come behind all others; after an error it is of no use any more."""
        self.items.extend(recorded)
        if any(map(_tells_of_others, recorded)):
            self._fold, self._presence = self._folded()
        else:
            self._fold.take_all(recorded)

    def before(self, version: int) -> list[Told]:
        """Return the events before a version; all are of one conversation, as the log has them."""
        place = bisect_left(self.items, version, key=_version)
        return [item for item in self.items[:place] if isinstance(item, Told)]

    def begin_at(self, version: int, before: Sequence[Told]) -> None:
        """Go on as if the events began at the prompt of a version, behind some of those `before` it.

        These set what is in force at the prompt. All events are of one conversation, as the log has them.
        """
        place = bisect_left(self.items, version, key=_version)
        gone = [item for item in self.items[:place] if item not in before]
        if self._fold.begin_at(version):
            self._presence.leave_out(gone, self.items)
            self.items = [*before, *self.items[place:]]
        else:
            self.items = [*before, *self.items[place:]]
            self._fold, self._presence = self._folded()

    def history(self) -> History:
        """Return the history of all events so far; events that are taken in later do not change it."""
        return self._fold.history(self.items, self._presence.left_out(self.items))

    def _folded(self) -> tuple[Fold, Presence]:
        shown, redactions, compaction = self.items, set[Place](), None
        removed: Mapping[Place, list[JsonObject]] = {}
        fold = Fold(redactions, self._missing)
        fold.take_all(shown)
        if fold.is_amended:
            redactions, compaction = amended(self.items)
            removed = taken_out(self.items, redactions) if redactions else removed
            shown = self.items if compaction is None else as_compacted(self.items, compaction)
            fold = Fold(redactions, self._missing, removed=removed)
            fold.take_all(shown)
        if fold.saw_less:
            ordered, unseen = as_seen(shown)
            fold = Fold(redactions, self._missing, unseen, removed)
            fold.take_all(ordered)
        return fold, Presence(compaction)


def _version(item: Item) -> int:
    return place_of(item)[1]


def _tells_of_others(item: Item) -> bool:
    """Whether an event says how earlier ones are told, or in which order."""
    name = item.type if isinstance(item, Told) else name_of(item[1])
    return name in AMENDS or seen_by(item) is not None
