"""Databases of other programs: sessions of the OpenAI Agents SDK, and the log of `llm`."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from onrecord.adapters.histories.foreign_history import microseconds
from onrecord.adapters.histories.intake import SOURCES
from onrecord.adapters.store import Store
from onrecord.domain import events
from onrecord.domain.content import Document, Reasoning, Text, ToolCall, ToolResult
from onrecord.domain.errors import InvalidInput
from onrecord.domain.header import timestamp
from onrecord.domain.tools import ToolDefinition, tools_digest
from tests.adapters.histories import llm_log
from tests.adapters.histories.kept_histories import (
    APIS,
    RESPONSES,
    all_taken_in,
    contents_of,
    database,
    events_of,
    memory,
)

SESSIONS = """
CREATE TABLE agent_sessions (
    session_id TEXT PRIMARY KEY,
    created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
    updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP
);
CREATE TABLE agent_messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL,
    message_data TEXT NOT NULL,
    created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP
);
"""
BRANCHES = (
    SESSIONS
    + """
CREATE TABLE message_structure (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL,
    message_id INTEGER NOT NULL,
    branch_id TEXT NOT NULL DEFAULT 'main',
    sequence_number INTEGER NOT NULL
);
"""
)
WHEN = "2026-11-20 21:00:00"


@pytest.fixture
def store() -> Store:
    return memory()


def rows(session: str, *items: Any, first: int = 1) -> list[tuple[object, ...]]:
    return [(at, session, json.dumps(item), WHEN) for at, item in enumerate(items, first)]


def test_each_session_is_a_conversation(store: Store, tmp_path: Path) -> None:
    messages = [*rows("b", *RESPONSES), *rows("a", RESPONSES[0], first=9)]
    path = database(tmp_path / "s.db", SESSIONS, agent_messages=messages)
    done = all_taken_in(store, "openai-agents-session", path)
    assert [(it.key, it.outcome) for it in done] == [("kept/b", "recorded"), ("kept/a", "recorded")]
    request = store.conversation("kept/b").request("openai-responses")
    assert request["input"] == RESPONSES


def test_events_have_the_times_of_their_items(store: Store, tmp_path: Path) -> None:
    path = database(tmp_path / "s.db", SESSIONS, agent_messages=rows("a", *RESPONSES))
    all_taken_in(store, "openai-agents-session", path)
    headers = [it.client_header() for it in store.conversation("kept/a").log.read()]
    assert {timestamp(it.occurred_at) for it in headers} == {"2026-11-20T21:00:00.000000Z"}
    assert {it.metadata["source"] for it in headers} == {"import"}


def test_a_session_that_went_on_is_extended(store: Store, tmp_path: Path) -> None:
    path = database(tmp_path / "s.db", SESSIONS, agent_messages=rows("a", *RESPONSES[:4]))
    all_taken_in(store, "openai-agents-session", path)
    with closing(sqlite3.connect(path)) as connection:
        later = rows("a", *RESPONSES[4:], first=5)
        connection.executemany("INSERT INTO agent_messages VALUES (?, ?, ?, ?)", later)
        connection.commit()
    for outcome, recorded in (("extended", 2), ("unchanged", 0)):
        (done,) = all_taken_in(store, "openai-agents-session", path)
        assert (done.outcome, done.recorded) == (outcome, recorded)


def test_each_branch_of_a_session_is_a_conversation(store: Store, tmp_path: Path) -> None:
    other = {"role": "user", "content": "Another question"}
    path = database(
        tmp_path / "s.db",
        BRANCHES,
        agent_messages=[
            *rows("a", *RESPONSES),
            *rows("a", other, first=7),
            *rows("plain", other, first=8),
        ],
        message_structure=[
            *((at, "a", at, "main", at) for at in range(1, 7)),
            (7, "a", 1, "edited", 1),
            (8, "a", 7, "edited", 2),
        ],
    )
    done = all_taken_in(store, "openai-agents-session", path)
    assert [it.key for it in done] == ["kept/a", "kept/a/edited", "kept/plain"]
    main = store.conversation("kept/a").request("openai-responses")["input"]
    edited = store.conversation("kept/a/edited").request("openai-responses")["input"]
    assert main == RESPONSES
    assert len(events_of(store, "kept/a/edited")) == 3
    assert edited[0] == RESPONSES[0]


def test_rows_that_are_no_json_are_passed_over_and_said(store: Store, tmp_path: Path) -> None:
    messages = [*rows("a", RESPONSES[0]), (2, "a", "{cut", WHEN), (3, "a", "3", WHEN)]
    path = database(tmp_path / "s.db", SESSIONS, agent_messages=messages)
    (done,) = all_taken_in(store, "openai-agents-session", path)
    assert [(it.kind, it.place) for it in done.doubts] == [
        ("left out", "row 2"),
        ("left out", "row 3"),
    ]


def test_an_encrypted_session_is_refused(store: Store, tmp_path: Path) -> None:
    item = {"__enc__": 1, "v": 1, "kid": "x", "payload": "y"}
    path = database(tmp_path / "s.db", SESSIONS, agent_messages=rows("a", item))
    (done,) = all_taken_in(store, "openai-agents-session", path)
    assert done.outcome == "refused"
    assert "encrypted" in (done.why or "")


@pytest.mark.parametrize("api", ["openai-agents-session", "simonw-llm"])
def test_what_is_no_such_database_is_an_error(tmp_path: Path, api: str) -> None:
    text = tmp_path / "text.db"
    text.write_text("no database" * 1000, encoding="utf-8")
    other = database(tmp_path / "other.db", "CREATE TABLE x (y);", x=[(1,)])
    for path in (text, other):
        with pytest.raises(InvalidInput, match="the file is no"):
            SOURCES[api](path)


def test_a_database_is_not_written(store: Store, tmp_path: Path) -> None:
    path = llm_log.threads(tmp_path / "logs.db")
    before = path.read_bytes()
    all_taken_in(store, "simonw-llm", path)
    assert path.read_bytes() == before
    assert [it.name for it in tmp_path.iterdir()] == ["logs.db"]


def test_a_thread_of_llm_is_a_conversation_in_neutral_form(store: Store, tmp_path: Path) -> None:
    (done,) = all_taken_in(store, "simonw-llm", llm_log.threads(tmp_path / "logs.db"))
    assert (done.key, done.outcome, done.events) == ("kept/t1", "recorded", 12)
    _, tools, instructions, asked, thought, called, first, given, more, said, sung, last = (
        events_of(store, "kept/t1")
    )
    tool = ToolDefinition(name="weather", description="Tells it.", input_schema={"type": "object"})
    assert tools == events.ToolsDeclared(tools=(tool,), sha256=tools_digest((tool,)))
    assert instructions == events.InstructionsSet(content="Be brief.")
    assert isinstance(asked, events.MessageRecorded)
    text, picture, gone = asked.content
    assert text == Text(text="A LONG TEXT?")
    assert isinstance(picture, Document)
    assert picture.blob is not None
    assert store.conversation("kept/t1").blob(picture.blob) == llm_log.PNG
    assert gone.kind == "native"
    assert isinstance(thought, events.ReasoningRecorded)
    assert thought.content == Reasoning(text="Look.")
    assert isinstance(called, events.ToolCallRecorded)
    assert called.content == ToolCall(id="c1", name="weather", arguments={"in": "Oslo"})
    assert isinstance(given, events.ToolResultRecorded)
    assert given.content == ToolResult(
        call_id="c1", content=(Text(text="No"), picture), is_error=True
    )
    assert more == events.MessageRecorded(role="user", content=(Text(text="And?"),))
    assert isinstance(said, events.MessageRecorded)
    assert said.content == (Text(text="It rains."),)
    assert isinstance(sung, events.OpaqueRecorded)
    assert isinstance(first, events.ResponseCompleted)
    assert isinstance(last, events.ResponseCompleted)
    assert (first.model, first.input_tokens, last.model) == ("m", 10, "m-1")
    assert first.envelope["response"] == {"id": "r"}
    assert {"a": {"signature": "s"}} in [
        it.get("provider_metadata") for it in first.envelope["parts"]
    ]
    assert {"E: x"} <= {it.get("exception") for it in last.envelope["parts"]}


def test_what_an_attachment_had_only_on_another_machine_is_said(
    store: Store, tmp_path: Path
) -> None:
    (done,) = all_taken_in(store, "simonw-llm", llm_log.threads(tmp_path / "logs.db"))
    kinds = sorted((it.kind, it.place) for it in done.doubts)
    assert kinds == [("left out", "turn u1"), ("opaque", "turn u1"), ("opaque", "turn u2")]


def test_events_of_llm_have_the_times_of_their_turns(store: Store, tmp_path: Path) -> None:
    all_taken_in(store, "simonw-llm", llm_log.threads(tmp_path / "logs.db"))
    recorded = list(store.conversation("kept/t1").log.read())
    asked, later = microseconds(llm_log.ASKED), microseconds(llm_log.LATER)
    assert [it.client_header().occurred_at for it in recorded] == [asked] * 7 + [later] * 5


def test_a_thread_that_went_on_is_extended(store: Store, tmp_path: Path) -> None:
    all_taken_in(store, "simonw-llm", llm_log.threads(tmp_path / "a.db", tip="m3"))
    path = llm_log.threads(tmp_path / "b.db")
    for outcome, recorded in (("extended", 5), ("unchanged", 0)):
        (done,) = all_taken_in(store, "simonw-llm", path)
        assert (done.outcome, done.recorded) == (outcome, recorded)
    clean = memory()
    all_taken_in(clean, "simonw-llm", path)
    assert contents_of(store) == contents_of(clean)


def test_conversations_from_before_there_were_threads_are_read_as_well(
    store: Store, tmp_path: Path
) -> None:
    done = all_taken_in(store, "simonw-llm", llm_log.responses(tmp_path / "logs.db"))
    assert [it.key for it in done] == ["kept/k1", "kept/r3"]
    request = store.conversation("kept/k1").request("anthropic-messages")
    assert request["system"] == "Be kind.\n\nBe brief."
    asked, called, given, said = request["messages"]
    assert [it["type"] for it in asked["content"]] == ["text", "document"]
    assert asked["content"][0]["text"] == "A LONG TEXT\nWhat?"
    assert [it["type"] for it in called["content"]] == ["text", "tool_use"]
    assert given["content"][0]["tool_use_id"] == called["content"][1]["id"]
    assert said["content"] == [{"type": "text", "text": "It rains."}]
    assert all(it.doubts == () for it in done)


def test_a_log_of_the_oldest_releases_has_fewer_tables(store: Store, tmp_path: Path) -> None:
    asked = ("r1", "m", "What?", None, "{}", "That.", None, "k1", llm_log.ASKED)
    path = database(tmp_path / "logs.db", llm_log.OLDEST, responses=[asked])
    (done,) = all_taken_in(store, "simonw-llm", path)
    assert (done.key, done.events) == ("kept/k1", 4)


def test_a_conversation_that_goes_on_as_a_thread_is_there_once(
    store: Store, tmp_path: Path
) -> None:
    path = llm_log.threads(tmp_path / "logs.db")
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(llm_log.OLDEST)
        row = ("r1", "m", "What?", None, "{}", "That.", None, "t1", llm_log.ASKED)
        connection.execute("INSERT INTO responses VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        connection.commit()
    assert [it.key for it in all_taken_in(store, "simonw-llm", path)] == ["kept/t1"]


def test_a_thread_that_lacks_a_text_is_refused_and_others_are_not(
    store: Store, tmp_path: Path
) -> None:
    path = llm_log.threads(tmp_path / "logs.db")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DELETE FROM fragments")
        connection.execute("INSERT INTO messages VALUES ('n1', NULL, 'user', NULL)")
        connection.execute("INSERT INTO parts VALUES (20, 'n1', 0, 'text', NULL, 'Hi', NULL)")
        connection.execute("INSERT INTO threads VALUES ('t2', 'n1')")
        connection.commit()
    done = all_taken_in(store, "simonw-llm", path)
    assert [(it.key, it.outcome) for it in done] == [
        ("kept/t1", "refused"),
        ("kept/t2", "recorded"),
    ]
    assert "fragment 1 is missing" in (done[0].why or "")


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("log", [llm_log.threads, llm_log.responses])
def test_what_llm_kept_goes_to_any_api(store: Store, tmp_path: Path, api: str, log: Any) -> None:
    first, *_ = all_taken_in(store, "simonw-llm", log(tmp_path / "logs.db"))
    spelled = json.dumps(store.conversation(first.key).request(api).body)
    assert all(said in spelled for said in ("A LONG TEXT", "Oslo", "It rains."))


@pytest.mark.parametrize("is_open", [False, True])
def test_nothing_is_written_beside_a_file_with_a_write_ahead_log(
    tmp_path: Path, is_open: bool
) -> None:
    columns = "id INTEGER PRIMARY KEY, session_id, message_data, created_at"
    schema = f"PRAGMA journal_mode=WAL; CREATE TABLE agent_messages ({columns})"
    path = database(tmp_path / "odd name #1?.db", schema)
    with closing(sqlite3.connect(path)) as writer:
        item = json.dumps({"role": "user", "content": "Hello"})
        writer.execute("INSERT INTO agent_messages VALUES (1, 's', ?, NULL)", (item,))
        writer.commit()
        if not is_open:
            writer.close()
        before = {it.name: it.read_bytes() for it in tmp_path.iterdir()}
        assert len(before) == (3 if is_open else 1)
        done = all_taken_in(memory(), "openai-agents-session", path)
        assert {it.name: it.read_bytes() for it in tmp_path.iterdir()} == before
    assert [(it.outcome, it.events) for it in done] == [("recorded", 2)]
