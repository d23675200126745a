"""What a runner is made of, and what it declares."""

from typing import Any

import pytest

import onrecord
from onrecord.domain.errors import InvalidContent, InvalidInput
from tests.adapters.tools.conversations import call_again


@pytest.fixture
def chat() -> onrecord.Conversation:
    return onrecord.connect("memory://").conversation("support/4711")


def track(parcel: str) -> dict[str, str]:
    """Find a parcel."""
    return {"parcel": parcel, "depot": "North"}


def refuse(parcel: str) -> str:
    """Refuse to find it."""
    raise LookupError(f"{parcel} is not ours")


def test_two_tools_of_one_name_are_refused(chat: onrecord.Conversation) -> None:
    with pytest.raises(InvalidContent, match="'track'"):
        onrecord.ToolRunner(chat, [track, onrecord.tool(refuse, name="track")])


@pytest.mark.parametrize("timeout", [0, -1, "1", True, float("nan")])
def test_a_time_out_is_a_number_above_zero(chat: onrecord.Conversation, timeout: Any) -> None:
    with pytest.raises(InvalidContent, match="time-out"):
        onrecord.ToolRunner(chat, [track], timeout=timeout)


@pytest.mark.parametrize("tools", ["track", track, [7], [["x"]]])
def test_what_is_no_list_of_tools_is_refused(chat: onrecord.Conversation, tools: Any) -> None:
    with pytest.raises(InvalidContent):
        onrecord.ToolRunner(chat, tools)


@pytest.mark.parametrize("conversation", ["support/4711", None])
def test_what_is_no_conversation_is_refused_in_words_that_say_so(conversation: Any) -> None:
    with pytest.raises(InvalidInput, match=r"store\.conversation\(key\)"):
        onrecord.ToolRunner(conversation, [])


def test_declaring_says_where_tools_come_from(chat: onrecord.Conversation) -> None:
    done = onrecord.ToolRunner(chat, [track, [onrecord.tool(refuse)]]).declare()
    (recorded,) = chat.events(after=done.last - 1)
    event: Any = recorded.event()
    assert [tool.name for tool in event.tools] == ["track", "refuse"]
    (source,) = event.sources
    assert (source.origin, source.tools) == ("python", ("track", "refuse"))
    assert source.sha256 == event.sha256
    request: Any = chat.user("Hello") and chat.request("anthropic-messages")
    assert [tool["name"] for tool in request["tools"]] == ["track", "refuse"]


def test_what_is_declared_is_what_is_run(chat: onrecord.Conversation) -> None:
    """A name that an API cannot spell comes back as the one that was given."""
    named = onrecord.tool(track, name="parcels/track it")
    runner = onrecord.ToolRunner(chat, [named])
    runner.declare()
    chat.user("Where is it?")
    request: Any = chat.request("openai-chat")
    spelled = request["tools"][0]["function"]["name"]
    assert spelled != named.name
    call_again(chat, spelled)
    (run,) = runner.run()
    why = "the arguments of 'parcels/track it' are not valid: parcel: it is missing"
    assert run.output == f"Error: {why}"
