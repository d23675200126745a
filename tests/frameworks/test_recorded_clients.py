"""A framework keeps its session in our store, and the client of its model is recorded in the same one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import openai
import pytest
from agents import Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner, function_tool
from agents.models.interface import Model
from langchain_core.messages import AIMessage, HumanMessage
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai.conversation import Conversation
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.models.openai import OpenAIResponsesModel as PydanticResponses
from pydantic_ai.providers.openai import OpenAIProvider

import onrecord
from onrecord.adapters.store import Store
from onrecord.frameworks.langgraph import OnrecordSaver
from onrecord.frameworks.openai_agents import OnrecordSession
from onrecord.frameworks.pydantic_ai import OnrecordConversationStore
from tests.adapters.frameworks.written_sessions import texts
from tests.adapters.openai_server import Call, OpenAIServer, Says
from tests.frameworks.test_reading_across import must_go_on_everywhere
from tests.frameworks.threads import Chat, config, graph_of

SCRIPT = (
    Says("Let me look.", (Call("track", '{"parcel":"NW-1"}'),)),
    Says("In depot North."),
    Says("Quite sure."),
)
SAID = [
    ("user", "Where is NW-1?"),
    ("assistant", "Let me look."),
    ("user", ""),
    ("assistant", "In depot North."),
    ("user", "Sure?"),
    ("assistant", "Quite sure."),
]
FOUND = "NW-1 was seen at dock 7"
FROM_START_TO_END = (*(said for _, said in SAID if said), FOUND)


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(SCRIPT) as opened:
        yield opened


def track(parcel: str) -> str:
    """Tell where a parcel is."""
    return f"{parcel} was seen at dock 7"


def must_stand_once(conversation: onrecord.Conversation) -> None:
    assert texts(conversation) == SAID
    must_go_on_everywhere(conversation, *FROM_START_TO_END)
    spelled = str(conversation.request("openai-responses").body)
    assert [spelled.count(said) for said in FROM_START_TO_END] == [1] * len(FROM_START_TO_END)


@pytest.mark.parametrize("kind", [OpenAIResponsesModel, OpenAIChatCompletionsModel])
@pytest.mark.parametrize("streams", [False, True])
async def test_a_session_of_openai_agents_with_a_recorded_client_is_told_once(
    sqlite_store: Store, server: OpenAIServer, kind: Any, streams: bool
) -> None:
    session = OnrecordSession("desk", sqlite_store)
    conversation = sqlite_store.conversation(session.conversation_key)
    async with openai.AsyncOpenAI(api_key="sk-test", base_url=server.url) as plain:
        model: Model = kind("gpt-5", conversation.record(plain))
        agent = Agent(name="desk", model=model, tools=[function_tool(track)])
        for said in ("Where is NW-1?", "Sure?"):
            if streams:
                run = Runner.run_streamed(agent, said, session=session)
                async for _ in run.stream_events():
                    pass
            else:
                await Runner.run(agent, said, session=session)
    must_stand_once(conversation)
    assert len(await session.get_items()) == 7


@pytest.mark.parametrize("kind", [PydanticResponses, OpenAIChatModel])
async def test_a_conversation_of_pydantic_ai_with_a_recorded_client_is_told_once(
    sqlite_store: Store, server: OpenAIServer, kind: Any
) -> None:
    conversations = OnrecordConversationStore(sqlite_store)
    conversation = sqlite_store.conversation(conversations.conversation_key("one"))
    async with openai.AsyncOpenAI(api_key="sk-test", base_url=server.url) as plain:
        provider = OpenAIProvider(openai_client=conversation.record(plain))
        agent = PydanticAgent(kind("gpt-5", provider=provider), tools=[track])
        for said in ("Where is NW-1?", "Sure?"):
            loaded = await conversations.load("one") or Conversation(conversation_id="one")
            result = await agent.run(said, conversation=loaded)
            await conversations.save(result)
    must_stand_once(conversation)


def test_a_thread_of_langgraph_with_a_recorded_client_is_told_once(
    sqlite_store: Store, server: OpenAIServer
) -> None:
    saver = OnrecordSaver(sqlite_store)
    conversation = sqlite_store.conversation(saver.conversation_key("one"))
    with openai.OpenAI(api_key="sk-test", base_url=server.url) as plain:
        client = conversation.record(plain)

        def ask(state: Chat) -> Any:
            sent: list[Any] = [
                {"role": "user" if each.type == "human" else "assistant", "content": each.content}
                for each in state["messages"]
            ]
            reply = client.chat.completions.create(model="gpt-5", messages=sent)
            said = reply.choices[0].message.content or ""
            return {"messages": [AIMessage(said, response_metadata={"id": reply.id})]}

        app = graph_of(saver, ask)
        for said in ("Where is it?", "Sure?"):
            app.invoke({"messages": [HumanMessage(said)]}, config())
    assert texts(conversation) == [
        *(("user", "Where is it?"), ("assistant", "Let me look.")),
        *(("user", "Sure?"), ("assistant", "In depot North.")),
    ]
