"""However the main branch of a conversation goes, the window tells the exchanges that requests keep."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onrecord.adapters.storage.memory.memory import Memory
from onrecord.adapters.streams.event_reading import events_for, events_in
from onrecord.adapters.streams.lineage import amendments, lineage, parted
from onrecord.domain import events
from onrecord.domain.content import Role, Text
from onrecord.domain.encoding import Erased
from onrecord.domain.events import Event
from onrecord.domain.head import Head, advance, effect_of
from onrecord.domain.log import RecordedEvent
from onrecord.domain.request_template import Template
from onrecord.projections.history.history import Turn
from onrecord.projections.history.turns import turns
from onrecord.projections.history.windows import Window
from onrecord.projections.views.view import Row
from onrecord.projections.views.window import WINDOW
from tests.adapters.views.histories import histories, pieces
from tests.adapters.views.row_stores import ROW_STORES, RowStore, everything, in_pieces
from tests.adapters.views.tool_events import called, gave
from tests.factories import TENANT, appending
from tests.search import examples

LINES = (UUID(int=21), UUID(int=22))
_TEMPLATE = Template(spans=(), sha256="0" * 64, size=0)


class Told:
    """A conversation that goes as deeds say; what they name is made to be there."""

    def __init__(self) -> None:
        self.log = Memory()
        self.conversation = uuid4()
        self.begun: dict[UUID, int] = {}
        self.summary = 0

    @property
    def version(self) -> int:
        return self.log.head(self.conversation).version

    def happen(self, event: Event) -> None:
        if event.line is not None:
            self.begun.setdefault(event.line, self.version + 1)
        self.log.append([appending(self.conversation, event)])

    def do(self, deed: str, number: int, line: UUID | None) -> None:
        version, place = self.version, number % (self.version + 1)
        match deed:
            case "say" | "answer":
                said = (Text(text=f"said at {version + 1}"),)
                role: Role = "user" if deed == "say" else "assistant"
                self.happen(events.MessageRecorded(role=role, content=said, line=line))
            case "call":
                self.happen(called(f"c{number % 3}", line=line))
            case "result":
                self.happen(gave(f"c{number % 3}", call=version, line=line))
            case "ask":
                self.happen(
                    events.RequestSent(api="a", endpoint="/", template=_TEMPLATE, line=line)
                )
            case "back":
                as_of = None if number % 2 else max(place, version - number % 3)
                self.happen(events.LineAdopted(after=place, as_of=as_of))
            case "adopt" if line is not None and line in self.begun:
                begun = self.begun[line]
                self.happen(events.LineAdopted(adopted=line, begun=begun, after=place % begun))
            case "compact" if place:
                self.summary = version + 1
                self.happen(events.HistoryCompacted(summary="in short", until=place))
            case "redact" if place:
                self.happen(events.ContentRedacted(version=place))
            case "redact the summary" if self.summary:
                self.happen(events.ContentRedacted(version=self.summary))
            case _:
                return


deeds = st.tuples(
    st.sampled_from(
        (
            *("say", "say", "say", "answer", "answer", "call", "result", "ask"),
            *("back", "back", "adopt", "adopt", "compact", "redact", "redact the summary"),
        )
    ),
    st.integers(0, 40),
    st.sampled_from([None, None, *LINES]),
)


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[RowStore]]:
    opened = [open_(tmp_path_factory.mktemp(name)) for name, open_ in ROW_STORES.items()]
    yield opened
    for store in opened:
        store.close()


def pages(rows: RowStore, steps: Sequence[Sequence[RecordedEvent]]) -> dict[UUID, list[Row]]:
    """The exchanges of each conversation of a log that is folded step by step; nothing stays."""
    for step in steps:
        assert rows.step(WINDOW, step) == []
    ids = {event.conversation_id for step in steps for event in step}
    shown = {of: rows.page(WINDOW, TENANT, conversation_id=str(of)) for of in ids}
    for of in ids:
        rows.forget(WINDOW, of)
    return shown


def openings(told: Told) -> list[RecordedEvent]:
    """The prompts that open the exchanges of the main branch, by the rule of the head."""
    version, own = told.version, told.conversation
    segments = lineage(told.log, own, version)
    found = amendments(told.log, segments)
    if found.compaction is not None:
        _, segments = parted(segments, own, found.compaction.event.until)
    versions: dict[UUID | None, set[int]] = {None: _opened_on_main(told)}
    versions.update((line, set(_opened_on(told, line))) for line in LINES)
    return [
        event
        for segment in segments
        for event in events_in(told.log, segment)
        if event.version in versions[segment.line]
    ]


def _opened_on_main(told: Told) -> set[int]:
    recorded = list(told.log.read(told.conversation))
    numbers = [0, *(event.exchange for event in recorded)]
    return {
        event.version
        for event, (before, now) in zip(recorded, pairwise(numbers), strict=True)
        if now > before
    }


def _opened_on(told: Told, line: UUID) -> Iterator[int]:
    """The prompts that open exchanges of a side branch, as if it were the main branch."""
    head = Head()
    for recorded in told.log.read(told.conversation):
        event = recorded.event()
        assert not isinstance(event, Erased)
        if getattr(event, "line", None) == line:
            effect = effect_of(event.model_copy(update={"line": None}))  # type: ignore[union-attr] # a side branch's event is of this release
            before, head = head, advance(head, effect)
            if head.exchange > before.exchange:
                yield recorded.version


@examples(80)
@given(st.lists(deeds, min_size=10, max_size=24), st.lists(st.integers(1, 4), max_size=12))
def test_the_exchanges_are_those_of_the_main_line(
    stores: Sequence[RowStore], done: list[tuple[str, int, UUID | None]], sizes: list[int]
) -> None:
    told = Told()
    for deed in done:
        told.do(*deed)
    history = everything(told.log)
    if not history:
        return
    expected = openings(told)
    redacted = {
        event.version
        for recorded in history
        if isinstance(event := recorded.event(), events.ContentRedacted)
    }
    prompts = [None if e.version in redacted else f"said at {e.version}" for e in expected]
    for rows in stores:
        shown = pages(rows, in_pieces(history, sizes))[told.conversation]
        assert [row["first_version"] for row in reversed(shown)] == [e.version for e in expected]
        assert [row["prompt"] for row in reversed(shown)] == prompts
        check_requests(told, shown)


def check_requests(told: Told, shown: Sequence[Row]) -> None:
    """Hold exchanges to those that a request with a window of so many keeps."""
    segments = lineage(told.log, told.conversation, told.version)
    whole = texts(turns(events_for(told.log, segments, None)))
    assert [row["prompt"] for row in shown if row["prompt"] not in {None, *whole}] == []
    for kept in range(1, len(shown) - 1):
        events_kept = events_for(told.log, segments, Window(exchanges=kept, step=1))
        said = [event.version for event in events_kept if event.type == "message.recorded"]
        assert min(said) == shown[kept]["first_version"]


def texts(said: Sequence[Turn]) -> set[str]:
    return {block.plain["text"] for turn in said for block in turn.blocks if "text" in block.plain}


@examples(40)
@given(st.data())
def test_however_a_history_is_cut_into_steps_the_exchanges_are_the_same(
    stores: Sequence[RowStore], data: st.DataObject
) -> None:
    history = data.draw(histories())
    steps = in_pieces(history, data.draw(pieces(history)))
    shown = [
        pages(rows, cut)
        for rows in stores
        for cut in ([history], steps, [[event] for event in history])
    ]
    assert all(one == shown[0] for one in shown)
