"""The search view: what was said, asked and given is found by its words, on every database alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onrecord.adapters.storage.memory.memory import Memory
from onrecord.domain import events
from onrecord.domain.content import Document, Native, Text, ToolCall, ToolResult
from onrecord.domain.errors import InvalidInput
from onrecord.domain.events import ContentRedacted, Event
from onrecord.domain.log import RecordedEvent
from onrecord.projections.views.search import SEARCH, Hit, hit_of, parse_query
from onrecord.projections.views.texts import words_of
from tests.adapters.views.histories import histories, pieces
from tests.adapters.views.row_stores import ROW_STORES, RowStore, everything, in_pieces
from tests.factories import TENANT, answer, appending, prompt, tool_call, tool_result
from tests.search import examples


class Told:
    """A conversation, and what is found of it."""

    def __init__(self, rows: RowStore) -> None:
        self.rows = rows
        self.log = Memory()
        self.conversation = uuid4()
        self.folded = 0

    def happen(self, *said: Event) -> None:
        self.log.append([appending(self.conversation, *said)])
        new = everything(self.log)[self.folded :]
        self.folded += len(new)
        assert self.rows.step(SEARCH, new) == []

    def find(self, asked: str, **filters: Any) -> list[Hit]:
        return found(self.rows, asked, **filters)

    def versions(self, asked: str, **filters: Any) -> list[int]:
        return [each.version for each in self.find(asked, **filters)]


def found(rows: RowStore, asked: str, **filters: Any) -> list[Hit]:
    page = rows.page(SEARCH, TENANT, **parse_query(asked).filters(), **filters)
    return [hit_of(row) for row in page]


@pytest.fixture
def told(rows: RowStore) -> Told:
    return Told(rows)


def call_with(**arguments: Any) -> Event:
    content = ToolCall(id="c1", name="look_up", arguments=arguments)
    return events.ToolCallRecorded(call_id="c1", name="look_up", content=content)


def test_what_is_said_asked_and_given_is_found_the_latest_first(told: Told) -> None:
    told.happen(
        prompt("Where is the invoice of March?"),
        call_with(query="invoice", month=3),
        tool_result("c1", "the invoice is in the drawer"),
        answer("In the drawer."),
    )
    assert told.versions("invoice") == [3, 2, 1]
    assert [(each.role, each.tool) for each in told.find("invoice")] == [
        ("tool", "look_up"),
        ("assistant", "look_up"),
        ("user", None),
    ]


def test_all_words_must_occur_phrases_in_order_and_words_with_a_minus_not_at_all(
    told: Told,
) -> None:
    told.happen(prompt("red apples and green pears"), prompt("green apples and red pears"))
    assert told.versions("apples pears") == [2, 1]
    assert told.versions('"red apples"') == [1]
    assert told.versions("pears -pears") == []
    assert told.versions('apples -"red apples"') == [2]
    assert told.versions("apples -cherries") == [2, 1]
    assert told.versions("red-apples") == [1]


def test_letters_count_in_whatever_case_and_spelling(told: Told) -> None:
    told.happen(prompt("STRASSE \ufb01nal Cafe\u0301 123,45"), prompt("東京タワーへ行く"))
    assert told.versions("straße") == told.versions("final") == told.versions("CAFÉ") == [1]
    assert told.versions("45") == [1]
    assert told.versions("cafe") == []
    assert told.versions("京") == told.versions("東京") == told.versions("タワー") == [2]
    assert told.versions("京東") == []


def test_only_what_is_asked_for_is_found(told: Told) -> None:
    told.happen(prompt("sun"), call_with(place="sun"), tool_result("c1", "sun"), answer("sun"))
    moments = {event.version: event.recorded_at for event in everything(told.log)}
    assert told.versions("sun", role="user") == [1]
    assert told.versions("sun", tool="look_up") == [3, 2]
    assert told.versions("sun", conversation_id=str(uuid4())) == []
    assert told.versions("sun", conversation_id=str(told.conversation)) == [4, 3, 2, 1]
    assert told.versions("sun", since=max(moments.values()) + 1) == []
    assert told.versions("sun", until=min(moments.values())) == []


def test_a_page_goes_on_behind_the_last_row(told: Told) -> None:
    told.happen(*(prompt(f"day {day}") for day in range(5)))
    asked = parse_query("day").filters()
    first = told.rows.page(SEARCH, TENANT, limit=2, **asked)
    rest = told.rows.page(SEARCH, TENANT, after={"position": first[-1]["position"]}, **asked)
    assert [row["version"] for row in (*first, *rest)] == [5, 4, 3, 2, 1]
    assert told.rows.page(SEARCH, uuid4(), **asked) == []


def test_an_excerpt_begins_a_little_before_the_word(told: Told) -> None:
    told.happen(prompt("so long " * 100 + "the treasure is here" + " and more" * 100))
    assert "the treasure is here" in told.find("treasure")[0].excerpt
    assert len(told.find("treasure")[0].excerpt) == 240


def test_names_of_documents_annotations_signals_and_summaries_are_found(told: Told) -> None:
    report = Document(media_type="application/pdf", name="Report 2026.pdf", url="https://a.b/c")
    told.happen(
        events.MessageRecorded(role="user", content=(report,)),
        events.DocumentExtracted(document=report, call_id="c1", tool_name="fetch", path="/0"),
        events.AnnotationAdded(labels={"mood": "angry"}),
        events.SignalReceived(name="alarm", content=(Text(text="rings"),)),
        events.HistoryCompacted(summary="They agreed", until=3),
    )
    assert told.versions('"report 2026 pdf"') == [2, 1]
    assert told.find("report", tool="fetch")[0].role == "record"
    assert told.versions("angry") == [3]
    assert told.versions("alarm rings") == [4]
    assert told.versions("agreed") == [5]


def test_what_providers_tools_were_asked_and_gave_is_found(told: Told) -> None:
    response = uuid4()
    asked = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "fog"}}
    page = {"type": "web_search_result", "url": "https://fog.example", "title": "All about mist"}
    gave = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [page]}
    told.happen(
        events.ServerToolCallRecorded(
            response=response,
            index=0,
            call_id="s1",
            name="web_search",
            content=Native(api="anthropic-messages", value=asked),
        ),
        events.ServerToolResultRecorded(
            response=response,
            index=1,
            call_id="s1",
            content=Native(api="anthropic-messages", value=gave),
        ),
    )
    assert told.versions("fog") == [2, 1]
    assert [(each.role, each.tool) for each in told.find("mist")] == [("provider", "web_search")]


def test_what_a_model_thought_is_not_found(told: Told) -> None:
    thought = {"type": "thinking", "thinking": "secretly", "signature": "c2ln"}
    content = Native(api="anthropic-messages", value=thought)
    told.happen(events.ReasoningRecorded(response=uuid4(), index=0, content=content))
    assert told.versions("secretly") == []


def test_what_is_redacted_is_found_no_more(told: Told) -> None:
    told.happen(prompt("my secret"), answer("your secret"), ContentRedacted(version=1))
    assert told.versions("secret") == [2]
    told.happen(ContentRedacted(version=2))
    assert told.versions("secret") == []


def test_a_call_without_words_names_what_gave_its_result(told: Told) -> None:
    told.happen(tool_call("c1", "_"), tool_result("c1", "found"))
    assert [(each.version, each.tool) for each in told.find("found")] == [(2, "_")]


def test_a_redacted_call_takes_its_name_from_what_it_gave(told: Told) -> None:
    told.happen(tool_call("c1", "look_up"), tool_result("c1", "found"))
    assert told.find("found")[0].tool == "look_up"
    told.happen(ContentRedacted(version=1))
    assert told.versions("look") == []
    assert told.find("found")[0].tool is None
    told.happen(
        events.ToolResultRejected(
            call_id="c1",
            content=ToolResult(call_id="c1", content=(Text(text="again"),)),
            reason="duplicate",
        )
    )
    assert told.find("again")[0].tool is None


def test_the_result_that_names_a_redacted_document_is_found_no_more(told: Told) -> None:
    plan = Document(media_type="text/plain", name="plan.txt", url="https://a.b/plan")
    told.happen(
        tool_call("c1"),
        tool_result("c1", 'see {"document": {"name": "plan.txt"}}'),
        events.DocumentExtracted(document=plan, call_id="c1", tool_name="look_up", path="/0"),
    )
    assert told.versions("plan") == [3, 2]
    told.happen(ContentRedacted(version=3))
    assert told.versions("plan") == []


def test_of_what_is_erased_nothing_is_found(told: Told) -> None:
    told.happen(prompt("my secret"))
    told.rows.forget(SEARCH, told.conversation)
    assert told.versions("secret") == []
    told.log.forget(told.conversation)
    assert told.rows.step(SEARCH, everything(told.log)) == []
    assert told.versions("secret") == []


def test_what_is_far_behind_is_found_up_to_a_limit(told: Told) -> None:
    told.happen(prompt("word " * 40_000 + "nearly last " + "word " * 20_000 + "beyond"))
    assert told.versions('"nearly last"') == [1]
    assert told.versions("beyond") == []


@pytest.mark.parametrize("asked", ["", "  ", '""', "-word", '-"some words"', "\0", "…", '"', "-"])
def test_to_ask_for_nothing_is_an_error(asked: str) -> None:
    with pytest.raises(InvalidInput, match="give a word"):
        parse_query(asked)


def test_to_ask_for_too_much_is_an_error() -> None:
    with pytest.raises(InvalidInput, match="at most 64"):
        parse_query("word " * 65)


@examples(300)
@given(st.text(alphabet=st.sampled_from("ab'\"-\\:*()^&|!<> \0\ud800é東_%NOTANDOR")))
def test_whatever_is_typed_is_a_query_or_asks_for_nothing(asked: str) -> None:
    try:
        query = parse_query(asked)
    except InvalidInput:
        return
    assert all(words_of(" ".join(words)) == list(words) for words in query.wanted)


def test_words_are_cut_where_no_index_takes_more() -> None:
    assert words_of("x" * 100_000) == ["x" * 64]
    assert len(" ".join(words_of("\ufdfa" * 80_000)).encode()) <= 256 * 1024


alphabet = st.sampled_from(
    ["a", "b", "B", "é", "e\u0301", "ß", "東", "京", "ก", " ", " ", "-", "1", "_", "\0"]
)
texts = st.lists(alphabet, min_size=1, max_size=12).map("".join)


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Any:
    opened = [open_(tmp_path_factory.mktemp(name)) for name, open_ in ROW_STORES.items()]
    yield opened
    for store in opened:
        store.close()


@examples(60)
@given(said=st.lists(texts, min_size=1, max_size=6), asked=texts, other=texts, unwanted=texts)
def test_every_database_finds_the_same_and_what_a_plain_search_finds(
    stores: Sequence[RowStore], said: list[str], asked: str, other: str, unwanted: str
) -> None:
    log, conversation = Memory(), uuid4()
    log.append([appending(conversation, *map(prompt, said))])
    for typed in (asked, f'"{asked} {other}"', f"{asked} {other} -{unwanted}"):
        try:
            query = parse_query(typed)
        except InvalidInput:
            continue
        expected = [
            version
            for version, text in reversed(list(enumerate(said, 1)))
            if all(_has(text, words) for words in query.wanted)
            and not any(_has(text, words) for words in query.unwanted)
        ]
        for rows in stores:
            rows.step(SEARCH, everything(log))
            hits = found(rows, typed, conversation_id=str(conversation))
            assert [each.version for each in hits] == expected
            rows.forget(SEARCH, conversation)


def _has(text: str, words: tuple[str, ...]) -> bool:
    return f" {' '.join(words)} " in f" {' '.join(words_of(text))} "


@examples(25)
@given(st.data())
def test_however_a_history_is_cut_into_steps_the_rows_are_the_same(
    stores: Sequence[RowStore], data: st.DataObject
) -> None:
    history = data.draw(histories())
    steps = in_pieces(history, data.draw(pieces(history)))
    for rows in stores:
        at_once = _rows_of(rows, [history])
        assert _rows_of(rows, steps) == at_once
        assert _rows_of(rows, [[event] for event in history]) == at_once


def _rows_of(rows: RowStore, steps: Sequence[Sequence[RecordedEvent]]) -> list[list[Hit]]:
    for events_of_step in steps:
        assert rows.step(SEARCH, events_of_step) == []
    asked = ("hello", "c1", "word", "web", "look", "long", "timer", "a", "pdf", "字", "note")
    shown = [found(rows, words) for words in asked]
    for conversation_id in {event.conversation_id for step in steps for event in step}:
        rows.forget(SEARCH, conversation_id)
    return shown


def test_a_row_has_a_conversation(told: Told) -> None:
    told.happen(prompt("hello"))
    assert told.find("hello")[0].conversation_id == UUID(str(told.conversation))
