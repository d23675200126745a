"""What OpenAI's own client makes of recorded completions is what was recorded of them.

Where it does not break: it joins the roles and ids that other servers repeat, and raises where
they leave an index out.
"""

from typing import Any, cast

import openai
import pytest
from openai.lib.streaming.chat import ChatCompletionStreamState

from onrecord.adapters.demo.services.connection import Reply
from onrecord.adapters.wire.clients.record import record
from onrecord.domain.content import Native
from onrecord.domain.events import (
    Event,
    MessageRecorded,
    OpaqueRecorded,
    ReasoningRecorded,
    ToolCallRecorded,
)
from onrecord.domain.request_template import canonical
from tests.adapters.recorded_calls import Recorded
from tests.adapters.replaying_server import replaying
from tests.adapters.wire.openai_chat.openai_chat_streams import plain, put_together
from tests.corpus.openai_chat_wire import exchanges, files, is_whole, messages_said
from tests.corpus.wire import MISSING, Exchange, JsonObject, is_there, origin

pytestmark = pytest.mark.skipif(not is_there(), reason=MISSING)

KINDS = {True: "text/event-stream", False: "application/json"}
SERVERS = "openai-compatible/pydantic-ai/test_"

# Recordings of whose streams the client makes something else than was said, and how.
LOST_BY_THE_CLIENT = {
    f"{SERVERS}huggingface__test_hf_model_thinking_part_iter.json": "joins the roles",
    f"{SERVERS}openrouter__test_openrouter_stream_with_reasoning.json": "joins the roles",
    f"{SERVERS}openrouter__test_openrouter_streaming_reasoning.json": "joins the roles",
    f"{SERVERS}openrouter__test_openrouter_web_search_annotations_stream.json": "no index: raises",
    f"{SERVERS}openrouter__test_openrouter_stream_error.json": "raises the error",
    f"{SERVERS}snowflake__test_snowflake_thinking_streaming.json": "joins the roles",
    f"{SERVERS}groq__test_tool_use_failed_error_streaming.json": "raises the error",
    f"{SERVERS}groq__test_groq_model_web_search_tool_stream.json": "joins arguments that repeat",
    f"{SERVERS}mistral__test_mistral_model_thinking_part_iter.json": "loses the list of parts",
    "openai-compatible/vercel-ai/mistral-reasoning.chunks.txt": "loses the list of parts",
    "openai-chat/simonw-llm/test_tools_streaming_variant_b.json": "joins the roles",
    "openai-compatible/vercel-ai/openai-compatible-anthropic-fallback-tool-call.sse": (
        "a first index of 1: raises"
    ),
}


def answered(name: str, *, is_stream: bool) -> list[Exchange]:
    found = [exchange for exchange in exchanges(name) if exchange.status == 200]
    ended = (it for it in found if is_whole(it) or origin(name) in LOST_BY_THE_CLIENT)
    return [exchange for exchange in ended if exchange.is_stream == is_stream]


def named(*, is_stream: bool) -> list[str]:
    return [name for name in files() if answered(name, is_stream=is_stream)]


def reply(exchange: Exchange) -> Reply:
    kind = KINDS[exchange.is_stream]
    return Reply(200, {"content-type": kind}, exchange.body, chunked=exchange.is_stream)


def calling(url: str, recorded: Recorded) -> openai.OpenAI:
    return record(openai.OpenAI(api_key="k", base_url=url, max_retries=0), recorded.binding)


def said(recorded: Recorded) -> JsonObject:
    """The message that was recorded of the last answer."""
    blocks = [
        (getattr(event, "response", None), block)
        for event in recorded.events()
        for block in held(event)
        if getattr(event, "line", None) is None
    ]
    last = blocks[-1][0]
    return put_together([block for response, block in blocks if response == last])


def held(event: Event) -> list[JsonObject]:
    match event:
        case MessageRecorded(role="assistant", content=(Native(value=value),)):
            return [value]
        case (
            ReasoningRecorded(content=Native(value=value))
            | ToolCallRecorded(content=Native(value=value))
            | OpaqueRecorded(content=Native(value=value))
        ):
            return [value]
        case _:
            return []


def ask(client: openai.OpenAI, **more: Any) -> Any:
    create: Any = client.chat.completions.create
    return create(model="m", messages=[{"role": "user", "content": "Hello"}], **more)


@pytest.mark.parametrize("name", named(is_stream=False))
def test_its_client_reads_the_messages_of_bodies_as_they_were_recorded(
    name: str, tmp_path: Any
) -> None:
    for number, exchange in enumerate(answered(name, is_stream=False)):
        recorded = Recorded(tmp_path / str(number))
        with replaying(reply(exchange)) as server, calling(server.url, recorded) as client:
            completion = ask(client)
        message = completion.choices[0].message
        assert plain(said(recorded)) == plain(as_sent(message))


@pytest.mark.parametrize(
    "name", [name for name in named(is_stream=True) if origin(name) not in LOST_BY_THE_CLIENT]
)
def test_its_client_puts_the_messages_of_streams_together_as_they_were_recorded(
    name: str, tmp_path: Any
) -> None:
    for number, exchange in enumerate(answered(name, is_stream=True)):
        recorded = Recorded(tmp_path / str(number))
        with replaying(reply(exchange)) as server, calling(server.url, recorded) as client:
            own = put_together_by(client)
        assert plain(canonical(said(recorded))) == plain(canonical(own))


def put_together_by(client: openai.OpenAI) -> JsonObject:
    """The message that the client itself makes of a stream."""
    state: Any = ChatCompletionStreamState()
    for chunk in list(ask(client, stream=True)):  # To the end, for it may raise amid its own work.
        state.handle_chunk(chunk)
    return without_own(as_sent(state.current_completion_snapshot.choices[0].message))


def as_sent(message: Any) -> JsonObject:
    """The client's message as the client would send it back."""
    return cast("JsonObject", message.model_dump(mode="json", exclude_unset=True, warnings=False))


def without_own(message: JsonObject) -> JsonObject:
    """A message without what only the client has: what it parsed, and the indexes of calls."""
    calls: list[JsonObject] = message.get("tool_calls") or []
    for call in calls:
        call.pop("index", None)
        call["function"].pop("parsed_arguments", None)
    return {key: value for key, value in message.items() if key != "parsed"}


@pytest.mark.parametrize(
    "name", [name for name in named(is_stream=True) if origin(name) in LOST_BY_THE_CLIENT]
)
def test_what_its_client_breaks_is_recorded_all_the_same(name: str, tmp_path: Any) -> None:
    broken: list[bool] = []
    for number, exchange in enumerate(answered(name, is_stream=True)):
        recorded = Recorded(tmp_path / str(number))
        with replaying(reply(exchange)) as server, calling(server.url, recorded) as client:
            own = made_of(client)
        has_error = b'{"error"' in exchange.body or b'"error":{' in exchange.body
        message = messages_said(exchange)[0]
        assert recorded.types()[-1] == f"response.{'interrupted' if has_error else 'completed'}"
        assert has_error or plain(said(recorded)) == plain(message)
        broken.append(own is None or plain(canonical(own)) != plain(canonical(message)))
    assert any(broken)


def made_of(client: openai.OpenAI) -> JsonObject | None:
    """What the client makes of a stream; None where it raises."""
    try:
        return put_together_by(client)
    except (openai.APIError, RuntimeError, IndexError, UserWarning):
        return None
