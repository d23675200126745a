from __future__ import annotations

from collections.abc import Sequence
from uuid import uuid4

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import onrecord
from onrecord.adapters.conversation.conversation import stream_of
from onrecord.adapters.streams.event_reading import events_for
from onrecord.adapters.streams.lineage import lineage
from onrecord.domain.content import ToolCall
from onrecord.domain.events import MessageRecorded, ToolCallRecorded
from onrecord.domain.log import Told
from onrecord.projections.history.windows import Window

API = "anthropic-messages"
Step = str
deeds = st.lists(st.sampled_from(["ask", "answer", "instruct", "equip", "call", "result"]))
windows = st.builds(
    Window,
    exchanges=st.integers(1, 4),
    step=st.integers(1, 3),
    pinned=st.integers(0, 3),
)


def do(chat: onrecord.Conversation, deed: Step) -> None:
    number = chat.head().version
    match deed:
        case "ask":
            chat.user(f"prompt {number}")
        case "answer":
            said = onrecord.Text(text=f"answer {number}")
            chat.log.append(MessageRecorded(role="assistant", content=(said,)))
        case "instruct":
            chat.instruct(f"instructions {number}")
        case "equip":
            chat.tools.declare([{"name": f"tool_{number}", "input_schema": {"type": "object"}}])
        case "call":
            call = ToolCall(id=f"toolu_{uuid4().hex}", name="look", arguments={})
            chat.log.append(ToolCallRecorded(call_id=call.id, name="look", content=call))
        case _:
            for call in chat.open_calls():
                chat.tool_result(call.id, "seen")


def grown(deeds: Sequence[Step], forked_at: int | None = None) -> onrecord.Conversation:
    """Return a conversation in which all that was done; forked on the way, if it says where."""
    chat = onrecord.connect("memory://").conversation("talk")
    chat.user("prompt 0")
    for number, deed in enumerate(deeds):
        if number == forked_at:
            chat = chat.fork("fork")
        do(chat, deed)
    return chat


def kept(chat: onrecord.Conversation, window: Window | None) -> list[Told]:
    segments = lineage(stream_of(chat).backend, chat.conversation_id, chat.head().version)
    return list(events_for(stream_of(chat).backend, segments, window))


@given(deeds, st.none() | st.integers(0, 5), windows)
@example(["equip", "instruct", "ask", "ask"], None, Window(exchanges=1, step=1))
@example(["instruct", "equip", "ask", "ask"], 1, Window(exchanges=1, step=1))
def test_a_window_keeps_the_exchanges_from_its_edge_and_what_is_in_force_there(
    deeds: list[Step], forked_at: int | None, window: Window
) -> None:
    chat = grown(deeds, forked_at)
    everything, windowed = kept(chat, None), kept(chat, window)
    assert [event for event in everything if event in windowed] == windowed
    cut = [event for event in everything if event not in windowed]
    full, seen = (chat.request(API, window=chosen) for chosen in (None, window))
    assert seen.get("system") == full.get("system")
    assert seen.get("tools") == full.get("tools")
    assert not cut or seen["messages"][-1]["content"][-1] == full["messages"][-1]["content"][-1]


@given(deeds, st.none() | st.integers(0, 5), windows)
def test_a_window_is_cut_at_a_prompt(
    deeds: list[Step], forked_at: int | None, window: Window
) -> None:
    chat = grown(deeds, forked_at)
    everything, windowed = kept(chat, None), kept(chat, window)
    if len(windowed) == len(everything) or window.pinned:
        return
    body = [event for event in windowed if event.type not in {"instructions.set", "tools.declared"}]
    event = body[0].event()
    assert isinstance(event, MessageRecorded)
    assert event.role == "user"


@given(deeds, st.integers(0, 5))
def test_a_fork_asks_what_its_origin_would_have_asked(deeds: list[Step], forked_at: int) -> None:
    straight, forked = grown(deeds), grown(deeds, forked_at)
    # Calls, tools and prompts are numbered by version, which begins anew in a fork.
    assert len(straight.request(API)["messages"]) == len(forked.request(API)["messages"])


def test_a_request_at_a_version_says_what_would_have_been_sent_then() -> None:
    chat = grown([])
    then = dict(chat.request(API))
    version = chat.head().version
    do(chat, "answer")
    do(chat, "ask")
    assert dict(chat.request(API, at=version)) == then
    assert dict(chat.request(API)) != then


@pytest.mark.parametrize("version", [0, 3])
def test_a_version_that_is_not_there_is_refused(version: int) -> None:
    with pytest.raises(onrecord.InvalidInput, match="the conversation is at 2"):
        grown([]).request(API, at=version)


def test_a_conversation_in_which_nothing_was_said_has_no_request() -> None:
    with pytest.raises(onrecord.InvalidInput, match="say something first"):
        onrecord.connect("memory://").conversation("talk").request(API)


def test_a_fork_shares_the_documents_of_its_origin() -> None:
    chat = onrecord.connect("memory://").conversation("talk")
    chat.user("What does it say?", documents=[b"%PDF-1.7 the report"])
    fork = chat.fork("fork").fork("fork of the fork")
    fork.user("and?")
    document = fork.request(API)["messages"][0]["content"][0]
    assert document == chat.request(API)["messages"][0]["content"][0]


def test_a_fork_leaves_its_origin_alone() -> None:
    chat = grown([])
    before = chat.events(after=0)
    fork = chat.fork("fork", reason="what if")
    fork.user("something else")
    assert chat.events(after=0) == before


def test_a_key_that_is_taken_is_no_fork() -> None:
    chat = grown([])
    chat.fork("fork").user("and?")
    with pytest.raises(onrecord.InvalidInput, match="a key that none has yet"):
        chat.fork("fork")
