"""What a recorded client promises, of the clients of each SDK: the same rules for all of them."""

import asyncio
import re
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest

import onrecord
from onrecord.adapters.demo.services.connection import Reply
from onrecord.adapters.demo.services.scenes import Stall
from onrecord.adapters.recording.tenancy import HEADER
from onrecord.domain.events import AttemptFailed, ResponseCompleted, ResponseInterrupted
from tests.adapters.recorded_calls import known, requests_of
from tests.adapters.replaying_server import Replaying, replaying
from tests.adapters.sdk_calls import BUSY, KEY, OLLAMA, SDKS, Asked, Sdk

pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class Aiohttp:DeprecationWarning")
"""google-genai's own, of aiohttp."""

SAID = ["message.recorded", "request.sent"]
ANSWERED = [*SAID, "message.recorded", "response.completed"]
ASKED_WITH_HEADERS = [sdk for sdk in SDKS if sdk not in OLLAMA]
WITH_TOKENS = [sdk for sdk in SDKS if sdk.name.startswith(("vertex", "google-cloud"))]
"""What they send is another token within the hour."""
RETRYING = [sdk for sdk in SDKS if sdk not in OLLAMA]
"""Ollama's clients give no headers with a call, and try nothing again."""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[onrecord.Store]:
    with onrecord.connect(f"sqlite:///{tmp_path / 'talks.db'}") as opened:
        yield opened


@pytest.fixture
def chat(store: onrecord.Store) -> onrecord.Conversation:
    return store.conversation("talk")


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as running:
        yield running


@pytest.fixture(params=SDKS, ids=str)
def sdk(request: pytest.FixtureRequest) -> Sdk:
    assert isinstance(request.param, Sdk)
    return request.param


@contextmanager
def serving(sdk: Sdk, runner: asyncio.Runner, *replies: Reply) -> Generator[tuple[Replaying, Any]]:
    """A server with these answers, and a client that asks it; nobody recorded that."""
    with replaying(*replies) as server:
        client = sdk.made(server.url.removesuffix("/v1"))
        try:
            yield server, client
        finally:
            sdk.closes(client, runner)


def types(chat: onrecord.Conversation) -> list[str]:
    return [recorded.type for recorded in chat.events(after=1)]


# -- what is recorded ------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["client", "scope"])
@pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])
def test_a_call_is_recorded(
    chat: onrecord.Conversation, runner: asyncio.Runner, sdk: Sdk, way: str, streams: bool
) -> None:
    answer = sdk.streamed if streams else sdk.whole
    with serving(sdk, runner, answer) as (server, plain):
        if way == "client":
            told = sdk.asks(chat.record(plain), runner, Asked(streams))
        else:
            with chat.recording():
                told = sdk.asks(plain, runner, Asked(streams))
    assert "".join(told) == "Hello!"
    assert len(told) > 1 or not streams
    assert types(chat) == ANSWERED
    assert len(server.requests) == 1


def test_a_recorded_client_within_a_scope_is_recorded_once(
    store: onrecord.Store, chat: onrecord.Conversation, runner: asyncio.Runner, sdk: Sdk
) -> None:
    with serving(sdk, runner, sdk.whole) as (_, plain):
        client = chat.record(plain)
        with store.conversation("scope").recording():
            sdk.asks(client, runner, Asked())
    assert types(chat) == ANSWERED
    assert types(store.conversation("scope")) == []


def test_the_client_that_was_given_stays_unrecorded(
    chat: onrecord.Conversation, runner: asyncio.Runner, sdk: Sdk
) -> None:
    with serving(sdk, runner, sdk.whole, sdk.whole) as (_, plain):
        recorded = chat.record(plain)
        sdk.asks(plain, runner, Asked())
        assert types(chat) == []
        sdk.asks(recorded, runner, Asked())
    assert isinstance(recorded, type(plain))
    assert types(chat) == ANSWERED


def test_the_one_client_that_is_recorded_may_be_all_that_is_kept(
    chat: onrecord.Conversation, runner: asyncio.Runner, sdk: Sdk
) -> None:
    with replaying(sdk.whole, sdk.streamed) as server:
        client = chat.record(sdk.made(server.url.removesuffix("/v1")))
        try:
            assert sdk.asks(client, runner, Asked()) == ["Hello!"]
            assert "".join(sdk.asks(client, runner, Asked(streams=True))) == "Hello!"
        finally:
            sdk.closes(client, runner)


def test_a_client_is_wrapped_once_for_a_conversation(
    store: onrecord.Store, chat: onrecord.Conversation, runner: asyncio.Runner, sdk: Sdk
) -> None:
    other = store.conversation("other")
    with serving(sdk, runner, sdk.whole) as (_, plain):
        client = chat.record(plain)
        assert chat.record(client) is client
        sdk.asks(other.record(client), runner, Asked())
    assert types(chat) == []
    assert types(other) == ANSWERED


def test_streamed_and_whole_answers_are_recorded_alike(
    store: onrecord.Store, runner: asyncio.Runner, sdk: Sdk
) -> None:
    said: list[Any] = []
    for streams, answer in ((False, sdk.whole), (True, sdk.streamed)):
        chat = store.conversation(f"talk-{streams}")
        with serving(sdk, runner, answer) as (_, plain):
            sdk.asks(chat.record(plain), runner, Asked(streams))
        message, closing = [known(event) for event in chat.events(after=0)][-2:]
        assert isinstance(closing, ResponseCompleted)
        said.append((getattr(message, "content", None), closing.stop_reason))
    assert said[0] == said[1]


# -- whose call it is ------------------------------------------------------------------------


@pytest.mark.parametrize("sdk", ASKED_WITH_HEADERS, ids=str)
@pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])
def test_the_header_binds_a_call_and_is_neither_signed_nor_sent(
    store: onrecord.Store,
    chat: onrecord.Conversation,
    runner: asyncio.Runner,
    sdk: Sdk,
    streams: bool,
) -> None:
    answer = sdk.streamed if streams else sdk.whole
    with serving(sdk, runner, answer) as (server, plain):
        sdk.asks(store.record(plain, unbound="refuse"), runner, Asked(streams, chat.headers))
    assert types(chat) == ANSWERED
    [received] = server.requests
    assert HEADER not in received.headers
    assert HEADER not in received.headers.get("authorization", "")


@pytest.mark.parametrize("sdk", [sdk for sdk in SDKS if re.match("bedrock|boto|aws", sdk.name)])
def test_all_that_is_signed_is_sent(
    store: onrecord.Store, chat: onrecord.Conversation, runner: asyncio.Runner, sdk: Sdk
) -> None:
    with serving(sdk, runner, sdk.whole) as (server, plain):
        sdk.asks(store.record(plain), runner, Asked(False, chat.headers))
    [received] = server.requests
    signed = re.search(r"SignedHeaders=([^,]+)", received.headers["authorization"])
    assert signed is not None
    assert set(signed[1].split(";")) <= received.headers.keys()


def test_the_key_of_a_client_is_known_before_it_calls(
    chat: onrecord.Conversation, runner: asyncio.Runner, sdk: Sdk
) -> None:
    """What is bound to another account than this one is left out of what is rendered for it."""
    with serving(sdk, runner, sdk.whole) as (_, plain):
        client = chat.record(plain)
        wire: Any = vars(chat)["_wire"]
        before = wire.account(sdk.api)
        sdk.asks(client, runner, Asked())
    [sent] = requests_of(chat)
    assert before == sent.account
    assert (sent.account is None) == (sdk in OLLAMA or sdk in WITH_TOKENS)


# -- what fails ------------------------------------------------------------------------------


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])
def test_a_call_that_cannot_be_recorded_is_refused_in_the_sdks_own_family(
    store: onrecord.Store, runner: asyncio.Runner, sdk: Sdk, streams: bool
) -> None:
    with serving(sdk, runner) as (server, plain):
        client = store.record(plain, unbound="refuse")
        with pytest.raises(onrecord.NotRecorded, match="bound to no conversation") as refused:
            sdk.asks(client, runner, Asked(streams))
    assert isinstance(refused.value, sdk.family)
    assert server.requests == []


@pytest.mark.parametrize("sdk", RETRYING, ids=str)
def test_what_the_sdk_tries_again_is_an_attempt_of_one_request(
    chat: onrecord.Conversation, runner: asyncio.Runner, sdk: Sdk
) -> None:
    with serving(sdk, runner, BUSY, sdk.whole) as (server, plain):
        assert sdk.asks(chat.record(plain), runner, Asked()) == ["Hello!"]
    assert len(server.requests) == 2
    assert types(chat) == [*SAID, "attempt.failed", "message.recorded", "response.completed"]
    failed = [known(event) for event in chat.events(after=0) if event.type == "attempt.failed"]
    assert isinstance(failed[0], AttemptFailed)
    assert failed[0].status == BUSY.status


def test_an_error_is_recorded_and_reaches_the_caller(
    chat: onrecord.Conversation, runner: asyncio.Runner, sdk: Sdk
) -> None:
    wrong = Reply(400, {"content-type": "application/json"}, b'{"error":{"message":"Wrong."}}')
    with serving(sdk, runner, wrong) as (_, plain), pytest.raises(Exception) as error:
        sdk.asks(chat.record(plain), runner, Asked())
    assert not isinstance(error.value, onrecord.NotRecorded)
    assert types(chat) == [*SAID, "attempt.failed"]


def test_a_service_that_is_not_there_is_a_failed_attempt(
    chat: onrecord.Conversation, runner: asyncio.Runner
) -> None:
    sdk = OLLAMA[0]
    with serving(sdk, runner) as (server, _):
        url = server.url
    client = chat.record(sdk.made(url.removesuffix("/v1")))
    with pytest.raises(ConnectionError):
        sdk.asks(client, runner, Asked())
    sdk.closes(client, runner)
    assert types(chat) == [*SAID, "attempt.failed"]


@pytest.mark.parametrize(
    "sdk", [sdk for sdk in SDKS if sdk not in (*OLLAMA, *WITH_TOKENS)], ids=str
)
def test_no_key_is_stored(
    store: onrecord.Store, runner: asyncio.Runner, tmp_path: Path, sdk: Sdk
) -> None:
    leaks = Reply(400, {"content-type": "application/json"}, f'{{"error":"{KEY}"}}'.encode())
    with serving(sdk, runner, leaks, sdk.whole) as (_, plain):
        client = store.conversation("talk").record(plain)
        with pytest.raises(Exception, match=r"canary|400"):
            sdk.asks(client, runner, Asked())
        sdk.asks(client, runner, Asked())
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or KEY.encode() not in path.read_bytes()


# -- streams ---------------------------------------------------------------------------------


def stalled(reply: Reply, release: Event) -> Reply:
    """A reply whose last event is not there before it is released."""
    return replace(reply, faults=(Stall(len(reply.body) - 20, release),))


def test_the_end_of_a_stream_is_handed_on_when_it_is_durable(
    chat: onrecord.Conversation, runner: asyncio.Runner, sdk: Sdk
) -> None:
    seen: list[list[str]] = []
    release = Event()

    def look() -> None:
        seen.append(types(chat))
        release.set()

    with serving(sdk, runner, stalled(sdk.streamed, release)) as (_, plain):
        sdk.asks(chat.record(plain), runner, Asked(streams=True, each=look))
    assert seen[0] == SAID
    assert seen[-1] == ANSWERED


def test_a_stream_that_nobody_reads_to_its_end_is_interrupted(
    chat: onrecord.Conversation, sdk: Sdk
) -> None:
    class Left(Exception):
        pass

    def leave() -> None:
        raise Left

    with (
        asyncio.Runner() as own,
        serving(sdk, own, stalled(sdk.streamed, Event())) as (_, plain),
        pytest.raises(Left),
    ):
        sdk.asks(chat.record(plain), own, Asked(streams=True, each=leave))
    closing = known(chat.events(after=0)[-1])
    assert isinstance(closing, ResponseInterrupted)
    assert closing.reason == "abandoned"


@pytest.mark.parametrize(
    "sdk", [sdk for sdk in SDKS if re.search("async|aiohttp", sdk.name)], ids=str
)
def test_a_task_that_is_cancelled_amid_a_stream_leaves_it_interrupted(
    chat: onrecord.Conversation, sdk: Sdk
) -> None:
    def cancel() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()

    with (
        asyncio.Runner() as own,
        serving(sdk, own, stalled(sdk.streamed, Event())) as (_, plain),
        pytest.raises(asyncio.CancelledError),
    ):
        sdk.asks(chat.record(plain), own, Asked(streams=True, each=cancel))
    closing = known(chat.events(after=0)[-1])
    assert isinstance(closing, ResponseInterrupted)
    assert closing.reason == "abandoned"
