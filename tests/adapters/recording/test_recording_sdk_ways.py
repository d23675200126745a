"""What is particular to one SDK's client when it is recorded: its ways to send, retry and stream."""

import asyncio
import io
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import boto3  # type: ignore[import-untyped]  # it has no stubs
import httpx2
import pytest
from google import genai

import onrecord
from onrecord.adapters.demo.services.connection import Reply
from onrecord.adapters.demo.services.scenes import Cut
from onrecord.domain.errors import UnsupportedClient
from onrecord.domain.events import RequestSent, ResponseCompleted, ResponseInterrupted
from tests import bedrock_wire
from tests.adapters.recorded_calls import known, requests_of
from tests.adapters.replaying_server import replaying, whole
from tests.adapters.sdk_calls import (
    BOTO,
    BUSY,
    GENAI,
    HELLO,
    MESSAGE,
    MODEL,
    OLLAMA,
    Asked,
    boto_client,
    genai_client,
)

pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class Aiohttp:DeprecationWarning")

SAID = ["message.recorded", "request.sent"]
ANSWERED = [*SAID, "message.recorded", "response.completed"]
CONVERSING = [{"role": "user", "content": [{"text": "Hello"}]}]
COUNTED = {"usage": bedrock_wire.USAGE}
INVOKED = json.dumps(
    {"anthropic_version": "bedrock-2023-05-31", "max_tokens": 64, "messages": HELLO}
).encode()


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


def types(chat: onrecord.Conversation) -> list[str]:
    return [recorded.type for recorded in chat.events(after=1)]


# -- boto3 -----------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["legacy", "standard", "adaptive"])
def test_each_way_of_retrying_makes_attempts_of_one_request(
    chat: onrecord.Conversation, runner: asyncio.Runner, mode: str
) -> None:
    with replaying(BUSY, BOTO.whole) as server:
        plain = boto_client(server.url.removesuffix("/v1"), mode)
        BOTO.asks(chat.record(plain), runner, Asked())
        plain.close()
    assert types(chat) == [*SAID, "attempt.failed", "message.recorded", "response.completed"]
    told = [received.headers["amz-sdk-request"] for received in server.requests]
    assert ["attempt=1" in told[0], "attempt=2" in told[1]] == [True, True]


@pytest.mark.parametrize("sizes", [[None], [7], [1000, None]], ids=["all", "pieces", "both"])
@pytest.mark.parametrize("as_file", [False, True], ids=["bytes", "file"])
def test_a_model_that_is_invoked_is_recorded_as_its_body_is_read(
    chat: onrecord.Conversation, sizes: list[int | None], as_file: bool
) -> None:
    with replaying(whole(MESSAGE)) as server:
        client = chat.record(boto_client(server.url.removesuffix("/v1")))
        asked = io.BytesIO(INVOKED) if as_file else INVOKED
        body = client.invoke_model(modelId=MODEL, body=asked)["body"]
        assert types(chat) == SAID
        told = b""
        while chunk := body.read(sizes[min(len(told), len(sizes) - 1)]):
            told += chunk
        client.close()
    assert json.loads(told) == MESSAGE
    assert server.requests[0].body == INVOKED
    assert types(chat) == ANSWERED


def test_hooks_of_the_client_that_was_given_are_those_of_the_recorded_one(
    chat: onrecord.Conversation, runner: asyncio.Runner
) -> None:
    def name(params: Any, **_: Any) -> None:
        params["headers"]["x-team"] = "support"

    with replaying(BOTO.whole, BOTO.whole) as server:
        plain = boto_client(server.url.removesuffix("/v1"))
        plain.meta.events.register("before-call.bedrock-runtime", name)
        recorded: Any = chat.record(plain)
        BOTO.asks(recorded, runner, Asked())
        recorded.meta.events.unregister("before-call.bedrock-runtime", name)
        BOTO.asks(plain, runner, Asked())
        plain.close()
    assert [received.headers.get("x-team") for received in server.requests] == ["support"] * 2


def test_the_key_of_a_client_with_a_bearer_token_is_not_taken_for_its_account(
    chat: onrecord.Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Botocore prefers the token: what was made under that would be left out under the key."""
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "ABSK-canary")
    chat.record(boto_client("https://127.0.0.1:9")).close()
    wire: Any = vars(chat)["_wire"]
    assert wire.account("bedrock-converse") is None


def test_a_client_of_another_service_is_refused(chat: onrecord.Conversation) -> None:
    other = cast("Any", boto3).client("sqs", region_name="us-east-1")
    with pytest.raises(UnsupportedClient, match="a client of sqs holds no conversations"):
        chat.record(other)


def test_a_caller_who_leaves_at_the_stop_of_a_message_has_all_of_it_recorded(
    chat: onrecord.Conversation,
) -> None:
    """Loops over a Converse stream are often left there; what counts the tokens comes behind it."""
    with replaying(BOTO.streamed) as server:
        client = chat.record(boto_client(server.url.removesuffix("/v1")))
        told = client.converse_stream(modelId=MODEL, messages=CONVERSING)["stream"]
        assert any("messageStop" in event for event in told)
        assert types(chat) == ANSWERED
        told.close()
        client.close()
    closing = known(chat.events(after=0)[-1])
    assert isinstance(closing, ResponseCompleted)
    assert COUNTED.items() <= closing.envelope.items()


def test_the_stop_of_a_message_reaches_its_caller_though_nothing_counts_its_tokens(
    chat: onrecord.Conversation,
) -> None:
    body = BOTO.streamed.body
    counts = bedrock_wire.events({"metadata": {**COUNTED, "metrics": bedrock_wire.METRICS}})
    assert body.endswith(counts)
    ended = replace(BOTO.streamed, body=body.removesuffix(counts))
    broken = replace(BOTO.streamed, faults=(Cut(len(body) - 30),))
    with replaying(ended, broken) as server:
        client = chat.record(boto_client(server.url.removesuffix("/v1")))
        for _ in range(2):
            told = client.converse_stream(modelId=MODEL, messages=CONVERSING)["stream"]
            assert any("messageStop" in event for event in told)
            told.close()
        client.close()
    assert types(chat)[-2:] == ANSWERED[-2:]


def test_a_stream_of_frames_that_breaks_off_is_cut(
    chat: onrecord.Conversation, runner: asyncio.Runner
) -> None:
    body = BOTO.streamed
    broken = Reply(200, body.headers, body.body, chunked=True, faults=(Cut(len(body.body) // 2),))
    with replaying(broken) as server:
        client = chat.record(boto_client(server.url.removesuffix("/v1")))
        with pytest.raises(Exception, match="ended prematurely"):
            BOTO.asks(client, runner, Asked(streams=True))
        client.close()
    closing = known(chat.events(after=0)[-1])
    assert isinstance(closing, ResponseInterrupted)
    assert closing.reason == "cut"


# -- google-genai ----------------------------------------------------------------------------


def test_a_client_is_recorded_on_each_event_loop(
    chat: onrecord.Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without aiohttp, google-genai has an HTTP client for each loop, made when it is asked."""
    monkeypatch.setattr("google.genai._api_client.has_aiohttp", False)
    sdk = GENAI[2]
    with replaying(*[sdk.whole] * 2) as server:
        none_kept: Any = {"limits": httpx2.Limits(max_keepalive_connections=0)}
        url = server.url.removesuffix("/v1")
        client = chat.record(genai_client(url, async_client_args=none_kept))
        for _ in range(2):
            with asyncio.Runner() as own:
                sdk.asks(client, own, Asked())
        client.close()
    assert types(chat).count("response.completed") == 2


def test_the_coroutines_of_a_client_can_be_recorded_alone(
    chat: onrecord.Conversation, runner: asyncio.Runner
) -> None:
    with replaying(GENAI[2].whole) as server:
        plain = genai_client(server.url.removesuffix("/v1"))
        alone = chat.record(plain.aio)
        assert isinstance(alone, type(plain.aio))

        async def ask() -> None:
            models: Any = alone.models
            await models.generate_content(model=MODEL, contents="Hello")
            await alone.aclose()

        runner.run(ask())
        plain.close()
    assert types(chat) == ANSWERED


def test_a_chat_of_the_sdk_is_one_conversation(chat: onrecord.Conversation) -> None:
    with replaying(*[GENAI[0].whole] * 2) as server:
        client = chat.record(genai_client(server.url.removesuffix("/v1")))
        session: Any = client.chats.create(model=MODEL)
        session.send_message("Hello")
        session.send_message("Hello again")
        client.close()
    assert types(chat) == ANSWERED * 2
    assert [sent.relation for sent in requests_of(chat)] == ["extends", "extends"]


@pytest.mark.parametrize("options", [{}, {"project": "p", "location": "r"}])
def test_a_client_for_vertex_is_recorded(
    chat: onrecord.Conversation, options: dict[str, str]
) -> None:
    with replaying(GENAI[0].whole) as server:
        http: Any = {"base_url": server.url.removesuffix("/v1")}
        if options:
            options = {**options, "credentials": cast("Any", _Token())}
        else:
            options = {"api_key": "canary-0123456789"}
        plain = genai.Client(vertexai=True, http_options=http, **cast("Any", options))
        client: Any = chat.record(plain)
        client.models.generate_content(model=MODEL, contents="Hello")
        client.close()
    assert types(chat) == ANSWERED
    [sent] = requests_of(chat)
    assert isinstance(sent, RequestSent)
    assert (sent.account is None) == ("project" in options)


class _Token:
    """Credentials of Google's that never expire."""

    token = "ya29.canary"
    expired = False
    quota_project_id = None


def test_a_client_that_goes_live_says_once_that_this_is_not_recorded(
    chat: onrecord.Conversation, runner: asyncio.Runner
) -> None:
    client = chat.record(genai_client("http://127.0.0.1:9"))

    async def go() -> None:
        with pytest.raises(ConnectionError):
            async with client.aio.live.connect(model=MODEL):
                pass

    with pytest.warns(onrecord.RecordingWarning, match="websocket") as said:
        runner.run(go())
    runner.run(go())
    assert len([one for one in said if one.category is onrecord.RecordingWarning]) == 1
    client.close()


# -- ollama ----------------------------------------------------------------------------------


def test_a_line_that_says_what_went_wrong_reaches_the_caller(
    chat: onrecord.Conversation, runner: asyncio.Runner
) -> None:
    sdk = OLLAMA[0]
    kind = {"content-type": "application/x-ndjson"}
    wrong = Reply(200, kind, b'{"error":"out of memory"}\n', chunked=True)
    with replaying(wrong) as server:
        client = chat.record(sdk.made(server.url.removesuffix("/v1")))
        with pytest.raises(sdk.family, match="out of memory"):
            sdk.asks(client, runner, Asked(streams=True))
        client.close()
    closing = known(chat.events(after=0)[-1])
    assert isinstance(closing, ResponseInterrupted)
    assert closing.reason == "error"
