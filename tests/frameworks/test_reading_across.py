"""What each SDK wrote by our store goes on at each API, and is told as the SDK itself tells it."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from agents import Agent, Runner, function_tool
from agents.testing import ScriptedModel
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseReasoningItem,
)

import onrecord
from onrecord.adapters.frameworks.session import NewItem
from onrecord.adapters.store import Store
from onrecord.frameworks.claude import ClaudeSessionStore, SessionKey
from onrecord.frameworks.openai_agents import OnrecordSession
from tests.adapters.frameworks.written_sessions import (
    APIS,
    SAID,
    TRANSCRIPT,
    complaints,
    entry,
    text,
)

# Not imported by name: the environment of the type checkers does not have it.
sdk: Any = importlib.import_module("claude_agent_sdk")

SESSION = "550e8400-e29b-41d4-a716-446655440000"


def must_go_on_everywhere(conversation: onrecord.Conversation, *said: str) -> None:
    for api in APIS:
        request = conversation.request(api)
        assert complaints(api, request) == (), api
        assert all(each in str(request.body) for each in said), api


def appended(
    store: Store, entries: Sequence[NewItem], project_key: str = "project"
) -> onrecord.Conversation:
    sessions = ClaudeSessionStore(store)
    key: SessionKey = {"project_key": project_key, "session_id": SESSION}
    asyncio.run(sessions.append(key, [each.item for each in entries]))
    return store.conversation(sessions.conversation_key(key))


def test_a_session_of_claude_goes_on_everywhere(store: Store) -> None:
    must_go_on_everywhere(appended(store, TRANSCRIPT), *(said for _, said in SAID))


CALLS = [
    {"type": "tool_use", "id": f"toolu_{number}", "name": "track", "input": {"n": number}}
    for number in (1, 2, 3)
]
RESULTS = [
    {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": f"result {number}"}
    for number in (1, 2, 3)
]
PARALLEL = (
    entry(1, "user", "Where are they?"),
    entry(2, "assistant", CALLS[:1]),
    entry(3, "assistant", CALLS[1:2], message={"id": "msg_2"}),
    entry(4, "assistant", CALLS[2:], message={"id": "msg_2"}),
    entry(5, "user", RESULTS[:1], parentUuid="uuid-2"),
    entry(6, "user", RESULTS[1:2], parentUuid="uuid-3"),
    entry(7, "user", RESULTS[2:], parentUuid="uuid-4"),
    entry(8, "assistant", [text("In depot North.")]),
)
REWOUND = (
    *TRANSCRIPT,
    entry(10, "user", "Where is NW-9?", parentUuid="uuid-6"),
    entry(11, "assistant", [text("In depot South.")]),
)
COMPACTED = (
    *TRANSCRIPT,
    NewItem(
        {
            "type": "system",
            "subtype": "compact_boundary",
            "uuid": "boundary",
            "parentUuid": None,
            "logicalParentUuid": "uuid-9",
        }
    ),
    entry(10, "user", "They asked for NW-1.", parentUuid="boundary", isCompactSummary=True),
    entry(11, "assistant", [text("What else?")]),
)
BESIDE = (
    *TRANSCRIPT,
    entry(10, "assistant", [text("In a sidechain.")], isSidechain=True, parentUuid="uuid-9"),
)


@pytest.mark.parametrize(
    "entries",
    [TRANSCRIPT, PARALLEL, REWOUND, COMPACTED, BESIDE],
    ids=["plain", "parallel", "rewound", "compacted", "beside"],
)
def test_a_transcript_says_to_anthropic_what_the_sdk_finds_in_it(
    sqlite_store: Store, tmp_path: Path, entries: Sequence[NewItem]
) -> None:
    conversation = appended(sqlite_store, entries, sdk.project_key_for_directory(str(tmp_path)))
    found = asyncio.run(
        sdk.get_session_messages_from_store(
            ClaudeSessionStore(sqlite_store), SESSION, directory=str(tmp_path)
        )
    )
    request = conversation.request("anthropic-messages")
    assert complaints("anthropic-messages", request) == ()
    told = [block for message in request.body["messages"] for block in message["content"]]
    contents = [message.message["content"] for message in found]
    expected = [
        block
        for content in contents
        for block in ([text(content)] if isinstance(content, str) else content)
    ]
    # Results of one round stand together in a request; a transcript has them as they came.
    assert sorted(told, key=str) == sorted(expected, key=str)
    assert told[-1] == expected[-1]


def said(words: str) -> ResponseOutputMessage:
    content = ResponseOutputText(text=words, type="output_text", annotations=[])
    return ResponseOutputMessage(
        id=f"msg_{len(words)}",
        content=[content],
        role="assistant",
        status="completed",
        type="message",
    )


async def test_a_run_of_openai_agents_goes_on_everywhere(store: Store) -> None:
    @function_tool
    def track(parcel: str) -> str:
        return f"{parcel} is in depot North"

    call = ResponseFunctionToolCall(
        id="fc_1",
        arguments='{"parcel":"NW-1"}',
        call_id="call_1",
        name="track",
        type="function_call",
    )
    thought = ResponseReasoningItem(
        id="rs_1", summary=[], type="reasoning", encrypted_content="gAAAA"
    )
    model = ScriptedModel(steps=[[thought, call], [said("In depot North.")], [said("Yes.")]])
    agent = Agent(name="desk", model=model, tools=[track])
    session = OnrecordSession("desk", store)
    await Runner.run(agent, "Where is NW-1?", session=session)
    await Runner.run(agent, "Sure?", session=session)
    await session.add_items([{"role": "user", "content": "And NW-2?"}])
    conversation = store.conversation(session.conversation_key)
    must_go_on_everywhere(
        conversation,
        *("Where is NW-1?", "NW-1 is in depot North", "In depot North.", "Yes.", "And NW-2?"),
    )
    assert conversation.request("openai-responses").body["input"] == await session.get_items()
