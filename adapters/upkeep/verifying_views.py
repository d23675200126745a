"""The views that are kept, compared row by row with what the log comes to.

The events of one conversation after the other are folded from scratch, as far as each view has come,
and its rows are compared with those that are kept. A view that lags is not at fault, nor is a
conversation that waits behind a parked event. The sums of `usage` are of many conversations: they are
read first, and compared when all of them were folded up to where the sums had come then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from onrecord.adapters.storage.sqlite.connection import Connections, Session
from onrecord.adapters.upkeep.verified import Verified, VerifiedView
from onrecord.adapters.upkeep.verifying import Progress, no_progress
from onrecord.adapters.views.ports import KeptMoment, KeptViews
from onrecord.adapters.views.sqlite.kept import PAGE, Folding, kept_sums, paged, scratch
from onrecord.domain.errors import StorageError, counted
from onrecord.domain.head import MOST_TOKENS
from onrecord.domain.inventory import StoredHead
from onrecord.domain.log import Backend, RecordedEvent
from onrecord.projections.verification.verification import Fault
from onrecord.projections.views.comparison import (
    Erasures,
    UsageDay,
    differences,
    row_faults,
    sum_faults,
)
from onrecord.projections.views.planning import Build, Part, other_texts
from onrecord.projections.views.step import part_of
from onrecord.projections.views.usage import USAGE, day_of
from onrecord.projections.views.view import Row

_HEADS: Final = 64
_EVENTS: Final = 256
_MOST_RESPONSES: Final[Mapping[str, int]] = {
    "response.completed": 1,
    "response.interrupted": 1,
    # An item of a framework may be a whole history.
    "item.recorded": MOST_TOKENS,
}
"""How many responses an event of a type may have been counted as."""


@dataclass(frozen=True, slots=True)
class VerifiedViews:
    """What was compared, what does not hold, and what could not be compared."""

    views: tuple[VerifiedView, ...] = ()
    faults: tuple[Fault, ...] = ()
    unchecked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Live:
    """The generation of a view that is read, and how far it has come."""

    build: Build
    positions: Mapping[Part, int]
    parked: Mapping[str, int]


def verify_views(
    backend: Backend,
    kept: KeptViews,
    which: UUID | None = None,
    *,
    progress: Progress = no_progress,
) -> VerifiedViews:
    """Compare the rows of all views, or those of one conversation, with what its events come to."""
    try:
        why = kept.unreadable()
        if why is not None:
            return VerifiedViews(unchecked=(why,))
        with scratch() as space:
            check = _Check(backend, kept, space, progress)
            if which is None:
                check.all()
            else:
                check.one(which)
            return check.done()
    except StorageError as error:
        # Whatever became of the views, what the log holds was verified, and is told.
        return VerifiedViews(faults=(Fault(None, 0, f"views: they cannot be read: {error}"),))


def with_views(
    verified: Verified,
    backend: Backend,
    kept: KeptViews,
    which: UUID | None,
    progress: Progress,
) -> Verified:
    """Compare the views too, and return all that was found."""
    views = verify_views(backend, kept, which, progress=progress)
    return replace(
        verified,
        faults=(*verified.faults, *views.faults),
        checked=(*verified.checked, *map(_compared, views.views)),
        unchecked=(*verified.unchecked, *views.unchecked),
        views=views.views,
    )


class _Check:
    """What was compared and found so far."""

    def __init__(
        self, backend: Backend, kept: KeptViews, space: Connections, progress: Progress
    ) -> None:
        self._backend, self._kept, self._scratch = backend, kept, space
        self._progress = progress
        self._parts = kept.parts
        self._faults: list[Fault] = []
        self._unchecked: list[str] = []
        self._rows: Counter[str] = Counter()
        self._behind: dict[str, int] = {}
        self._parked: dict[str, int] = {}
        self._unfolded: Counter[str] = Counter()
        self._pending: set[UUID] = set()
        self._usage: _Live | None = None
        self._erased: Counter[UsageDay] = Counter()
        self._looked_at = 0

    def all(self) -> None:
        """Compare all rows of all views."""
        erasures = self._backend.erasures()
        with self._kept.moment() as moment:
            self._begin(moment)
            usage = self._usage
            sums = [] if usage is None else moment.sums(usage.build)
        self._conversations()
        for view in self._kept.views:
            if view != USAGE.name:
                self._strangers(view)
        if usage is not None:
            since = frozenset(map(str, self._backend.erased(erasures)))
            self._sums(usage.build, sums, Erasures(self._erased, since))
        self._faults += [Fault(None, 0, why) for why in self._kept.index_faults()]

    def one(self, conversation_id: UUID) -> None:
        with self._kept.moment() as moment, self._scratch.transaction() as session:
            self._begin(moment)
            self._usage = None
            head = moment.log.head(conversation_id)
            if head is not None:
                self._conversation(moment, self._live(moment), head, session)
        self._unchecked.append(
            "view usage: its sums are of many conversations: verify the whole store"
        )

    def done(self) -> VerifiedViews:
        unchecked = [
            *self._unchecked,
            *(
                f"view {view}: {counted(count, 'conversation')} from the event on that it cannot fold"
                for view, count in sorted(self._unfolded.items())
            ),
        ]
        if self._pending:
            pending = counted(len(self._pending), "erased conversation")
            unchecked.append(f"views: {pending}, taken out of the views as they are read")
        views = (
            VerifiedView(view, self._rows[view], behind, self._parked[view])
            for view, behind in sorted(self._behind.items())
        )
        return VerifiedViews(tuple(views), tuple(self._faults), tuple(unchecked))

    def _begin(self, moment: KeptMoment) -> None:
        """See which views there are, and how far each has come."""
        live, builds = self._live(moment), moment.builds()
        ends = {end.shard: end.position for end in self._backend.cursors()}
        for view in self._kept.views:
            known = {build.number for build in builds if build.view == view}
            if moment.generations(view) - known:
                why = f"view {view}: it has rows of a generation that there is not"
                self._faults.append(Fault(None, 0, why))
            if view not in live:
                self._unchecked.append(self._why_not(view, builds))
                continue
            self._parked[view] = len(live[view].parked)
            self._behind[view] = self._lag(view, live[view].positions, ends)
        self._usage = live.get(USAGE.name)

    def _lag(self, view: str, positions: Mapping[Part, int], ends: Mapping[int, int]) -> int:
        """Return how many events a view is behind; of the parts of a shard the last one counts."""
        places = {Part(shard, part) for shard in ends for part in range(self._parts)}
        if set(positions) != places:
            why = f"view {view}: its checkpoints are not those of the parts of the log"
            self._faults.append(Fault(None, 0, why))
        if any(position > ends.get(place.shard, 0) for place, position in positions.items()):
            why = f"view {view}: it says that it has come further than the log"
            self._faults.append(Fault(None, 0, why))
        return sum(
            max(
                0,
                end - min((at for part, at in positions.items() if part.shard == shard), default=0),
            )
            for shard, end in ends.items()
        )

    def _conversations(self) -> None:
        """Compare each conversation, several at a moment as long as they are short.

        While a moment lasts nothing erased can leave the disk, and whoever erases waits for that.
        """
        total = sum(end.position for end in self._backend.cursors())
        after: UUID | None = None
        while True:
            with self._kept.moment() as moment, self._scratch.transaction() as session:
                heads, live = moment.log.heads(after, _HEADS), self._live(moment)
                enough = self._looked_at + _EVENTS
                for head in heads:
                    self._conversation(moment, live, head, session)
                    after = head.conversation_id
                    if self._looked_at >= enough:
                        break
            if not heads:
                return
            self._progress(min(self._looked_at, total), total)

    def _conversation(
        self, moment: KeptMoment, live: Mapping[str, _Live], head: StoredHead, session: Session
    ) -> None:
        """Fold a conversation into every view, and compare the rows of all but `usage`."""
        conversation = str(head.conversation_id)
        place = Part(head.shard, part_of(head.conversation_id, self._parts))
        compared = [
            self._folding(session, of, conversation, place)
            for view, of in live.items()
            if view != USAGE.name and conversation not in moment.pending
        ]
        usage = self._usage
        summed = [] if usage is None else [self._folding(session, usage, conversation, place)]
        for events in _pages(self._kept, moment, head):
            for folding in (*compared, *summed):
                folding.take(events, head.tenant)
            if summed:
                self._erased.update(_erased_responses(summed[0], events, head))
            self._looked_at += len(events)
        if conversation in moment.pending:
            self._pending.add(head.conversation_id)
        for folding in compared:
            self._compare(moment, folding, head.conversation_id)
        self._unfolded.update(
            folding.build.view for folding in (*compared, *summed) if folding.has_failed
        )

    def _folding(self, session: Session, live: _Live, conversation: str, place: Part) -> Folding:
        waits = live.parked.get(conversation)
        until = live.positions.get(place, 0)
        return Folding(session, self._kept.views[live.build.view], live.build, until, waits)

    def _compare(self, moment: KeptMoment, folding: Folding, conversation_id: UUID) -> None:
        build, conversation = folding.build, str(conversation_id)
        kept = paged(lambda after: moment.rows(build, conversation, after, PAGE))
        different = differences(folding.rows(conversation), self._counted(build.view, kept))
        self._faults += row_faults(build.view, conversation_id, different)
        folding.clear()

    def _counted(self, view: str, rows: Iterator[Row]) -> Iterator[Row]:
        for row in rows:
            self._rows[view] += 1
            yield row

    def _strangers(self, view: str) -> None:
        """Look for rows of conversations that the log does not have."""
        after: str | None = None
        while True:
            with self._kept.moment() as moment:
                live = self._live(moment).get(view)
                conversations = (
                    [] if live is None else moment.conversations(live.build, after, PAGE)
                )
                for conversation in conversations:
                    which = _id(conversation)
                    if which is None or moment.log.head(which) is None:
                        why = (
                            f"view {view}: it has rows of a conversation that the log does not have"
                        )
                        self._faults.append(Fault(which, 0, why))
            if not conversations:
                return
            after = conversations[-1]

    def _sums(self, build: Build, kept: list[Row], erasures: Erasures) -> None:
        self._rows[build.view] += len(kept)
        with self._scratch.borrowed() as session:
            self._faults += sum_faults(kept_sums(session, build), kept, erasures)

    def _live(self, moment: KeptMoment) -> dict[str, _Live]:
        """Return what is read of each view, where a fold like ours has made it."""
        views = self._kept.views
        return {
            build.view: _Live(build, moment.positions(build), moment.parked(build))
            for build in moment.builds()
            if build.status == "live"
            and build.view in views
            and views[build.view].revision == build.revision
        }

    def _why_not(self, view: str, builds: list[Build]) -> str:
        for build in builds:
            if build.view == view and build.status == "live":
                if build.revision == -self._kept.views[view].revision:
                    return f"view {view}: {other_texts(build)}"
                return f"view {view}: another release made its rows: run `onrecord rebuild {view}`"
        return f"view {view}: it was not begun yet"


def _compared(view: VerifiedView) -> str:
    lag = f", which it is {view.behind} behind" if view.behind else ""
    parked = f"; parked conversations: {view.parked}" if view.parked else ""
    return f"view {view.view}: its rows ({view.rows}) against the events{lag}{parked}"


def _pages(kept: KeptViews, moment: KeptMoment, head: StoredHead) -> Iterator[list[RecordedEvent]]:
    after = -1
    while page := moment.log.events(head, after, _EVENTS):
        yield kept.readable([stored.event for stored in page])
        after = page[-1].event.version


def _erased_responses(
    folding: Folding, events: list[RecordedEvent], head: StoredHead
) -> Counter[UsageDay]:
    """Return in which sums responses may be counted that are erased, and how many at most."""
    erased: Counter[UsageDay] = Counter()
    for event in events:
        if event.body is None and event.type in _MOST_RESPONSES and folding.is_due(event):
            day = UsageDay(str(head.tenant), day_of(event.recorded_at))
            erased[day] += _MOST_RESPONSES[event.type]
    return erased


def _id(conversation: str) -> UUID | None:
    try:
        conversation_id = UUID(conversation)
    except ValueError:
        return None
    return conversation_id if str(conversation_id) == conversation else None
