"""Damaged histories: recorded or refused as a whole, with a place; nothing raises, nothing is half."""

import json
import sqlite3
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onrecord.adapters.histories.foreign_history import History
from onrecord.adapters.histories.intake import take_in
from onrecord.adapters.histories.json_files import transcribe
from onrecord.domain.errors import InvalidInput
from onrecord.projections.api import known_api
from tests.adapters.histories import llm_log
from tests.adapters.histories.kept_histories import (
    APIS,
    CHAT,
    RESPONSES,
    WHOLE,
    all_taken_in,
    contents_of,
    database,
    history,
    memory,
)

WORDS = st.sampled_from(["user", "assistant", "tool", "message", "tool_use", "", "c1", "\ud83d"])
NAMES = st.sampled_from(
    [
        *("role", "content", "type", "text", "id", "call_id", "tool_calls", "function", "name"),
        *("arguments", "tool_use_id", "tool_call_id", "input", "output", "summary"),
    ]
)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | WORDS,
    lambda held: st.lists(held, max_size=3) | st.dictionaries(NAMES, held, max_size=4),
    max_leaves=8,
)
TABLES = ("attachments", "fragments", "tools", "messages", "parts", "threads", "turns")
CELLS = st.sampled_from([None, 3, "", "x", "[]", "{}", '{"a', "m1", "m6", b"\xff\xfe", 1.5])


@st.composite
def damaged(draw: st.DrawFn, value: Any) -> Any:
    """A value of JSON, parts of which are others."""
    if draw(st.integers(0, 11)) == 0:
        return draw(JSON)
    match value:
        case {**members}:
            return {name: draw(damaged(held)) for name, held in members.items()}
        case [*items]:
            return [draw(damaged(held)) for held in items]
        case _:
            return value


@given(st.sampled_from(APIS), st.data())
def test_damaged_messages_are_recorded_once_or_refused(api: str, data: st.DataObject) -> None:
    request = {known_api(api).messages: data.draw(damaged(WHOLE[api]))}
    kept = History("the file", None, partial(transcribe, api, request))
    store = memory()
    first = take_in(store, kept, "kept")
    there = contents_of(store)
    again = take_in(store, kept, "kept")
    assert (first.outcome, again.outcome) in {("recorded", "unchanged"), ("refused", "refused")}
    assert len(there) == (first.outcome == "recorded")
    assert contents_of(store) == there
    assert store.verify().faults == ()


@given(st.sampled_from(TABLES), st.integers(0, 7), st.integers(1, 10), CELLS)
def test_a_damaged_log_of_llm_is_recorded_once_or_refused(
    table: str, column: int, row: int, cell: Any
) -> None:
    with TemporaryDirectory() as folder:
        path = llm_log.threads(Path(folder) / "logs.db")
        with closing(sqlite3.connect(path)) as connection, suppress(sqlite3.IntegrityError):
            names = [it[1] for it in connection.execute(f"PRAGMA table_info({table})")]
            name = names[column % len(names)]
            connection.execute(f"UPDATE {table} SET {name} = ? WHERE rowid = ?", (cell, row))
            connection.commit()
        store = memory()
        try:
            first = all_taken_in(store, "simonw-llm", path)
        except InvalidInput:
            return
        there = contents_of(store)
        again = all_taken_in(store, "simonw-llm", path)
        assert [it.recorded for it in again] == [0] * len(first)
        assert contents_of(store) == there


@given(st.lists(CELLS | st.just(json.dumps(RESPONSES[0])), min_size=1, max_size=4), CELLS, CELLS)
def test_a_damaged_session_is_recorded_once_or_refused(
    items: list[Any], session: Any, time: Any
) -> None:
    columns = "id INTEGER PRIMARY KEY, session_id, message_data, created_at"
    schema = f"CREATE TABLE agent_messages ({columns})"
    rows: list[tuple[object, ...]] = [
        (number, session, item, time) for number, item in enumerate(items)
    ]
    with TemporaryDirectory() as folder:
        path = database(Path(folder) / "s.db", schema, agent_messages=rows)
        store = memory()
        first = all_taken_in(store, "openai-agents-session", path)
        there = contents_of(store)
        again = all_taken_in(store, "openai-agents-session", path)
        assert [it.recorded for it in again] == [0] * len(first)
        assert contents_of(store) == there


def test_messages_that_come_before_themselves_are_refused(tmp_path: Path) -> None:
    path = llm_log.threads(tmp_path / "logs.db")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE messages SET parent_hash = 'm6' WHERE hash = 'm1'")
        connection.commit()
    (done,) = all_taken_in(memory(), "simonw-llm", path)
    assert done.outcome == "refused"
    assert "before itself" in (done.why or "")


@pytest.mark.parametrize("cut", range(1, 400, 29))
def test_a_file_that_was_cut_is_an_error(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "chat.json"
    path.write_bytes(json.dumps(CHAT).encode()[:-cut])
    with pytest.raises(InvalidInput):
        all_taken_in(memory(), "openai-chat", path)


@pytest.mark.parametrize("name", ["", "  ", "half \ud83d"])
def test_a_name_that_can_be_no_key_is_refused(name: str) -> None:
    done = take_in(memory(), history("openai-chat", CHAT), name)
    assert done.outcome == "refused"


def test_what_is_nested_too_deeply_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "deep.json"
    path.write_text('[{"role": "user", "content": ' + "[" * 300 + "]" * 300 + "}]", "utf-8")
    with pytest.raises(InvalidInput, match="deep"):
        all_taken_in(memory(), "openai-chat", path)
