"""What a runner is made of, and what it declares."""

from typing import Any

import pytest

import onrecord
from onrecord.domain.errors import InvalidContent
from tests.adapters.tools.conversations import again


@pytest.fixture
def talk() -> onrecord.Talk:
    return onrecord.connect("memory://").conversation("support/4711")


def track(parcel: str) -> dict[str, str]:
    """Find a parcel."""
    return {"parcel": parcel, "depot": "North"}


def refuse(parcel: str) -> str:
    """Refuse to find it."""
    raise LookupError(f"{parcel} is not ours")


def test_two_tools_of_one_name_are_refused(talk: onrecord.Talk) -> None:
    with pytest.raises(InvalidContent, match="'track'"):
        onrecord.ToolRunner(talk, [track, onrecord.tool(refuse, name="track")])


@pytest.mark.parametrize("timeout", [0, -1, "1", True, float("nan")])
def test_a_time_out_is_a_number_above_zero(talk: onrecord.Talk, timeout: Any) -> None:
    with pytest.raises(InvalidContent, match="time-out"):
        onrecord.ToolRunner(talk, [track], timeout=timeout)


@pytest.mark.parametrize("tools", ["track", track, [7], [["x"]]])
def test_what_is_no_list_of_tools_is_refused(talk: onrecord.Talk, tools: Any) -> None:
    with pytest.raises(InvalidContent):
        onrecord.ToolRunner(talk, tools)


def test_declaring_says_where_tools_come_from(talk: onrecord.Talk) -> None:
    done = onrecord.ToolRunner(talk, [track, [onrecord.tool(refuse)]]).declare()
    (recorded,) = talk.events(after=done.last - 1)
    event: Any = recorded.event()
    assert [tool.name for tool in event.tools] == ["track", "refuse"]
    (source,) = event.sources
    assert (source.origin, source.tools) == ("python", ("track", "refuse"))
    assert source.sha256 == event.sha256
    request: Any = talk.user("Hello") and talk.request("anthropic-messages")
    assert [tool["name"] for tool in request["tools"]] == ["track", "refuse"]


def test_what_is_declared_is_what_is_run(talk: onrecord.Talk) -> None:
    """A name that an API cannot spell comes back as the one that was given."""
    named = onrecord.tool(track, name="parcels/track it")
    runner = onrecord.ToolRunner(talk, [named])
    runner.declare()
    talk.user("Where is it?")
    request: Any = talk.request("openai-chat")
    spelled = request["tools"][0]["function"]["name"]
    assert spelled != named.name
    again(talk, spelled)
    (run,) = runner.run()
    why = "the arguments of 'parcels/track it' are not valid: parcel: it is missing"
    assert run.given == f"Error: {why}"
