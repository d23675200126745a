"""Calls of tools that are not there: what the model is told, and when it was told often enough."""

from collections.abc import Callable
from typing import Any

import pytest

import onrecord
from onrecord.domain.errors import UnknownTool
from tests.adapters.tools.conversations import call_again, call_tools, recorded_results


@pytest.fixture
def chat() -> onrecord.Conversation:
    return onrecord.connect("memory://").conversation("support/4711")


def track(parcel: str) -> dict[str, str]:
    """Find a parcel."""
    return {"parcel": parcel}


def refuse(parcel: str) -> None:
    """Refuse to find it."""


def no_tool(name: str, hint: str, tools: str) -> str:
    return (
        f"Tool '{name}' does not exist.{hint} Available tools: [{tools}]. "
        "Use the exact tool name from this list."
    )


def track_all() -> None: ...
def track_one() -> None: ...


UNKNOWN: dict[str, tuple[list[Callable[..., Any]], str, str]] = {
    "trak": ([track, refuse], " Did you mean 'track'?", "track, refuse"),
    "TRACK": ([track, refuse], " Did you mean 'track'?", "track, refuse"),
    "track_on": (
        [track, track_all, track_one],
        " Possible matches: [track_one, track, track_all].",
        "track, track_all, track_one",
    ),
    "weather": ([track, refuse], "", "track, refuse"),
    "nothing": ([], "", ""),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_name_that_is_not_there_is_told_what_is(chat: onrecord.Conversation, name: str) -> None:
    tools, hint, listed = UNKNOWN[name]
    call_tools(chat, (name, {}))
    onrecord.ToolRunner(chat, tools).run()
    assert recorded_results(chat) == [("call_1", no_tool(name, hint, listed), True)]


@pytest.mark.parametrize("parallel", [False, True])
def test_three_unknown_names_in_a_row_are_an_error_once_all_have_results(
    chat: onrecord.Conversation, parallel: bool
) -> None:
    call_tools(chat, ("a", {}), ("b", {}), ("c", {}), ("track", {"parcel": "NW-1"}))
    with pytest.raises(UnknownTool, match="'c'") as refused:
        onrecord.ToolRunner(chat, [track], parallel=parallel).run()
    assert refused.value.names == ("a", "b", "c")
    assert len(recorded_results(chat)) == 4
    assert chat.open_calls() == []


def test_a_known_name_between_unknown_ones_begins_the_count_anew(
    chat: onrecord.Conversation,
) -> None:
    track_it = ("track", {"parcel": "NW-1"})
    call_tools(chat, ("a", {}), ("b", {}), track_it, ("c", {}), ("d", {}))
    assert len(onrecord.ToolRunner(chat, [track]).run()) == 5


def test_unknown_names_are_counted_over_rounds_and_processes(chat: onrecord.Conversation) -> None:
    for name in ("a", "b"):
        call_again(chat, name)
        onrecord.ToolRunner(chat, [track]).run()
    call_again(chat, "c")
    with pytest.raises(UnknownTool):
        onrecord.ToolRunner(chat, [track]).run()


def test_a_new_prompt_begins_the_count_anew(chat: onrecord.Conversation) -> None:
    for name in ("a", "b"):
        call_again(chat, name)
        onrecord.ToolRunner(chat, [track]).run()
    call_tools(chat, ("c", {}))
    assert len(onrecord.ToolRunner(chat, [track]).run()) == 1
