"""Documents deep in a tool's result, as the clients of all APIs send them, and the record of it."""

import base64
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anthropic
import ollama
import openai
import pytest

import onrecord
from onrecord.adapters.conversation.rendering import replays
from onrecord.adapters.demo.services.connection import Reply
from onrecord.domain.events import RequestSent
from onrecord.domain.request_template import BlobSpan, EncodedSpan
from onrecord.projections.apis.documents import PREAMBLE
from onrecord.projections.apis.request import Request
from tests import anthropic_wire, bedrock_wire, gemini_wire, ollama_wire, openai_responses_wire
from tests.adapters.replaying_server import replaying, whole
from tests.adapters.sdk_calls import boto_client, genai_client

JsonObject = dict[str, Any]
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class Aiohttp:DeprecationWarning")

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 400
LISTS = {"gemini": "contents", "openai-responses": "input"}
ENCODED = base64.b64encode(PNG).decode()


def chatted(calls: list[JsonObject]) -> JsonObject:
    message = {"role": "assistant", "content": None, "refusal": None, "tool_calls": calls}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "tool_calls"}
    head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1_790_000_000}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return {**head, "model": "gpt-4.1", "choices": [choice], "usage": usage}


def by_chat(url: str, chat: onrecord.Conversation, request: Request) -> None:
    plain = openai.OpenAI(base_url=url, api_key="x", max_retries=0)
    chat.record(plain).chat.completions.create(model="gpt-4.1", **request)
    plain.close()


def by_messages(url: str, chat: onrecord.Conversation, request: Request) -> None:
    plain = anthropic.Anthropic(base_url=url.removesuffix("/v1"), api_key="x", max_retries=0)
    with chat.record(plain) as client:
        client.messages.create(model="claude-sonnet-5", max_tokens=64, **request)


def by_responses(url: str, chat: onrecord.Conversation, request: Request) -> None:
    with chat.record(openai.OpenAI(base_url=url, api_key="x", max_retries=0)) as client:
        client.responses.create(model="gpt-5.4", **request)


def by_converse(url: str, chat: onrecord.Conversation, request: Request) -> None:
    client: Any = chat.record(boto_client(url.removesuffix("/v1")), splice=True)
    client.converse(modelId=CLAUDE, **request)
    client.close()


def by_gemini(model: str) -> Callable[[str, onrecord.Conversation, Request], None]:
    def ask(url: str, chat: onrecord.Conversation, request: Request) -> None:
        client: Any = chat.record(genai_client(url.removesuffix("/v1")), splice=True)
        with client:
            client.models.generate_content(model=model, **request)

    return ask


def by_ollama(url: str, chat: onrecord.Conversation, request: Request) -> None:
    client: Any = chat.record(ollama.Client(host=url.removesuffix("/v1")), splice=True)
    with client:
        client.chat(model="qwen3", **request)


@dataclass(frozen=True)
class Way:
    """An API, the model that is asked, what it answers, and whether results may hold pictures."""

    api: str
    model: str
    answer: JsonObject
    ask: Callable[[str, onrecord.Conversation, Request], None]
    is_inline: bool = False

    def __str__(self) -> str:
        return self.model


CALLED = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
SAID = gemini_wire.said(gemini_wire.call(name="look"))
CLAUDE = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
WAYS = [
    Way(
        "anthropic-messages",
        "claude-sonnet-5",
        anthropic_wire.message(anthropic_wire.call(), stop_reason="tool_use"),
        by_messages,
        is_inline=True,
    ),
    Way(
        "openai-responses",
        "gpt-5.4",
        openai_responses_wire.response(openai_responses_wire.call()),
        by_responses,
        is_inline=True,
    ),
    Way(
        "bedrock-converse",
        CLAUDE,
        bedrock_wire.body(bedrock_wire.call(), stop="tool_use"),
        by_converse,
        is_inline=True,
    ),
    Way("openai-chat", "gpt-4.1", chatted([CALLED]), by_chat),
    Way("gemini", "gemini-2.5-pro", SAID, by_gemini("gemini-2.5-pro")),
    Way("gemini", "gemini-3-pro", SAID, by_gemini("gemini-3-pro"), is_inline=True),
    Way(
        "ollama",
        "qwen3",
        ollama_wire.last({"content": "", "tool_calls": [ollama_wire.call("look", "call_1")]}),
        by_ollama,
    ),
]


@pytest.fixture
def chat(tmp_path: Path) -> Iterator[onrecord.Conversation]:
    with onrecord.connect(f"sqlite:///{tmp_path / 'talks.db'}") as store:
        chat = store.conversation("talk")
        chat.user("What is there?")
        yield chat


def asked_twice(chat: onrecord.Conversation, way: Way) -> JsonObject:
    """Ask, give the result of the call, ask again; return what was sent then."""
    answer: Reply = whole(way.answer)
    with replaying(answer, answer) as server:
        way.ask(server.url, chat, chat.request(way.api, model=way.model))
        (call,) = chat.open_calls()
        chat.tool_result(call.id, {"found": [{"at": "the lake", "picture": PNG}]})
        way.ask(server.url, chat, chat.request(way.api, model=way.model))
    sent: JsonObject = json.loads(server.requests[-1].body)
    return sent


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_a_document_deep_in_a_result_reaches_the_model(
    chat: onrecord.Conversation, way: Way
) -> None:
    sent = asked_twice(chat, way)
    *_, last = sent[LISTS.get(way.api, "messages")]
    assert ENCODED in json.dumps(last)
    assert json.dumps(sent).count(ENCODED) == 1
    assert (PREAMBLE in json.dumps(last)) != way.is_inline


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_what_was_synthesised_is_pinned_by_what_was_sent_and_is_no_event(
    chat: onrecord.Conversation, way: Way
) -> None:
    asked_twice(chat, way)
    outcomes = list(replays(chat))
    assert [outcome.is_whole for outcome in outcomes] == [True, True]
    assert [outcome.is_rendered for outcome in outcomes] == [True, True]
    told = [event.type for event in chat.log.read()]
    assert told.count("tool_result.recorded") == told.count("document.extracted") == 1
    said = [event.body for event in chat.log.read() if event.type == "message.recorded"]
    assert [json.loads(body or b"")["role"] for body in said].count("user") == 1


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_a_request_that_was_sent_refers_to_the_bytes_of_a_document_and_does_not_repeat_them(
    chat: onrecord.Conversation, way: Way
) -> None:
    asked_twice(chat, way)
    (document,) = chat.documents()
    *_, sent = (event.event() for event in chat.log.read() if event.type == "request.sent")
    assert isinstance(sent, RequestSent)
    apart = [span for span in sent.template.spans if isinstance(span, BlobSpan | EncodedSpan)]
    assert document.blob is not None
    assert apart == [EncodedSpan(blob=document.blob)]
