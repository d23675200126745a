"""kill -9 of a program amid a stream, at each API: the prompt is there, and the chat goes on."""

import json
import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest

import onrecord
from onrecord.adapters.demo.services.connection import Reply
from onrecord.adapters.demo.services.scenes import Stall
from tests.adapters.replaying_server import replaying, streamed
from tests.adapters.sdk_calls import SDKS
from tests.adapters.wire import killed_stream
from tests.adapters.wire.killed_stream import KEY
from tests.patience import PATIENCE

ROOT = Path(__file__).parents[3]
CHUNK: dict[str, Any] = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
CHAT: list[dict[str, Any]] = [
    {**CHUNK, "choices": [{"index": 0, "delta": {"role": "assistant", "content": "It"}}]},
    {**CHUNK, "choices": [{"index": 0, "delta": {"content": " is."}}]},
    {**CHUNK, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
]
RESPONSE: dict[str, Any] = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1,
    "model": "m",
    "output": [],
}
RESPONSES: list[dict[str, Any]] = [
    {"type": "response.created", "sequence_number": 0, "response": RESPONSE},
    {"type": "response.in_progress", "sequence_number": 1, "response": RESPONSE},
    {"type": "response.completed", "sequence_number": 2, "response": RESPONSE},
]
STREAMS: dict[str, tuple[str, Reply]] = {
    "openai-chat": (
        "openai-chat",
        Reply(
            200,
            {"content-type": "text/event-stream"},
            b"".join(b"data: " + json.dumps(each).encode() + b"\n\n" for each in CHAT),
            chunked=True,
        ),
    ),
    "openai-responses": ("openai-responses", streamed(RESPONSES)),
    **{
        sdk.name: (sdk.api, sdk.streamed)
        for sdk in SDKS
        if sdk.name in ("genai", "boto3", "ollama", "foundry")
    },
}
"""A client of each API: its API, and what its service streams."""


def test_a_client_of_every_api_is_killed() -> None:
    assert {api for api, _ in STREAMS.values()} == {
        *("anthropic-messages", "openai-chat", "openai-responses"),
        *("gemini", "ollama", "bedrock-converse"),
    }


@contextmanager
def reading(name: str, reply: Reply, store: str) -> Generator[subprocess.Popen[bytes]]:
    """A program that reads a stream which stands still before its last bytes."""
    stalled = replace(reply, faults=(Stall(len(reply.body) - 20, Event()),))
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    with replaying(stalled) as server:
        program = [sys.executable, str(killed_stream.__file__), name]
        process = subprocess.Popen(
            [*program, server.url.removesuffix("/v1"), store],
            env={**os.environ, "PYTHONPATH": path},
            stdout=subprocess.PIPE,
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait(PATIENCE)
            assert process.stdout is not None
            process.stdout.close()


@pytest.mark.parametrize("name", STREAMS)
def test_what_was_acknowledged_before_a_kill_amid_a_stream_is_there(
    name: str, tmp_path: Path
) -> None:
    api, reply = STREAMS[name]
    url = f"sqlite:///{tmp_path / 'talks.db'}"
    with reading(name, reply, url) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"a piece\n"
    with onrecord.connect(url) as store:
        chat = store.conversation(KEY)
        types = [recorded.type for recorded in chat.log.read()]
        assert {"message.recorded", "request.sent"} <= set(types)
        assert "response.completed" not in types
        assert store.verify().faults == ()
        chat.user("Are you there?")
        made = chat.request(api)
        assert "Are you there?" in str(made.body)
