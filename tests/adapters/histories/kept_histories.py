"""Histories as other programs keep them, and what a store holds after taking them in."""

import json
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch
from uuid import UUID

import onrecord
from onrecord.adapters.histories.foreign_history import Doubt, History
from onrecord.adapters.histories.intake import SOURCES, TakenIn, key_of, take_in
from onrecord.adapters.histories.json_files import transcribe
from onrecord.adapters.store import Store
from onrecord.domain.events import Event
from onrecord.projections.api import known_api

ANTHROPIC: list[dict[str, Any]] = [
    {"role": "user", "content": [{"type": "text", "text": "What is the weather?"}]},
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "Look it up.", "signature": "c2ln"},
            {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"in": "Oslo"}},
        ],
    },
    {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "Rain"}],
    },
    {"role": "assistant", "content": [{"type": "text", "text": "It rains."}]},
    {"role": "user", "content": [{"type": "text", "text": "And tomorrow?"}]},
]
CHAT: list[dict[str, Any]] = [
    {"role": "developer", "content": "Be brief."},
    {"role": "user", "content": "What is the weather?"},
    {
        "role": "assistant",
        "content": None,
        "refusal": None,
        "tool_calls": [
            {
                "id": "call_1",
                "type": "function",
                "function": {"name": "weather", "arguments": '{"in": "Oslo"}'},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "call_1", "content": "Rain"},
    {"role": "assistant", "content": "It rains."},
    {"role": "user", "name": "ann", "content": [{"type": "text", "text": "And tomorrow?"}]},
]
RESPONSES: list[dict[str, Any]] = [
    {"role": "user", "content": [{"type": "input_text", "text": "What is the weather?"}]},
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2ln"},
    {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "call_1",
        "name": "weather",
        "arguments": '{"in": "Oslo"}',
    },
    {"type": "function_call_output", "call_id": "call_1", "output": "Rain"},
    {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "It rains.", "annotations": []}],
    },
    {"role": "user", "content": [{"type": "input_text", "text": "And tomorrow?"}]},
]
OLLAMA: list[dict[str, Any]] = [
    {"role": "user", "content": "What is the weather?", "images": ["iVBORw0KGgo="]},
    {
        "role": "assistant",
        "content": "",
        "thinking": "Look it up.",
        "tool_calls": [{"function": {"name": "weather", "arguments": {"in": "Oslo"}}}],
    },
    {"role": "tool", "tool_name": "weather", "content": "Rain"},
    {"role": "assistant", "content": "It rains."},
    {"role": "user", "content": "And tomorrow?"},
]
GEMINI: list[dict[str, Any]] = [
    {"role": "user", "parts": [{"text": "What is the weather?"}]},
    {
        "role": "model",
        "parts": [
            {"text": "Look it up.", "thought": True},
            {
                "functionCall": {"name": "weather", "args": {"in": "Oslo"}},
                "thoughtSignature": "c2ln",
            },
        ],
    },
    {
        "role": "user",
        "parts": [{"functionResponse": {"name": "weather", "response": {"result": "Rain"}}}],
    },
    {"role": "model", "parts": [{"text": "It rains."}]},
    {"role": "user", "parts": [{"text": "And tomorrow?"}]},
]
BEDROCK: list[dict[str, Any]] = [
    {"role": "user", "content": [{"text": "What is the weather?"}]},
    {
        "role": "assistant",
        "content": [{"toolUse": {"toolUseId": "t_1", "name": "weather", "input": {"in": "Oslo"}}}],
    },
    {
        "role": "user",
        "content": [{"toolResult": {"toolUseId": "t_1", "content": [{"text": "Rain"}]}}],
    },
    {"role": "assistant", "content": [{"text": "It rains."}]},
    {"role": "user", "content": [{"text": "And tomorrow?"}]},
]
WHOLE = {
    "anthropic-messages": ANTHROPIC,
    "openai-chat": CHAT,
    "openai-responses": RESPONSES,
    "ollama": OLLAMA,
    "gemini": GEMINI,
    "bedrock-converse": BEDROCK,
}
APIS = tuple(WHOLE)
BESIDE: dict[str, dict[str, Any]] = {
    "bedrock-converse": {
        "toolConfig": {
            "tools": [
                {"toolSpec": {"name": "weather", "inputSchema": {"json": {"type": "object"}}}}
            ]
        }
    }
}
"""What an API wants beside these messages: Bedrock takes no call of a tool that is not defined."""


def memory() -> Store:
    """A new store that gives the same ids as any other of these."""
    with patch(
        "onrecord.adapters.storage.memory.memory.new_digest_key", lambda: b"the key of tests"
    ):
        return onrecord.connect("memory://")


def history(api: str, messages: Sequence[dict[str, Any]], **request: Any) -> History:
    """A history of a list of messages, as a file that holds them gives it."""
    return History(
        "the file",
        None,
        partial(transcribe, api, {**request, known_api(api).messages: list(messages)}),
    )


def taken_in(store: Store, api: str, messages: Sequence[dict[str, Any]], **request: Any) -> TakenIn:
    return take_in(store, history(api, messages, **request), "kept")


def all_taken_in(store: Store, api: str, path: Path, base: str = "kept") -> list[TakenIn]:
    found = SOURCES[api](path)
    return [
        take_in(store, each, key_of(each, base, are_several=found.are_several))
        for each in found.read()
    ]


def doubted(api: str, *messages: dict[str, Any]) -> list[tuple[str, str]]:
    """Kind and place of what is dubious in some messages."""
    return [(doubt.kind, doubt.place) for doubt in doubts_in(api, *messages)]


def doubts_in(api: str, *messages: dict[str, Any]) -> tuple[Doubt, ...]:
    done = taken_in(memory(), api, messages)
    assert done.outcome == "recorded", done.why
    return done.doubts


def content_of(store: Store, key: str = "kept") -> list[tuple[UUID, str, bytes | None]]:
    return [(it.event_id, it.type, it.body) for it in store.conversation(key).log.read()]


def contents_of(store: Store) -> dict[str, list[tuple[UUID, str, bytes | None]]]:
    """What all conversations of a store hold, by key."""
    keys = [listed.key for listed in store.conversations()]
    return {key: content_of(store, key) for key in keys if key is not None}


def events_of(store: Store, key: str = "kept") -> list[Event]:
    return [recorded.event() for recorded in store.conversation(key).log.read()]  # type: ignore[misc]


def written(path: Path, value: object) -> Path:
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def lines_written(path: Path, values: Iterable[object]) -> Path:
    path.write_text("".join(json.dumps(value) + "\n" for value in values), encoding="utf-8")
    return path


def database(path: Path, schema: str, **rows: list[tuple[object, ...]]) -> Path:
    """A SQLite file with a schema and the rows of its tables."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(schema)
        for table, held in rows.items():
            marks = ", ".join("?" * len(held[0]))
            connection.executemany(f"INSERT INTO {table} VALUES ({marks})", held)
        connection.commit()
    return path
