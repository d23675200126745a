"""A program may end amid an answer, and still hold it: it ends, and what came is recorded."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import onrecord
from onrecord.adapters.demo.services.server import DemoServer
from onrecord.domain.events import ResponseInterrupted
from tests.adapters.recorded_calls import GREETING, known
from tests.patience import PATIENCE

ROOT = Path(__file__).parents[4]
CALLER = """
import asyncio, os, sys
import anthropic
import onrecord

url, file, how = sys.argv[1:]
chat = onrecord.connect(f"sqlite:///{file}").conversation("chat")
chat.user("Hello")
request = {"model": "m", "max_tokens": 9, "stream": True, **chat.request("anthropic-messages")}

async def begin():
    global answer
    client = chat.record(anthropic.AsyncAnthropic(api_key="demo", base_url=url))
    answer = await client.messages.create(**request)
    await anext(aiter(answer))
    sys.exit()

if how == "async":
    asyncio.run(begin())
client = chat.record(anthropic.Anthropic(api_key="demo", base_url=url))
answer = client.messages.create(**request)
if how != "untouched":
    next(iter(answer))
if how == "forked":
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        for event in answer:
            pass
"""


def run(file: Path, how: str) -> onrecord.Store:
    with DemoServer(lambda _: GREETING) as server:
        subprocess.run(
            [sys.executable, "-c", CALLER, server.url, str(file), how],
            cwd=ROOT,
            check=True,
            timeout=PATIENCE,
        )
    return onrecord.connect(f"sqlite:///{file}")


@pytest.mark.parametrize("how", ["begun", "untouched", "async"])
def test_a_program_ends_though_it_holds_an_answer_it_did_not_read(tmp_path: Path, how: str) -> None:
    with run(tmp_path / "talks.db", how) as store:
        last = known(store.conversation("chat").events(after=0)[-1])
    assert isinstance(last, ResponseInterrupted)
    assert last.reason == "abandoned"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_that_ends_leaves_its_parents_answer_alone(tmp_path: Path) -> None:
    with run(tmp_path / "talks.db", "forked") as store:
        types = [event.type for event in store.conversation("chat").events(after=0)]
    assert types[-1] == "response.completed"
    assert "response.interrupted" not in types
