"""Unchanged programs of frameworks that own their clients are recorded by a scope around them.

The frameworks take seconds to import: tests import them, for whoever only collects the tests.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncGenerator, Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import openai
import pytest

import onrecord
from onrecord.adapters.conversation.rendering import replays
from onrecord.adapters.demo.services import scenes
from onrecord.adapters.demo.services.server import DemoServer
from tests.adapters.openai_clients import KEY, MODEL, types
from tests.adapters.openai_server import Call, JsonObject, OpenAIServer, Says, Scene
from tests.adapters.recorded_calls import requests_of

if TYPE_CHECKING:
    from agents import Model as AssistantModel
    from agents import RunConfig
    from pydantic_ai.models import Model

CALLS = (Call("weather", '{"city": "Bonn"}'), Call("weather", '{"city": "Ulm"}'))
SCRIPT: list[Scene] = [
    Says("I look it up.", CALLS),
    Says("It is sunny."),
    Says("You are welcome."),
]
HANDED_OVER: list[Scene] = [
    *SCRIPT[:2],
    Says("", (Call("transfer_to_billing"),)),
    Says("I send you the bill."),
]
LISTS = {"openai-chat": "messages", "openai-responses": "input", "anthropic-messages": "messages"}

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def chat(tmp_path: Path) -> Iterator[onrecord.Conversation]:
    with onrecord.connect(f"sqlite:///{tmp_path / 'talks.db'}") as store:
        yield store.conversation("talk")


def weather(city: str) -> str:
    """Tell the weather in a city."""
    return f"It is sunny in {city}."


# -- what both come to -----------------------------------------------------------------------


def proven(chat: onrecord.Conversation, bodies: list[bytes]) -> None:
    """Every request is of the main branch, and the record gives back its very bytes."""
    sent = requests_of(chat)
    assert [it.line for it in sent] == [None] * len(bodies)
    assert [it.template.sha256 for it in sent] == [sha256(body) for body in bodies]
    assert {outcome.is_whole for outcome in replays(chat)} == {True}


def sha256(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def history(chat: onrecord.Conversation, api: str) -> tuple[Any, Any]:
    """The history that the record gives for an API, and its last message by itself."""
    *before, last = plain(chat.request(api)[LISTS[api]])
    return before, last


def plain(value: Any) -> Any:
    """A value without what an SDK leaves out when it echoes it, or spells in its own way.

    Members that say nothing, an item's status, and the spaces in a call's arguments.
    """
    match value:
        case dict():
            said = cast("JsonObject", value).items()
            members = {name: plain(held) for name, held in said if name != "status"}
            if isinstance(arguments := members.get("arguments"), str):
                members["arguments"] = json.loads(arguments)
            return {name: held for name, held in members.items() if held not in (None, [])}
        case list():
            return [plain(item) for item in cast("list[Any]", value)]
        case _:
            return value


# -- pydantic-ai -----------------------------------------------------------------------------


async def weather_twice(model: Model) -> None:
    """A program as its users write them; it knows nothing of a record."""
    from pydantic_ai import Agent

    agent = Agent(model, instructions="Be brief.", tools=[weather])
    answer = await agent.run("How is the weather in Bonn and in Ulm?")
    async with agent.run_stream("Thank you", message_history=answer.all_messages()) as stream:
        assert [piece async for piece in stream.stream_text(delta=True)]


@pytest.mark.parametrize(
    ("kind", "api"),
    [("OpenAIChatModel", "openai-chat"), ("OpenAIResponsesModel", "openai-responses")],
)
async def test_an_unchanged_pydantic_ai_agent_is_recorded(
    chat: onrecord.Conversation, kind: str, api: str
) -> None:
    from pydantic_ai.providers.openai import OpenAIProvider

    model: type[Any] = getattr(import_module("pydantic_ai.models.openai"), kind)
    with OpenAIServer(SCRIPT) as server:
        provider = OpenAIProvider(api_key=KEY, base_url=server.url)
        with chat.recording():
            await weather_twice(model(MODEL, provider=provider))
        await provider.client.close()
    proven(chat, [received.body for received in server.received])
    before, last = history(chat, api)
    assert before == plain(server.bodies[-1][LISTS[api]])
    assert "You are welcome." in json.dumps(last)
    assert types(chat).count("tool_call.recorded") == 2


async def test_an_unchanged_pydantic_ai_agent_of_anthropic_is_recorded(
    chat: onrecord.Conversation,
) -> None:
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    use: scenes.JsonObject = {
        "type": "tool_use",
        "id": "toolu_1",
        "name": "weather",
        "input": {"city": "Bonn"},
    }
    script = [
        scenes.Answer(({"type": "text", "text": "I look."}, use), stop_reason="tool_use"),
        scenes.Answer(({"type": "text", "text": "It is sunny."},)),
        scenes.Answer(({"type": "text", "text": "You are welcome."},)),
    ]
    with DemoServer(script) as server:
        provider = AnthropicProvider(api_key=KEY, base_url=server.url)
        with chat.recording():
            await weather_twice(AnthropicModel("claude-sonnet-5", provider=provider))
        await provider.client.close()
    bodies = [received.body for received in server.requests]
    proven(chat, bodies)
    *before, last = chat.request("anthropic-messages")["messages"]
    assert before == json.loads(bodies[-1])["messages"]
    assert last["content"] == [{"type": "text", "text": "You are welcome."}]


# -- OpenAI Agents ---------------------------------------------------------------------------


def quiet() -> RunConfig:
    from agents import RunConfig

    return RunConfig(tracing_disabled=True)


async def weather_then_bill(model: AssistantModel) -> None:
    """A program as its users write them; it knows nothing of a record."""
    from agents import Agent as Assistant
    from agents import Runner, function_tool

    billing = Assistant(name="billing", instructions="Send bills.", model=model)
    support = Assistant(
        name="support",
        instructions="Be brief.",
        model=model,
        tools=[function_tool(weather)],
        handoffs=[billing],
    )
    run = await Runner.run(support, "How is the weather in Bonn and in Ulm?", run_config=quiet())
    asked: Any = [*run.to_input_list(), {"role": "user", "content": "Send me the bill"}]
    streamed = Runner.run_streamed(support, asked, run_config=quiet())
    assert [event async for event in streamed.stream_events()]
    assert streamed.last_agent is billing


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(HANDED_OVER) as running:
        yield running


@pytest.fixture
async def client(server: OpenAIServer) -> AsyncGenerator[openai.AsyncOpenAI]:
    """The client that a program gives to the framework."""
    async with openai.AsyncOpenAI(api_key=KEY, base_url=server.url) as made:
        yield made


@pytest.mark.parametrize(
    ("kind", "api"),
    [("OpenAIChatCompletionsModel", "openai-chat"), ("OpenAIResponsesModel", "openai-responses")],
)
async def test_an_unchanged_openai_agents_program_is_recorded(
    chat: onrecord.Conversation,
    server: OpenAIServer,
    client: openai.AsyncOpenAI,
    kind: str,
    api: str,
) -> None:
    model: type[Any] = getattr(import_module("agents"), kind)
    with chat.recording():
        await weather_then_bill(model(MODEL, client))
    proven(chat, [received.body for received in server.received])
    before, last = history(chat, api)
    assert before == plain(server.bodies[-1][LISTS[api]])
    assert "I send you the bill." in json.dumps(last)
    assert types(chat).count("tool_result.recorded") == 3


async def test_a_run_that_is_streamed_to_a_consumer_stays_in_its_scope(
    chat: onrecord.Conversation, server: OpenAIServer, client: openai.AsyncOpenAI
) -> None:
    """The framework goes on in a task of its own while the generator around it waits."""
    from agents import Agent as Assistant
    from agents import OpenAIResponsesModel, Runner, function_tool

    agent = Assistant(
        name="support",
        model=OpenAIResponsesModel(MODEL, client),
        tools=[function_tool(weather)],
    )

    async def events() -> AsyncGenerator[str]:
        with chat.recording():
            run = Runner.run_streamed(agent, "How is the weather?", run_config=quiet())
            async for event in run.stream_events():
                yield event.type

    async for _ in events():
        pass
    await client.responses.create(model=MODEL, input="Hello")
    proven(chat, [received.body for received in server.received[:2]])
