"""What runners of ADK wrote goes on at each API, and is told as ADK itself would tell the model of it."""

# google-adk is in no environment that types are checked in: what it gives is Any.
# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false, reportMissingTypeStubs=false
# pyright: reportUntypedBaseClass=false, reportPrivateUsage=false, reportUnknownLambdaType=false

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions, EventCompaction
from google.adk.flows.llm_flows import contents as adk_contents
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.genai import types

import onrecord
from onrecord.adapters.frameworks.sessions import Sessions
from onrecord.adapters.store import Store
from onrecord.frameworks.adk import OnrecordSessionService
from onrecord.projections.frameworks.adk import ADK, read_items
from onrecord.projections.frameworks.framework import StreamItems
from tests.adapters.frameworks.written_sessions import APIS, complaints

ONE: dict[str, Any] = {"app_name": "desk", "user_id": "ana", "session_id": "one"}
THOUGHT = types.Part(text="Look.", thought=True, thought_signature=b"\xfb\xff\x00")
PNG = b"\x89PNG\xfb\xff" * 3
IMAGE = types.Part.from_bytes(data=PNG, mime_type="image/png")


class Scripted(BaseLlm):  # type: ignore[misc]
    """A model that says one content after the other."""

    steps: list[Any]

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
        yield LlmResponse(content=types.Content(role="model", parts=self.steps.pop(0)))


def track(parcel: str) -> dict[str, str]:
    """Say where a parcel is."""
    return {"at": f"{parcel} is in depot North"}


def text(said: str) -> Any:
    return types.Part(text=said)


def call(name: str, call_id: str | None = None, **arguments: Any) -> Any:
    return types.Part(
        function_call=types.FunctionCall(id=call_id, name=name, args=arguments),
        thought_signature=b"sig",
    )


def answer(call_id: str, at: str) -> Any:
    response = types.FunctionResponse(id=call_id, name="track", response={"at": at})
    return types.Part(function_response=response)


def event(author: str, number: float, *parts: Any, invocation: str = "first") -> Any:
    role = "user" if author == "user" or parts[0].function_response else "model"
    content = types.Content(role=role, parts=list(parts))
    return Event(author=author, content=content, timestamp=number, invocation_id=invocation)


def action(number: float, **actions: Any) -> Any:
    return Event(author="user", timestamp=number, actions=EventActions(**actions))


def summary(start: float, end: float, said: str) -> Any:
    content = types.Content(role="model", parts=[text(said)])
    return action(
        99,
        compaction=EventCompaction(
            start_timestamp=start, end_timestamp=end, compacted_content=content
        ),
    )


async def appended(store: Store, *events: Any) -> tuple[Any, onrecord.Conversation]:
    service = OnrecordSessionService(store)
    session = await service.create_session(**ONE)
    for each in events:
        await service.append_event(session, each)
    return session, store.conversation(service.conversation_key(**ONE))


async def ran(store: Store, agent: Any, *said: str) -> tuple[Any, onrecord.Conversation]:
    service = OnrecordSessionService(store)
    await service.create_session(**ONE)
    runner = Runner(app_name="desk", agent=agent, session_service=service)
    for words in said:
        message = types.Content(role="user", parts=[text(words)])
        async for _ in runner.run_async(user_id="ana", session_id="one", new_message=message):
            pass
    session = await service.get_session(**ONE)
    return session, store.conversation(service.conversation_key(**ONE))


def must_go_on_everywhere(conversation: onrecord.Conversation, *said: str) -> None:
    for api in APIS:
        request = conversation.request(api)
        assert complaints(api, request) == (), api
        assert all(each in str(request.body) for each in said), api


async def test_a_run_with_tools_and_files_goes_on_everywhere(store: Store) -> None:
    steps = [[THOUGHT, call("track", parcel="NW-1")], [text("In depot North.")], [text("Yes.")]]
    agent = LlmAgent(name="desk", model=Scripted(model="x", steps=steps), tools=[track])
    session, conversation = await ran(store, agent, "Where is NW-1?", "Sure?")
    await OnrecordSessionService(store).append_event(
        session, event("user", 2e9, text("Is this it?"), IMAGE)
    )
    assert [(turn.role, turn.text) for turn in conversation.history() if turn.text] == [
        ("user", "Where is NW-1?"),
        ("assistant", "In depot North."),
        ("user", "Sure?"),
        ("assistant", "Yes."),
        ("user", "Is this it?"),
    ]
    must_go_on_everywhere(
        conversation,
        *("Where is NW-1?", "NW-1 is in depot North", "In depot North.", "Sure?", "Yes."),
    )
    sent = str(conversation.request("gemini").body)
    assert "+/8A" in sent
    assert b64encode(PNG).decode() in sent


async def test_agents_that_worked_beside_each_other_are_no_turns_and_told_of(store: Store) -> None:
    beside = [event(name, 2, text(f"said by {name}")) for name in ("one", "two")]
    for each in beside:
        each.branch = f"both.{each.author}"
    _, conversation = await appended(store, event("user", 1, text("Go.")), *beside)
    assert [turn.text for turn in conversation.history()] == ["Go."]
    notes = [note for note in conversation.request("gemini").report if note.rule == "item"]
    assert [note.version for note in notes] == [4, 5]
    must_go_on_everywhere(conversation, "Go.")


async def test_a_tool_that_takes_long_has_one_result(store: Store) -> None:
    steps = [[call("track", parcel="NW-1")], [text("Wait.")]]
    tool = LongRunningFunctionTool(track)
    agent = LlmAgent(name="desk", model=Scripted(model="x", steps=steps), tools=[tool])
    session, conversation = await ran(store, agent, "Where is NW-1?")
    called = next(each for event in session.events for each in event.get_function_calls())
    await OnrecordSessionService(store).append_event(
        session, event("user", 2e9, answer(called.id, "In depot South"))
    )
    must_go_on_everywhere(conversation, "In depot South")
    assert "is in depot North" not in str(conversation.request("openai-chat").body)


PLAIN = [
    event("user", 1, text("Where are they?")),
    event("desk", 2, call("track", "1"), call("track", "2")),
    event("desk", 3, answer("1", "North"), answer("2", "South")),
    event("desk", 4, text("North, South."), IMAGE),
]
MORE = [
    event("user", 5, text("And NW-3?"), invocation="second"),
    event("desk", 6, THOUGHT, text("East."), invocation="second"),
]
AGAIN = event("user", 8, text("And NW-4?"), invocation="third")
LATE = [
    event("user", 1, text("Where is it?")),
    event("desk", 2, call("track", "1"), call("track", "2")),
    event("desk", 3, answer("1", "unknown"), answer("2", "South")),
    event("desk", 4, text("I wait.")),
]
TOLD: dict[str, list[Any]] = {
    "plain": [*PLAIN, *MORE],
    "thought only": [*PLAIN, event("desk", 5, types.Part(text="hm", thought=True))],
    "signature only": [*PLAIN, event("desk", 5, types.Part(thought_signature=b"s"))],
    "rewound": [*PLAIN, *MORE, action(7, rewind_before_invocation_id="second"), AGAIN],
    "all rewound": [*PLAIN, *MORE, action(7, rewind_before_invocation_id="first"), AGAIN],
    "compacted": [*PLAIN, *MORE, summary(1, 4, "They are in North and South.")],
    "compacted twice": [*PLAIN, *MORE, summary(1, 3, "both"), summary(1, 5, "all of them")],
    "overlapping": [*PLAIN, *MORE, summary(1, 4, "both"), summary(4, 5, "the third")],
    "in part": [*PLAIN, *MORE, summary(2, 3, "looked")],
    "late answer": [*LATE, summary(1, 4, "looked"), event("user", 7, answer("1", "North"))],
    "asked": [
        *PLAIN,
        event("desk", 5, call("adk_request_confirmation", "3")),
        event("user", 6, text("Yes."), invocation="second"),
    ],
    "heard": [
        *PLAIN,
        Event(author="user", timestamp=5, input_transcription=types.Transcription(text="And?")),
        Event(author="desk", timestamp=6, output_transcription=types.Transcription(text="East.")),
    ],
}


def _parts(contents: Iterable[Any]) -> list[str]:
    """The parts of all contents as texts, their bytes in one alphabet."""
    parts = [part for content in contents for part in content["parts"]]
    return [str(sorted(part.items())).translate(str.maketrans("-_", "+/")) for part in parts]


@pytest.mark.parametrize("events", TOLD.values(), ids=TOLD)
async def test_a_session_says_what_adk_would_send_of_it(
    sqlite_store: Store, events: list[Any]
) -> None:
    copies = [each.model_copy(deep=True) for each in events]
    session, conversation = await appended(sqlite_store, *copies)
    sent = adk_contents._get_contents(None, session.events, "desk", preserve_function_call_ids=True)
    expected = [each.model_dump(mode="json", by_alias=True, exclude_none=True) for each in sent]
    items = Sessions(sqlite_store, ADK.name).session("session", *ONE.values()).load().items
    messages = [message.value for message in read_items(StreamItems(items)).messages]
    assert _parts(messages) == _parts(expected)
    must_go_on_everywhere(conversation)
