"""Front ends of the Vercel AI SDK and of AG-UI keep their conversations in our store, by pydantic-ai."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.ui.ag_ui import AGUIAdapter
from pydantic_ai.ui.vercel_ai import VercelAIAdapter
from starlette.requests import Request

import onrecord
from onrecord.frameworks.pydantic_ai import OnrecordConversationStore
from tests.frameworks.processes import run_apart


async def reply(messages: list[ModelMessage], _: AgentInfo) -> AsyncIterator[str]:
    yield f"answer {len(messages)}"


def text_of(message: ModelMessage) -> str:
    return "".join(str(getattr(part, "content", "")) for part in message.parts)


def chat_body(text: str, message_id: str, trigger: str = "submit-message") -> dict[str, Any]:
    """What `useChat` posts: the chat, its last message, and why."""
    message = {"id": message_id, "role": "user", "parts": [{"type": "text", "text": text}]}
    return {"id": "chat-1", "messages": [message], "trigger": trigger, "messageId": message_id}


def agent_body(text: str, message_id: str) -> dict[str, Any]:
    """What a client of AG-UI posts."""
    return {
        "threadId": "chat-1",
        "runId": f"run-{message_id}",
        "state": {},
        "messages": [{"id": message_id, "role": "user", "content": text}],
        "tools": [],
        "context": [],
        "forwardedProps": {},
    }


ADAPTERS: dict[str, Any] = {"vercel": VercelAIAdapter, "ag-ui": AGUIAdapter}


def post(folder: Path, adapter: str, body: dict[str, Any], scope: str = "ana") -> tuple[int, str]:
    """Post a body as a process of its own would: with a store, an agent and an event loop of its own."""
    with onrecord.connect(f"sqlite:///{folder / 'log.db'}", actor="eve") as store:
        return asyncio.run(_answer(OnrecordConversationStore(store), adapter, body, scope))


async def _answer(
    conversations: OnrecordConversationStore, adapter: str, body: dict[str, Any], scope: str
) -> tuple[int, str]:
    sent = json.dumps(body).encode()
    headers = [(b"content-type", b"application/json"), (b"accept", b"text/event-stream")]
    asked = {"type": "http", "method": "POST", "path": "/", "query_string": b"", "headers": headers}

    waiting = [{"type": "http.request", "body": sent, "more_body": False}]

    async def receive() -> dict[str, Any]:
        if not waiting:
            await asyncio.Event().wait()  # The client stays until it has the answer.
        return waiting.pop()

    response = await ADAPTERS[adapter].dispatch_request(
        Request(asked, receive),
        agent=Agent(FunctionModel(stream_function=reply)),
        conversation_store=conversations,
        conversation_scope=scope,
    )
    chunks: list[bytes] = []
    status: list[int] = []

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            status.append(message["status"])
        chunks.append(message.get("body", b""))

    await response(asked, receive, send)
    return status[0], b"".join(chunks).decode()


def history(folder: Path) -> list[str]:
    with onrecord.connect(f"sqlite:///{folder / 'log.db'}", actor="eve") as store:
        loaded = asyncio.run(OnrecordConversationStore(store).load("chat-1", scope="ana"))
    return [] if loaded is None else [text_of(message) for message in loaded.messages]


def _must_post(folder: Path, adapter: str, body: dict[str, Any]) -> None:
    status, _ = post(folder, adapter, body)
    assert status == 200


@pytest.mark.parametrize(
    ("adapter", "body_of"), [("vercel", chat_body), ("ag-ui", agent_body)], ids=["vercel", "ag-ui"]
)
def test_a_front_end_goes_on_with_another_process(
    tmp_path: Path, adapter: str, body_of: Any
) -> None:
    status, streamed = post(tmp_path, adapter, body_of("Where is NW-1?", "m1"))
    assert (status, "answer" in streamed) == (200, True)
    run_apart(partial(_must_post, tmp_path, adapter, body_of("Sure?", "m2")))
    assert history(tmp_path) == ["Where is NW-1?", "answer 1", "Sure?", "answer 3"]


def ids(folder: Path) -> tuple[list[str], list[str]]:
    """Return the ids of the entries of the chat, and of what it branched off."""
    with onrecord.connect(f"sqlite:///{folder / 'log.db'}", actor="eve") as store:
        conversations = OnrecordConversationStore(store)
        entries = asyncio.run(conversations.load_entries("chat-1", scope="ana")) or []
        record = asyncio.run(conversations.read_record("chat-1"))
        assert record is not None
        left = [asyncio.run(conversations.read_entry(branch)) for branch in record.branches]
    return [entry.id for entry in entries], [entry.id for entry in left]


@pytest.mark.parametrize("trigger", ["regenerate-message", "submit-message"])
def test_an_answer_that_is_asked_for_again_in_another_process_branches_off_the_first_one(
    tmp_path: Path, trigger: str
) -> None:
    post(tmp_path, "vercel", chat_body("Where is NW-1?", "m1"))
    post(tmp_path, "vercel", chat_body("Sure?", "m2"))
    first, _ = ids(tmp_path)
    # An edit is the same with other words: the message that is in the chat is submitted again.
    text = "Sure?" if trigger == "regenerate-message" else "Is it?"
    run_apart(partial(_must_post, tmp_path, "vercel", chat_body(text, "m2", trigger)))
    assert history(tmp_path) == ["Where is NW-1?", "answer 1", text, "answer 3"]
    again, left = ids(tmp_path)
    assert again[:2] == first[:2]
    assert set(again[2:]).isdisjoint(first)
    assert left == first[-1:]


def test_an_answer_to_a_message_that_the_store_has_not_is_not_asked_for_again(
    tmp_path: Path,
) -> None:
    post(tmp_path, "vercel", chat_body("Where is NW-1?", "m1"))
    _, streamed = post(tmp_path, "vercel", chat_body("Sure?", "m9", "regenerate-message"))
    assert '"type":"error"' in streamed
    assert history(tmp_path) == ["Where is NW-1?", "answer 1"]


def test_a_chat_of_another_scope_is_not_reached(tmp_path: Path) -> None:
    post(tmp_path, "vercel", chat_body("secret", "m1"))
    status, streamed = post(tmp_path, "vercel", chat_body("mine", "m2"), scope="eve")
    assert (status, "secret" in streamed) == (404, False)
    assert history(tmp_path) == ["secret", "answer 1"]
