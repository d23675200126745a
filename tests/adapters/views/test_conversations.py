"""The view of conversations: a row each, for lists of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from onrecord.adapters.storage.memory.memory import Memory
from onrecord.domain import events
from onrecord.domain.content import Document, Native, Text
from onrecord.domain.log import RecordedEvent
from onrecord.domain.request_template import Template
from onrecord.projections.views.conversations import CONVERSATIONS, MOST_NAMES, overview
from onrecord.projections.views.view import Row
from tests.adapters.views.histories import Happening, check_steps, histories, pieces, recorded
from tests.adapters.views.row_stores import RowStore, everything, in_pieces
from tests.factories import TENANT, answer, appending, prompt, started, tool_call, tool_result
from tests.search import examples

GENERATIONS = count(10)
TEMPLATE = Template(spans=(), sha256="0" * 64, size=0)


def row_of(rows: RowStore, *happened: Any) -> Row:
    """The row of a conversation in which this happened."""
    history = recorded(Happening(0, event, None, 0) for event in happened)
    assert rows.step(CONVERSATIONS, history) == []
    (row,) = rows.page(CONVERSATIONS, history[0].client_header().tenant)
    return row


def on_a_side_line(event: Any) -> Any:
    return event.model_copy(update={"line": UUID(int=7)})


def test_a_conversation_is_told_at_a_glance(rows: RowStore) -> None:
    asked = events.RequestSent(api="gemini", endpoint="/", model="gemini-3", template=TEMPLATE)
    ended = events.ResponseCompleted(
        response=uuid4(),
        api="gemini",
        model="gemini-3-001",
        envelope={},
        input_tokens=7,
        output_tokens=3,
    )
    row = row_of(rows, started(), prompt(), asked, answer(), tool_call("c1"), ended)
    told = overview(row)
    assert (told.key, told.title) == ("support/4711", "What does the report say?")
    assert (told.user_messages, told.assistant_messages, told.tool_calls) == (1, 1, 1)
    assert (told.responses, told.input_tokens, told.output_tokens) == (1, 7, 3)
    assert (told.providers, told.models) == (("gemini",), ("gemini-3", "gemini-3-001"))
    assert (told.version, told.exchanges, told.closed, told.origin) == (6, 1, False, None)


@pytest.mark.parametrize(
    ("said", "title"),
    [
        ("  \n\n Say it. \r\nAnd more.", "Say it."),
        ("word " * 100, "word " * 15 + "word…"),
        ("x" * 200, "x" * 79 + "…"),
        ("tab\tand  blanks", "tab and blanks"),
        ("a\0b\ud800c", "a\ufffdb?c"),
        ("問" * 300, "問" * 79 + "…"),
        ("long " * 400_000, "long " * 15 + "long…"),
    ],
)
def test_a_title_is_the_first_line_of_the_first_prompt(
    rows: RowStore, said: str, title: str
) -> None:
    assert row_of(rows, started(), prompt(said), prompt("later"))["title"] == title


def test_prompts_without_words_leave_the_title_to_the_next(rows: RowStore) -> None:
    shown = Document(media_type="text/plain", url="https://example.org/a")
    wordless = events.MessageRecorded(role="user", content=(shown, Text(text=" \n")))
    row = row_of(rows, started(), wordless, prompt("hello"))
    assert (row["title"], row["documents"]) == ("hello", 1)


@pytest.mark.parametrize(
    ("api", "value"),
    [
        ("anthropic-messages", {"type": "text", "text": "hello", "cache_control": None}),
        ("openai-chat", {"role": "user", "content": [{"type": "text", "text": "hello"}]}),
        ("openai-responses", {"type": "input_text", "text": "hello"}),
        ("gemini", {"text": "hello", "partMetadata": {"a": 1}}),
        ("ollama", {"role": "user", "content": "hello", "images": ["iVBORw0KGgo="]}),
        ("bedrock-converse", {"guardContent": {"text": {"text": "hello"}}}),
    ],
)
def test_a_prompt_in_the_spelling_of_an_api_gives_the_title(
    rows: RowStore, api: str, value: dict[str, Any]
) -> None:
    said = events.MessageRecorded(role="user", content=(Native(api=api, value=value),))
    assert row_of(rows, said)["title"] == "hello"


def test_side_lines_and_other_speakers_give_no_title(rows: RowStore) -> None:
    row = row_of(rows, on_a_side_line(prompt("aside")), answer("I answer"), prompt("hello"))
    assert (row["title"], row["user_messages"]) == ("hello", 2)


def test_no_prompt_takes_the_place_of_a_title_that_was_redacted(rows: RowStore) -> None:
    row = row_of(
        rows, started(), prompt("secret"), events.ContentRedacted(version=2), prompt("later")
    )
    assert row["title"] is None


def test_redacting_another_event_leaves_the_title(rows: RowStore) -> None:
    said = (started(), prompt("hello"), prompt("secret"), events.ContentRedacted(version=3))
    assert row_of(rows, *said)["title"] == "hello"


def test_a_conversation_that_goes_back_keeps_its_title_and_counts(rows: RowStore) -> None:
    back = events.LineAdopted(after=1)
    row = row_of(rows, started(), prompt("first"), answer(), back, prompt("edited"), answer())
    assert (row["title"], row["user_messages"], row["assistant_messages"]) == ("first", 2, 2)


def test_what_did_not_end_is_told_apart(rows: RowStore) -> None:
    told = {"response": uuid4(), "api": "openai-responses", "input_tokens": 5}
    cut = events.ResponseInterrupted.model_validate({**told, "reason": "cut"})
    deferred = events.ResponseInterrupted.model_validate(
        {**told, "response": uuid4(), "reason": "deferred"}
    )
    failed = events.AttemptFailed(request=uuid4(), status=529)
    row = row_of(rows, cut, deferred, failed, failed)
    assert (row["responses"], row["interrupted"], row["failed"]) == (0, 1, 2)
    assert row["input_tokens"] == 10


def test_rejected_and_late_results_count_nothing_but_time(rows: RowStore) -> None:
    rejected = events.ToolResultRejected.model_validate(
        {**tool_result("c1").model_dump(exclude={"call", "cancelled"}), "reason": "duplicate"}
    )
    before = row_of(rows, started(), tool_call("c1"), tool_result("c1"))
    history = recorded(
        Happening(0, event, None, 0)
        for event in (started(), tool_call("c1"), tool_result("c1"), rejected, tool_result("c9"))
    )
    rows.step(CONVERSATIONS, history, generation=2)
    (after,) = rows.page(CONVERSATIONS, TENANT, generation=2)
    same = set(before) - {"conversation_id", "version", "last_position"}
    assert {name: before[name] for name in same} == {name: after[name] for name in same}
    assert after["version"] == 5


def test_a_fork_names_its_origin_and_a_closed_conversation_is_closed(rows: RowStore) -> None:
    origin = uuid4()
    forked = events.ConversationForked(origin=origin, version=3)
    told = overview(row_of(rows, started(), forked, events.ConversationEnded()))
    assert (told.origin, told.closed) == (origin, True)


def test_the_end_of_a_side_line_closes_nothing(rows: RowStore) -> None:
    row = row_of(rows, started(), on_a_side_line(events.ConversationEnded()))
    assert row["closed"] is False


def test_the_participants_are_sorted_and_not_too_many(rows: RowStore) -> None:
    actors = [f"{number:032x}" for number in range(MOST_NAMES + 10)]
    history = recorded(Happening(0, prompt(), actor, 0) for actor in reversed(actors))
    for event in history:
        assert rows.step(CONVERSATIONS, [event]) == []
    (row,) = rows.page(CONVERSATIONS, TENANT)
    assert row["participants"] == actors[:MOST_NAMES]


def test_counts_that_can_be_none_are_not_added_and_sums_stay_exact(rows: RowStore) -> None:
    def ended(tokens: int) -> events.ResponseCompleted:
        return events.ResponseCompleted(
            response=uuid4(), api="a", envelope={}, input_tokens=tokens, output_tokens=-tokens
        )

    row = row_of(rows, ended(2**53 - 2), ended(2**64), ended(5))
    assert (row["input_tokens"], row["output_tokens"]) == (2**53 - 1, 0)


def test_a_forgotten_conversation_has_no_row(rows: RowStore) -> None:
    log, kept, gone = Memory(), uuid4(), uuid4()
    log.append([appending(kept, started("kept")), appending(gone, started("gone"), prompt())])
    rows.step(CONVERSATIONS, everything(log))
    rows.forget(CONVERSATIONS, gone)
    assert [row["key"] for row in rows.page(CONVERSATIONS, TENANT)] == ["kept"]
    log.forget(gone)
    rows.step(CONVERSATIONS, everything(log), generation=2)
    assert [row["key"] for row in rows.page(CONVERSATIONS, TENANT, generation=2)] == ["kept"]


def test_pages_follow_each_other_by_last_activity(rows: RowStore) -> None:
    log, ids = Memory(), [uuid4() for _ in range(7)]
    for number, conversation in enumerate(ids):
        log.append([appending(conversation, started(f"k{number}"), prompt())])
    log.append([appending(ids[2], answer())])
    rows.step(CONVERSATIONS, everything(log))
    shown: list[str] = []
    after: Row | None = None
    while page := rows.page(CONVERSATIONS, TENANT, limit=3, after=after):
        shown += [row["key"] for row in page]
        after = {"last_position": page[-1]["last_position"]}
    assert shown == ["k2", "k6", "k5", "k4", "k3", "k1", "k0"]


def test_filters_find_what_they_name(rows: RowStore) -> None:
    def used(api: str, model: str) -> events.ResponseCompleted:
        return events.ResponseCompleted(response=uuid4(), api=api, model=model, envelope={})

    history = recorded(
        [
            Happening(0, started("a"), "ann", 0),
            Happening(0, used("gemini", "g-3"), "ann", 10),
            Happening(1, started("b"), "bob", 10),
            Happening(1, used("ollama", "llama"), "ann", 10),
            Happening(1, events.ConversationEnded(), None, 10),
        ]
    )
    rows.step(CONVERSATIONS, history)

    def keys(**filters: Any) -> list[str]:
        return [row["key"] for row in rows.page(CONVERSATIONS, TENANT, **filters)]

    assert keys() == ["b", "a"]
    assert keys(key="a") == ["a"]
    assert keys(conversation_id=str(history[0].conversation_id)) == ["a"]
    assert keys(actor="ann") == ["b", "a"]
    assert keys(actor="bob") == ["b"]
    assert keys(provider="gemini") == ["a"]
    assert keys(model="llama") == ["b"]
    assert keys(closed=True) == ["b"]
    assert keys(closed=False) == ["a"]
    assert keys(since=history[-1].recorded_at) == ["b"]
    assert keys(until=history[-1].recorded_at) == ["a"]
    assert rows.page(CONVERSATIONS, uuid4()) == []


@examples(40, [HealthCheck.function_scoped_fixture])
@given(data=st.data(), history=histories())
def test_the_same_rows_come_however_a_history_is_cut(
    rows: RowStore, data: st.DataObject, history: list[RecordedEvent]
) -> None:
    def folded(steps: Sequence[Sequence[RecordedEvent]]) -> list[Row]:
        generation = next(GENERATIONS)
        for step in steps:
            assert rows.step(CONVERSATIONS, step, generation=generation) == []
        return rows.page(CONVERSATIONS, TENANT, generation=generation)

    check_steps(history, in_pieces(history, data.draw(pieces(history))), folded)
