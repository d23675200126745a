"""The window view: the last exchanges of a conversation, alike on every database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID, uuid4

import pytest

from onrecord.adapters.storage.memory.memory import Memory
from onrecord.domain import events
from onrecord.domain.content import Document, Text
from onrecord.domain.errors import InvalidContent
from onrecord.domain.events import ContentRedacted, Event, HistoryCompacted, LineAdopted
from onrecord.domain.log import RecordedEvent
from onrecord.domain.request_template import Template
from onrecord.projections.views.window import WINDOW, Exchange, exchange_of, remembered
from tests.adapters.views.row_stores import RowStore, everything
from tests.adapters.views.tool_events import LINE, called, gave, searched
from tests.factories import TENANT, answer, appending, native_answer, prompt, started

_TEMPLATE = Template(spans=(), sha256="0" * 64, size=0)


class Memo:
    """A conversation, and what is remembered of it."""

    def __init__(self, rows: RowStore) -> None:
        self.rows = rows
        self.log = Memory()
        self.conversation = uuid4()
        self.folded = 0

    def happen(self, *said: Event) -> None:
        self.log.append([appending(self.conversation, *said)])
        new = self.recorded()[self.folded :]
        self.folded += len(new)
        assert self.rows.step(WINDOW, new) == []

    def recorded(self) -> list[RecordedEvent]:
        return everything(self.log)

    def exchanges(self, **asked: Any) -> list[Exchange]:
        page = self.rows.page(WINDOW, TENANT, conversation_id=str(self.conversation), **asked)
        return [exchange_of(row) for row in page]

    def said(self) -> Sequence[tuple[str, str]]:
        return remembered(self.exchanges())


@pytest.fixture
def memo(rows: RowStore) -> Memo:
    return Memo(rows)


def on_line(event: Event) -> Event:
    return event.model_copy(update={"line": LINE})


def asked(line: UUID | None = None) -> Event:
    return events.RequestSent(api="a", endpoint="/", template=_TEMPLATE, line=line)


def closed(tokens_in: int | None, tokens_out: int | None) -> Event:
    return events.ResponseCompleted(
        response=uuid4(),
        api="a",
        envelope={},
        input_tokens=tokens_in,
        output_tokens=tokens_out,
    )


def test_an_exchange_is_a_prompt_and_all_up_to_the_next_one(memo: Memo) -> None:
    memo.happen(started(), prompt("one?"), answer("one."), prompt("two?"))
    memo.happen(called("c1"), gave("c1"), answer("two."))
    two, one = memo.exchanges()
    assert (one.exchange, one.first_version, one.last_version) == (1, 2, 3)
    assert (one.prompt, one.answer, one.is_closed) == ("one?", "one.", True)
    assert (two.exchange, two.first_version, two.last_version) == (2, 4, 7)
    assert (two.prompt, two.answer, two.is_closed) == ("two?", "two.", False)
    assert (two.messages, two.tool_calls) == (2, 1)
    moments = {event.version: event.recorded_at for event in memo.recorded()}
    assert (two.opened_at, two.last_at) == (moments[4], max(moments[4], moments[5], moments[7]))
    assert memo.said() == [
        ("user", "one?"),
        ("assistant", "one."),
        ("user", "two?"),
        ("assistant", "two."),
    ]


def test_what_is_before_the_first_prompt_is_no_exchange(memo: Memo) -> None:
    memo.happen(started(), answer("Welcome!"))
    assert memo.exchanges() == []
    assert memo.rows.page(WINDOW, TENANT) == []


def test_only_the_last_exchanges_are_told_and_a_page_goes_on_before_them(memo: Memo) -> None:
    memo.happen(*(said for n in range(5) for said in (prompt(f"{n}?"), answer(f"{n}."))))
    last = memo.exchanges(limit=2)
    assert [each.prompt for each in last] == ["4?", "3?"]
    before = memo.exchanges(limit=2, after={"first_version": last[-1].first_version})
    assert [each.prompt for each in before] == ["2?", "1?"]
    assert {each.is_closed for each in before} == {True}
    assert memo.rows.page(WINDOW, uuid4(), conversation_id=str(memo.conversation)) == []


def test_a_prompt_amid_a_round_opens_no_exchange(memo: Memo) -> None:
    memo.happen(prompt("one?"), called("c1"))
    memo.happen(prompt("hurry"))
    memo.happen(gave("c1"), answer("one."))
    assert [(each.prompt, each.messages) for each in memo.exchanges()] == [("one?", 3)]


def test_a_signal_opens_an_exchange_unless_it_interrupts(memo: Memo) -> None:
    memo.happen(events.SignalReceived(content=(Text(text="time is up"),)), answer("So it is."))
    memo.happen(events.SignalReceived(content=(Text(text="stop"),), interrupts=True))
    assert [(each.prompt, each.messages) for each in memo.exchanges()] == [("time is up", 3)]


def test_what_an_exchange_held_is_counted(memo: Memo) -> None:
    report = Document(media_type="text/plain", name="a.txt", url="https://a.b/a.txt")
    content = (Text(text="read this"), report)
    memo.happen(events.MessageRecorded(role="user", content=content), searched("s1"))
    memo.happen(events.DocumentExtracted(document=report, call_id="s1"))
    memo.happen(closed(10, 2), closed(None, -1), closed(5, 1))
    one = memo.exchanges()[0]
    assert (one.documents, one.tool_calls) == (2, 1)
    assert (one.input_tokens, one.output_tokens) == (15, 3)


def test_an_answer_is_all_that_its_response_says(memo: Memo) -> None:
    first, last = UUID(int=1), UUID(int=2)
    memo.happen(prompt("so?"), native_answer(first, "Let me see."))
    memo.happen(native_answer(last, "It is ", 0), native_answer(last, "so.", 1))
    assert memo.exchanges()[0].answer == "It is so."


def test_what_is_long_is_cut(memo: Memo) -> None:
    memo.happen(prompt("x" * 3000), answer("y" * 3000))
    one = memo.exchanges()[0]
    assert (one.prompt, one.answer) == ("x" * 2000, "y" * 2000)


def test_an_answer_that_is_given_up_is_told_no_more(memo: Memo) -> None:
    memo.happen(prompt("so?"), called("c1"), gave("c1"), answer("No."), closed(9, 9))
    memo.happen(LineAdopted(after=1))
    one = memo.exchanges()[0]
    assert (one.prompt, one.answer, one.tool_calls, one.output_tokens) == ("so?", None, 0, 0)
    memo.happen(answer("Yes."), closed(1, 1))
    one = memo.exchanges()[0]
    assert (one.prompt, one.answer, one.output_tokens) == ("so?", "Yes.", 1)


def test_a_prompt_that_is_put_otherwise_takes_the_place_of_the_first(memo: Memo) -> None:
    memo.happen(prompt("one?"), answer("one."), prompt("two?"), answer("two."))
    memo.happen(LineAdopted(after=2), prompt("three?"))
    assert [each.prompt for each in memo.exchanges()] == ["three?", "one?"]


def test_what_was_given_up_may_be_history_again(memo: Memo) -> None:
    memo.happen(prompt("one?"), answer("one."), prompt("two?"), LineAdopted(after=2))
    memo.happen(prompt("other?"))
    assert [each.prompt for each in memo.exchanges()] == ["other?", "one?"]
    memo.happen(LineAdopted(after=3))
    assert [each.prompt for each in memo.exchanges()] == ["two?", "one?"]


def test_a_side_line_is_told_from_its_adoption_on(memo: Memo) -> None:
    memo.happen(prompt("one?"), answer("one."), prompt("two?"))
    memo.happen(on_line(prompt("else?")), on_line(called("c1")), on_line(prompt("hurry")))
    memo.happen(asked(LINE), on_line(prompt("more?")), on_line(answer("more.")))
    assert [each.prompt for each in memo.exchanges()] == ["two?", "one?"]
    memo.happen(LineAdopted(adopted=LINE, begun=4, after=2))
    assert [(each.prompt, each.messages) for each in memo.exchanges()] == [
        ("more?", 2),
        ("else?", 2),
        ("one?", 2),
    ]


def test_what_a_summary_stands_for_is_told_no_more(memo: Memo) -> None:
    memo.happen(prompt("one?"), answer("one."), prompt("two?"))
    memo.happen(HistoryCompacted(summary="It was one.", until=2))
    assert [each.prompt for each in memo.exchanges()] == ["two?"]
    memo.happen(ContentRedacted(version=4))
    assert [each.prompt for each in memo.exchanges()] == ["two?", "one?"]


def test_what_is_redacted_is_counted_and_told_no_more(memo: Memo) -> None:
    memo.happen(prompt("secret?"), answer("plain"), answer("secret!"))
    memo.happen(ContentRedacted(version=1), ContentRedacted(version=3))
    one = memo.exchanges()[0]
    assert (one.prompt, one.answer, one.messages) == (None, "plain", 3)


def test_of_what_is_erased_nothing_is_remembered(memo: Memo) -> None:
    memo.happen(prompt("secret?"), answer("secret!"), LineAdopted(after=1))
    memo.rows.forget(WINDOW, memo.conversation)
    assert memo.exchanges() == []
    memo.log.forget(memo.conversation)
    assert memo.rows.step(WINDOW, memo.recorded()) == []
    assert memo.exchanges() == []


def test_only_exchanges_are_remembered() -> None:
    numbers: Any = [1]
    with pytest.raises(InvalidContent, match=r"onrecord\.Exchange, not int"):
        remembered(numbers)
