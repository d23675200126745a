"""`require_recording`: a call to a provider that nothing binds is refused, or warned of."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest

import onrecord
from onrecord.adapters.demo.services.scenes import Answer, PlainAnswer
from onrecord.adapters.demo.services.server import DemoServer
from onrecord.domain.errors import InvalidInput, NotRecorded
from tests.floors.programs import ASYNC, HELLO, KEY, SYNC, Program, done
from tests.patience import join

pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class:DeprecationWarning")

sync_programs = pytest.mark.parametrize("program", SYNC, ids=str)
async_programs = pytest.mark.parametrize("program", ASYNC, ids=str)


@pytest.fixture
def server() -> Generator[DemoServer]:
    def others(*_: object) -> PlainAnswer:
        return PlainAnswer("Hello!")

    answer = Answer(content=({"type": "text", "text": "Hello!"},))
    with DemoServer(lambda _: answer, openai=others, others=others) as running:
        yield running


@pytest.fixture
def store(tmp_path: Path) -> Generator[onrecord.Store]:
    with onrecord.connect(f"sqlite:///{tmp_path / 'talks.db'}") as opened:
        yield opened


@pytest.fixture
def required() -> Generator[None]:
    with onrecord.require_recording():
        yield


@pytest.mark.usefixtures("required")
@sync_programs
def test_a_client_that_nobody_recorded_is_refused_by_its_sdks_own_error(
    server: DemoServer, program: Program
) -> None:
    plain = program.client(server)
    with pytest.raises(program.errors, match="recording is required") as refused:
        program.ask(plain, False)
    program.close(plain)
    assert isinstance(refused.value, NotRecorded)
    assert not server.requests


@pytest.mark.usefixtures("required")
@async_programs
def test_an_async_client_that_nobody_recorded_is_refused(
    server: DemoServer, program: Program
) -> None:
    async def ask() -> None:
        plain = program.client(server)
        with pytest.raises(program.errors, match="recording is required"):
            await done(program.ask(plain, False))
        await done(program.close(plain))

    asyncio.run(ask())
    assert not server.requests


@pytest.mark.usefixtures("required")
@sync_programs
def test_a_stores_client_is_refused_where_nothing_binds_the_call(
    store: onrecord.Store, server: DemoServer, program: Program
) -> None:
    plain = program.client(server)
    with pytest.raises(program.errors, match="it is bound to no conversation"):
        program.ask(store.record(plain), False)
    program.close(plain)
    assert not server.requests


@pytest.mark.usefixtures("required")
@sync_programs
def test_what_is_bound_passes(store: onrecord.Store, server: DemoServer, program: Program) -> None:
    chat, plain = store.conversation("talk"), program.client(server)
    program.ask(chat.record(plain), False)
    with chat.recording():
        program.ask(plain, False)
    program.close(plain)
    assert [event.type for event in chat.events(after=0)].count("response.completed") == 2


@sync_programs
def test_a_call_that_nothing_binds_is_warned_of(server: DemoServer, program: Program) -> None:
    plain = program.client(server)
    with (
        onrecord.require_recording("warn"),
        pytest.warns(
            onrecord.RecordingWarning, match="not recorded, although recording is required"
        ),
    ):
        program.ask(plain, False)
    program.close(plain)
    assert len(server.requests) == 1


def test_a_stores_call_is_warned_of_and_recorded_by_itself(
    store: onrecord.Store, server: DemoServer
) -> None:
    plain = SYNC[0].client(server)
    with (
        onrecord.require_recording("warn"),
        pytest.warns(
            onrecord.RecordingWarning, match="not recorded, although recording is required"
        ),
    ):
        SYNC[0].ask(store.record(plain), False)
    plain.close()
    assert [str(told.key).startswith("unbound/") for told in store.conversations()] == [True]


def test_a_refused_call_is_not_tried_again(server: DemoServer) -> None:
    with (
        anthropic.Anthropic(api_key=KEY, base_url=server.url, max_retries=9) as plain,
        onrecord.require_recording(),
        pytest.raises(NotRecorded),
    ):
        SYNC[0].ask(plain, False)
    assert not server.requests


def test_the_last_word_holds_until_it_is_undone(server: DemoServer) -> None:
    plain = SYNC[0].client(server)
    outer, inner = onrecord.require_recording("warn"), onrecord.require_recording("raise")
    with pytest.raises(NotRecorded):
        SYNC[0].ask(plain, False)
    inner.undo()
    with pytest.warns(onrecord.RecordingWarning):
        SYNC[0].ask(plain, False)
    outer.undo()
    outer.undo()
    SYNC[0].ask(plain, False)
    plain.close()
    assert len(server.requests) == 2


@pytest.mark.usefixtures("required")
def test_what_is_no_turn_passes(server: DemoServer) -> None:
    with anthropic.Anthropic(api_key=KEY, base_url=server.url, max_retries=0) as plain:
        messages: Any = HELLO
        assert plain.messages.count_tokens(model="claude-1", messages=messages).input_tokens


@pytest.mark.usefixtures("required")
def test_a_call_in_a_thread_is_told_how_a_scope_goes_there(
    store: onrecord.Store, server: DemoServer
) -> None:
    plain, said = SYNC[0].client(server), list[str]()

    def ask() -> None:
        try:
            SYNC[0].ask(plain, False)
        except NotRecorded as exc:
            said.append(str(exc))

    with store.conversation("talk").recording():
        thread = threading.Thread(target=ask)
        thread.start()
        join(thread)
    plain.close()
    assert "copy_context().run" in said[0]
    assert not server.requests


@pytest.mark.usefixtures("required")
def test_a_websocket_is_refused(server: DemoServer) -> None:
    with (
        openai.OpenAI(api_key=KEY, base_url=server.openai_url) as client,
        pytest.raises(openai.OpenAIError, match="websocket was not opened"),
        client.responses.connect(),
    ):
        pass
    assert not server.requests


def test_another_word_is_refused() -> None:
    word: Any = "stop"
    with pytest.raises(InvalidInput, match="must be `raise` or `warn`, not 'stop'"):
        onrecord.require_recording(word)


@pytest.mark.usefixtures("required")
def test_a_batch_of_openais_is_refused_in_its_sdks_family(server: DemoServer) -> None:
    client = openai.OpenAI(api_key=KEY, base_url=server.openai_url)
    with pytest.raises(NotRecorded) as refused:
        client.batches.create(
            input_file_id="file_1", endpoint="/v1/chat/completions", completion_window="24h"
        )
    assert isinstance(refused.value, openai.OpenAIError)


@pytest.mark.usefixtures("required")
def test_what_asks_a_model_and_is_no_turn_passes_and_is_said(
    server: DemoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("onrecord.adapters.wire.clients.unrecorded._warned_of", set[str]())
    with (
        openai.OpenAI(api_key=KEY, base_url=server.openai_url, max_retries=0) as client,
        pytest.warns(onrecord.RecordingWarning, match="a moderation is not recorded"),
        pytest.raises(openai.APIStatusError),  # The server of the demo has no such endpoint.
    ):
        client.moderations.create(input="Hello")


PROGRAM = """
import anthropic, onrecord, sys
client = anthropic.Anthropic(api_key="k", base_url=sys.argv[1], max_retries=0)
try:
    client.messages.create(model="m", max_tokens=9, messages=[{"role": "user", "content": "?"}])
except onrecord.NotRecorded as exc:
    print("refused")
"""


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("raise", "refused"),
        ("warn", "RecordingWarning"),
        ("stop", "must be `raise` or `warn`, not 'stop'"),
    ],
)
def test_the_environment_requires_it(server: DemoServer, word: str, said: str) -> None:
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM, server.url],
        env={"ONRECORD_REQUIRE_RECORDING": word},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert said in run.stdout + run.stderr
    assert len(server.requests) == (word == "warn")
