"""kill -9 at any moment of a call: what was acknowledged is there, and the chat goes on."""

import hashlib
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anthropic
import pytest

import onrecord
from onrecord.adapters.demo.services.scenes import Answer
from onrecord.adapters.demo.services.server import DemoServer
from onrecord.adapters.store import backend_of
from onrecord.domain.events import (
    MessageRecorded,
    RequestSent,
    ResponseCompleted,
    ResponseInterrupted,
)
from onrecord.domain.log import Cursor
from tests.adapters.recorded_calls import known

ROOT = Path(__file__).parents[4]
LONGEST = 0.02
MOST = 4
THINKING = Answer(
    content=(
        {"type": "thinking", "thinking": "What do they want?"},
        {"type": "text", "text": "Hello! What can I do for you?"},
    )
)


@dataclass
class Acknowledged:
    """What one caller said that it may rely on, before it was killed."""

    said: list[str] = field(default_factory=list[str])
    answered: list[str] = field(default_factory=list[str])


class Callers:
    """Starts callers and kills them."""

    def __init__(self, process: subprocess.Popen[str], url: str, file: Path) -> None:
        self._process = process
        self._target = f"{url} {file}"

    def kill_one(self, key: str, after: int, moment: float) -> Acknowledged:
        """Kill a caller some seconds after it has said so many lines."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{self._target} {key}\n")
        self._process.stdin.flush()
        found = Acknowledged()
        pid = 0
        for lines, line in enumerate(self._process.stdout, 1):
            match line.split(maxsplit=1):
                case ["pid", number]:
                    pid = int(number)
                case ["said", text]:
                    found.said.append(text.strip())
                case ["answered", message]:
                    found.answered.append(message.strip())
                case _:
                    return found
            if lines == after:
                threading.Timer(moment, os.kill, (pid, signal.SIGKILL)).start()
        raise AssertionError("the callers' program ended")


@contextmanager
def callers(url: str, file: Path) -> Generator[Callers]:
    with subprocess.Popen(
        [sys.executable, "-m", "tests.adapters.wire.clients.killed_caller"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield Callers(process, url, file)
        assert process.stdin is not None
        process.stdin.close()


def kill_and_look(folder: Path, times: int) -> None:
    file = folder / "talks.db"
    chance = random.Random(4711)
    onrecord.connect(f"sqlite:///{file}").close()
    with DemoServer(lambda _: THINKING) as server:
        with callers(server.url, file) as started:
            acknowledged = {
                key: started.kill_one(key, chance.randint(1, MOST), chance.uniform(0, LONGEST))
                for key in (f"talk-{number}" for number in range(times))
            }
        received = {
            hashlib.sha256(request.body).hexdigest()
            for request in server.requests
            if len(request.body) == int(request.headers["content-length"])
        }
        with onrecord.connect(f"sqlite:///{file}") as store:
            positions = [
                event.position for event in backend_of(store).read_log(start_of(store), 1_000_000)
            ]
            assert positions == list(range(1, len(positions) + 1))
            recorded: set[str] = set()
            for key, relied_on in acknowledged.items():
                recorded |= look(store.conversation(key), relied_on)
            assert received <= recorded
            for key in list(acknowledged)[::5]:
                go_on(store.conversation(key), server.url)
    assert any(relied_on.answered for relied_on in acknowledged.values())


def start_of(store: onrecord.Store) -> Cursor:
    (end,) = store.cursors()
    return Cursor(end.incarnation, end.shard, 0)


def look(chat: onrecord.Conversation, relied_on: Acknowledged) -> set[str]:
    """Check what a caller relied on; return the digests of the requests that are recorded."""
    events = [known(event) for event in chat.events(after=0)]
    said = [
        block.model_dump()["text"]
        for event in events
        if isinstance(event, MessageRecorded) and event.role == "user"
        for block in event.content
    ]
    completed = [event for event in events if isinstance(event, ResponseCompleted)]
    assert said[: len(relied_on.said)] == relied_on.said
    answers = [event.provider_id for event in completed]
    assert answers[: len(relied_on.answered)] == relied_on.answered
    blocks = [event for event in events if isinstance(event, MessageRecorded) and event.response]
    assert len(blocks) == len(completed)
    return {event.template.sha256 for event in events if isinstance(event, RequestSent)}


def go_on(chat: onrecord.Conversation, url: str) -> None:
    """Say one thing more: the model takes the history, and the answer is history too."""
    chat.user("And now?")
    with anthropic.Anthropic(api_key="demo", base_url=url, max_retries=0) as client:
        request: Any = chat.request("anthropic-messages")
        chat.record(client).messages.create(model="m", max_tokens=9, **request)
    last = known(chat.events(after=0)[-1])
    assert isinstance(last, ResponseCompleted)
    assert not isinstance(last, ResponseInterrupted)
    assert last.line is None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_callers_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    kill_and_look(tmp_path, 50)


@pytest.mark.soak
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_callers_lose_nothing_however_often(tmp_path: Path) -> None:
    kill_and_look(tmp_path, 1000)
