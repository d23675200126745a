"""Whatever bytes a file of another program holds: histories that are whole, or a typed error."""

import json
import sqlite3
from contextlib import closing
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from onrecord.adapters.histories.intake import SOURCES
from onrecord.domain.errors import OnrecordError
from tests.adapters.histories import llm_log
from tests.adapters.histories.kept_histories import (
    APIS,
    RESPONSES,
    WHOLE,
    all_taken_in,
    contents_of,
    database,
    memory,
)
from tests.search import examples

SESSION = "id INTEGER PRIMARY KEY, session_id, message_data, created_at"
CONTEXT: dict[str, Any] = {
    "schemaVersion": 1,
    "messages": [
        {"role": "system", "content": [{"type": "text", "text": "Be brief."}]},
        {"role": "user", "content": [{"type": "text", "text": "What is the weather?"}]},
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "I look."}],
            "toolCalls": [{"id": "call_1", "name": "weather", "arguments": {"in": "Oslo"}}],
        },
        {
            "role": "tool_call_result",
            "results": [{"id": "call_1", "name": "weather", "content": "Rain"}],
        },
    ],
}


@cache
def kept(kind: str) -> bytes:
    """A whole file of a kind."""
    if kind == "camunda-agent":
        return json.dumps(CONTEXT).encode()
    if kind in WHOLE:
        return json.dumps(WHOLE[kind], indent=1).encode()
    with TemporaryDirectory() as folder:
        path = Path(folder) / "kept.db"
        if kind == "openai-agents-session":
            rows: list[tuple[object, ...]] = [
                (at, "one", json.dumps(item), "2026-01-02") for at, item in enumerate(RESPONSES)
            ]
            database(path, f"CREATE TABLE agent_messages ({SESSION})", agent_messages=rows)
        else:
            llm_log.threads(path)
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE")
        return path.read_bytes()


@st.composite
def damaged(draw: st.DrawFn, whole: bytes) -> bytes:
    """A file with some of its bytes changed, cut, repeated or moved."""
    data = bytearray(whole)
    for _ in range(draw(st.integers(1, 5))):
        at = draw(st.integers(0, max(0, len(data) - 1)))
        match draw(st.integers(0, 4)):
            case 0:
                data[at : at + 1] = bytes((draw(st.integers(0, 255)),))
            case 1:
                del data[at : at + draw(st.integers(1, 60))]
            case 2:
                data[at:at] = draw(st.binary(max_size=8))
            case 3:
                data[at:at] = data[draw(st.integers(0, at)) : at][:400]
            case _:
                data[at : at + 1] = draw(
                    st.sampled_from([b"null", b"[", b"]", b"{", b'"', b"\\ud83d", b"1e999", b"\n"])
                )
    return bytes(data)


@st.composite
def files(draw: st.DrawFn) -> tuple[str, bytes]:
    kind = draw(st.sampled_from(sorted(SOURCES)))
    return kind, draw(damaged(kept(kind)))


def must_be_taken_or_refused(kind: str, data: bytes, name: str = "kept.json") -> None:
    with TemporaryDirectory() as folder, memory() as store:
        path = Path(folder) / name
        path.write_bytes(data)
        try:
            done = all_taken_in(store, kind, path)
        except OnrecordError:
            return
        finally:
            assert [each.name for each in Path(folder).iterdir()] == [name]
        taken = sum(each.outcome == "recorded" for each in done)
        assert len(contents_of(store)) == taken
        assert store.verify().faults == ()


def test_whole_files_are_taken_in() -> None:
    for kind in SOURCES:
        must_be_taken_or_refused(kind, kept(kind))


@examples(6000)
@given(files())
def test_damaged_files_are_taken_in_or_refused(file: tuple[str, bytes]) -> None:
    must_be_taken_or_refused(*file)


@examples(1000)
@given(st.sampled_from([*APIS, "camunda-agent"]), st.binary(max_size=200), st.booleans())
def test_any_bytes_are_taken_in_or_refused(kind: str, data: bytes, has_lines: bool) -> None:
    must_be_taken_or_refused(kind, data, "kept.jsonl" if has_lines else "kept.json")


VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.sampled_from([0, -1, 10**30, 1e308, "", "user", "assistant", "\ud83d", "x", "\x1b[31m"]),
    lambda held: (
        st.lists(held, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    *("schemaVersion", "messages", "turns", "conversation", "context", "role"),
                    *("content", "type", "text", "toolCalls", "results", "id", "name", "metadata"),
                    *("arguments", "document", "timestamp", "agentContext", "input", "metrics"),
                ]
            ),
            held,
            max_size=4,
        )
    ),
    max_leaves=10,
)


@st.composite
def respelled(draw: st.DrawFn, value: Any) -> Any:
    """A value of JSON, parts of which are others."""
    if draw(st.integers(0, 9)) == 0:
        return draw(VALUES)
    match value:
        case {**members}:
            return {name: draw(respelled(held)) for name, held in members.items()}
        case [*items]:
            return [draw(respelled(held)) for held in items]
        case _:
            return value


@examples(3000)
@given(respelled(CONTEXT))
def test_damaged_contexts_are_taken_in_or_refused(context: Any) -> None:
    must_be_taken_or_refused("camunda-agent", json.dumps(context).encode())
