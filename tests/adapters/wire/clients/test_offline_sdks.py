"""What an SDK returned is recorded by another program as its wire would have been."""

from collections.abc import Callable
from typing import Any, cast

import anthropic
import boto3  # type: ignore[import-untyped]  # it has no stubs
import ollama
import openai
import pytest
from google import genai
from openai.types.chat import ParsedChatCompletion

import onrecord
from onrecord.adapters.demo.services.connection import Reply
from tests.adapters.replaying_server import replaying
from tests.adapters.wire.clients.offline_exchanges import (
    MODEL,
    body_of,
    in_hand,
    prompted,
    said,
)
from tests.contract.samples import EVERY, Sample

KEY = "not a key"
NAMES = ("text", "think", "reasoning", "tool-", "function-calls", "call", "citations", "web-search")
LOST = {
    "ollama/call-with-id": "the SDK drops the ids of calls",
    "gemini/malformed-function-call": "it drops a member of the candidate",
}
"""What the SDKs do not hand on, so that no program has it."""
OF_THE_CALL = frozenset({"request_id", "account", "template", "endpoint", "raw", "envelope"})
"""What the wire tells of a call beside its body, and members that boto3 drops."""

Ask = Callable[[onrecord.Conversation, str, bool], Any]


def listed(answer: Any, streams: bool) -> Any:
    return list(answer) if streams else answer


def ask_anthropic(chat: onrecord.Conversation, url: str, streams: bool) -> Any:
    with anthropic.Anthropic(api_key=KEY, base_url=url, max_retries=0) as plain:
        create: Any = chat.record(plain).messages.create
        body = body_of(chat, "anthropic-messages")
        return listed(create(max_tokens=9, stream=streams, **body), streams)


def ask_openai(chat: onrecord.Conversation, url: str, streams: bool) -> Any:
    with openai.OpenAI(api_key=KEY, base_url=f"{url}/v1", max_retries=0) as plain:
        create: Any = chat.record(plain).chat.completions.create
        return listed(create(stream=streams, **body_of(chat, "openai-chat")), streams)


def ask_responses(chat: onrecord.Conversation, url: str, streams: bool) -> Any:
    with openai.OpenAI(api_key=KEY, base_url=f"{url}/v1", max_retries=0) as plain:
        create: Any = chat.record(plain).responses.create
        return listed(create(stream=streams, **body_of(chat, "openai-responses")), streams)


def ask_genai(chat: onrecord.Conversation, url: str, streams: bool) -> Any:
    options: Any = {"base_url": url}
    client = genai.Client(api_key=KEY, http_options=options)
    models: Any = chat.record(client).models
    generate = models.generate_content_stream if streams else models.generate_content
    answer = listed(generate(model=MODEL, **chat.request("gemini")), streams)
    client.close()
    return answer


def ask_ollama(chat: onrecord.Conversation, url: str, streams: bool) -> Any:
    client: Any = chat.record(ollama.Client(host=url))
    answer = listed(client.chat(stream=streams, **body_of(chat, "ollama")), streams)
    client._client.close()
    return answer


def ask_boto(chat: onrecord.Conversation, url: str, streams: bool) -> Any:
    made = cast("Any", boto3).client(
        "bedrock-runtime",
        region_name="us-east-1",
        endpoint_url=url,
        aws_access_key_id=KEY,
        aws_secret_access_key=KEY,
    )
    client: Any = chat.record(made)
    request = dict(chat.request("bedrock-converse"))
    if not streams:
        return client.converse(modelId=MODEL, **request)
    answer = client.converse_stream(modelId=MODEL, **request)
    stream = answer["stream"]
    answer["stream"] = list(stream)
    stream.close()
    return answer


SDKS: dict[str, Ask] = {
    "anthropic-messages": ask_anthropic,
    "openai-chat": ask_openai,
    "openai-responses": ask_responses,
    "gemini": ask_genai,
    "ollama": ask_ollama,
    "bedrock-converse": ask_boto,
}


def is_taken(sample: Sample) -> bool:
    name = sample.path.stem
    return (
        sample.expected["complete"]
        and name.startswith(NAMES)
        and f"{sample.api}/{name}" not in LOST
    )


@pytest.mark.parametrize("sample", [it for it in EVERY if is_taken(it)], ids=str)
def test_what_an_sdk_returned_is_recorded_as_its_wire(sample: Sample) -> None:
    wire, chat = prompted(), prompted()
    reply = Reply(200, {"content-type": sample.content_type}, sample.data)
    with replaying(reply) as server:
        native = SDKS[sample.api](wire, server.url.removesuffix("/v1"), not sample.is_body)
    in_hand(chat, sample.api, native)
    one, other = (said(each, without=OF_THE_CALL) for each in (chat, wire))
    # An SDK has the members of a block in an order of its own, so they are compared as objects.
    assert one.open_calls == other.open_calls
    assert answers(one.events) == answers(other.events)


def answers(events: list[Any]) -> list[Any]:
    return [event for event in events if event[0] != "request.sent"]


def test_what_sdks_add_for_their_callers_is_not_recorded() -> None:
    chat = prompted()
    chat.request("openai-chat")
    parsed: Any = ParsedChatCompletion[Any]
    message = {"role": "assistant", "content": "{}", "parsed": {"made": "up"}}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    native: Any = parsed.model_validate(
        {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    )
    assert native.choices[0].message.parsed == {"made": "up"}
    chat.record_response(native, api="openai-chat")
    assert b"made" not in b"".join(each.body or b"" for each in chat.events())
    assert chat.history()[-1].text == "{}"
