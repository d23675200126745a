"""What crosses a recorded client's wire and is no turn is said once; so is what the provider holds."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest
from google import genai

import onrecord
from onrecord.adapters.wire.clients import unrecorded
from onrecord.adapters.wire.clients.record import record
from tests.adapters.recorded_calls import KEY, Recorded
from tests.adapters.recording.own_history import Program, Responses, output_message, response
from tests.adapters.replaying_server import Replaying, replaying, whole

KINDS = [
    ("POST", "/v1/messages/batches", "a batch"),
    ("POST", "/v1/batches", "a batch"),
    ("POST", "/v1beta/models/gemini-3:batchGenerateContent", "a batch"),
    ("POST", "/v1/embeddings", "an embedding"),
    ("POST", "/api/embed", "an embedding"),
    ("POST", "/v1beta/models/m:embedContent", "an embedding"),
    ("POST", "/v1/completions", "a completion without messages"),
    ("POST", "/api/generate", "a completion without messages"),
    ("POST", "/v1/images/generations", "a picture, a film or sound"),
    ("POST", "/v1/realtime/client_secrets", "a live session"),
    ("POST", "/v1/sessions/sess_1/events", "a session of an agent that the provider runs"),
    ("POST", "/v1beta/interactions", "a session of an agent that the provider runs"),
    ("POST", "/v1/conversations/c1/items", unrecorded.kind_of("POST", "/v1/cachedContents")),
    ("POST", "/model/meta.llama/invoke", "a model in its own words on Bedrock"),
    ("POST", "/v1/moderations", "a moderation"),
    ("GET", "/v1/batches", None),
    ("GET", "/v1/models", None),
    ("POST", "/v1/files", None),
    ("POST", "/v1/messages/count_tokens", None),
]


@pytest.fixture(autouse=True)
def _nothing_was_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unrecorded, "_warned_of", set[str]())


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    return Recorded(tmp_path)


@pytest.fixture
def server() -> Generator[Replaying]:
    answer: dict[str, Any] = {"object": "list", "data": [], "model": "m", "id": "x"}
    with replaying(*[whole(answer) for _ in range(9)]) as running:
        yield running


@pytest.mark.parametrize(("method", "path", "what"), KINDS)
def test_what_asks_a_model_something_is_known(method: str, path: str, what: str | None) -> None:
    assert unrecorded.kind_of(method, path) == what


Asking = AbstractContextManager[Callable[[], object]]


@contextmanager
def embedded(recorded: Recorded, url: str) -> Generator[Callable[[], object]]:
    with openai.OpenAI(api_key=KEY, base_url=url) as plain:
        client = record(plain, recorded.binding)
        yield lambda: client.embeddings.create(model="m", input="text", encoding_format="float")


@contextmanager
def batched(recorded: Recorded, url: str) -> Generator[Callable[[], object]]:
    with anthropic.Anthropic(api_key=KEY, base_url=url.removesuffix("/v1")) as plain:
        client = record(plain, recorded.binding)
        yield lambda: client.messages.batches.create(requests=[])


@contextmanager
def cached(recorded: Recorded, url: str) -> Generator[Callable[[], object]]:
    options: Any = {"base_url": url.removesuffix("/v1")}
    with genai.Client(api_key=KEY, vertexai=False, http_options=options) as plain:
        client = record(plain, recorded.binding)
        yield lambda: client.caches.create(model="gemini-3")


@pytest.mark.parametrize("made", [embedded, batched, cached])
def test_a_recorded_client_says_once_what_is_not_recorded(
    recorded: Recorded, server: Replaying, made: Callable[[Recorded, str], Asking]
) -> None:
    with made(recorded, server.url) as ask:
        with pytest.warns(onrecord.RecordingWarning, match="it is no turn of a conversation"):
            ask()
        with warnings.catch_warnings(record=True) as warned:
            ask()
        assert not [told for told in warned if told.category is onrecord.RecordingWarning]
        assert len(server.received) == 2
        assert not recorded.chat.head().version


def test_a_client_that_nobody_recorded_says_nothing(server: Replaying) -> None:
    with openai.OpenAI(api_key=KEY, base_url=server.url) as client:
        client.embeddings.create(model="m", input="text", encoding_format="float")


def test_a_stored_prompt_is_said_to_be_the_providers(recorded: Recorded) -> None:
    program = Program(recorded, Responses())
    with pytest.warns(onrecord.RecordingWarning, match="names a stored prompt"):
        begun = program.send(program.user("u1"), prompt={"id": "pmpt_1"})
    program.answered(begun, response([output_message("a1")]))
    with warnings.catch_warnings(record=True) as warned:
        program.send(program.user("u2"), prompt={"id": "pmpt_1"})
    assert not warned
    assert program.relations()[0] == "extends"


def test_an_agents_own_process_is_said_within_a_scope(tmp_path: Path) -> None:
    program = tmp_path / "claude"
    program.symlink_to(sys.executable)
    run: list[Any] = [program, "-c", ""]
    with onrecord.connect("memory://") as store:
        subprocess.run(run, check=True)
        with store.conversation("talk").recording():
            with pytest.warns(onrecord.RecordingWarning, match="Claude Agent SDK"):
                subprocess.run(run, check=True)
            subprocess.run([sys.executable, "-c", ""], check=True)
