"""Turns and usage of a session: what the SDK's `AdvancedSQLiteSession` tells, and ours tells too."""

from __future__ import annotations

from typing import Any

import pytest

from tests.frameworks.branching_sessions import (
    TURNS,
    answer,
    make,
    run_of,
    session,
    user,
)

__all__ = ["make", "session"]


# Turns.


async def test_turns_are_the_prompts_in_order(session: Any) -> None:
    parts = [{"type": "input_text", "text": "what is this?"}, {"type": "input_image"}]
    await session.add_items([user("x" * 150), answer("1"), {"role": "user", "content": parts}])
    turns = await session.get_conversation_turns()
    assert [(turn["turn"], turn["full_content"]) for turn in turns] == [(1, "x" * 150), (2, parts)]
    assert turns[0]["content"] == "x" * 100 + "..."
    assert turns[1]["content"].startswith('[{"type": "input_text"')
    assert all(turn["can_branch"] and turn["timestamp"] for turn in turns)


@pytest.mark.parametrize(
    ("term", "found"),
    [
        *(("PARCEL", [1, 3]), ("100%", [2]), ("a_b", [2]), ('"quoted"', [3]), ("nowhere", [])),
        ("input_text", []),
    ],
)
async def test_turns_are_found_by_what_their_prompts_say(
    session: Any, term: str, found: list[int]
) -> None:
    parts = [{"type": "input_text", "text": 'a parcel that is "quoted"'}]
    await session.add_items([user("my parcel"), answer("100% a_b parcel"), user("100% a_b")])
    await session.add_items([{"role": "user", "content": parts}])
    turns = await session.find_turns_by_content(term)
    assert [turn["turn"] for turn in turns] == found


async def test_items_are_told_by_their_turns(session: Any) -> None:
    call = {"type": "function_call", "name": "track", "arguments": "{}", "call_id": "c"}
    output = {"type": "function_call_output", "call_id": "c", "output": "North"}
    await session.add_items([answer("hello"), user("one"), call, output, answer("1"), user("two")])
    assert await session.get_conversation_by_turns() == {
        0: [{"type": "assistant", "tool_name": None}],
        1: [
            {"type": "user", "tool_name": None},
            {"type": "function_call", "tool_name": "track"},
            {"type": "function_call_output", "tool_name": None},
            {"type": "assistant", "tool_name": None},
        ],
        2: [{"type": "user", "tool_name": None}],
    }


async def test_calls_of_tools_are_counted_by_turn(session: Any) -> None:
    def call(kind: str, **members: Any) -> Any:
        return {"type": kind, **members}

    await session.add_items(
        [
            user("one"),
            *(call("function_call", name="track") for _ in range(2)),
            call("function_call", name="track", namespace="parcels"),
            call("function_call", name="weigh", namespace="weigh"),
            call("mcp_call", name="read", server_label="files"),
            call("web_search_call", id="w"),
            call("shell_call"),
            user("two"),
            call("tool_search_call"),
            call("tool_search_output"),
            call("custom_tool_call", name="track"),
            user("three"),
            call("tool_search_output"),
        ]
    )
    assert sorted(await session.get_tool_usage(), key=lambda told: (told[2], told[0])) == [
        ("files.read", 1, 1),
        ("parcels.track", 1, 1),
        ("shell_call", 1, 1),
        ("track", 2, 1),
        ("web_search_call", 1, 1),
        ("weigh", 1, 1),
        *(("tool_search", 1, 2), ("track", 1, 2), ("tool_search", 1, 3)),
    ]


# Usage.


def usage_of(tokens: int) -> dict[str, Any]:
    usage = run_of(tokens).context_wrapper.usage
    return {
        "requests": 1,
        "input_tokens": tokens,
        "output_tokens": 2 * tokens,
        "total_tokens": 3 * tokens,
        "input_tokens_details": usage.input_tokens_details.model_dump(),
        "output_tokens_details": usage.output_tokens_details.model_dump(),
    }


async def test_usage_is_kept_by_turn_and_summed(session: Any) -> None:
    assert (await session.get_session_usage(), await session.get_turn_usage()) == (None, [])
    await session.add_items([user("one"), answer("1")])
    await session.store_run_usage(run_of(10))
    await session.store_run_usage(run_of(30))
    await session.add_items([user("two"), answer("2")])
    await session.store_run_usage(run_of(100))
    assert await session.get_turn_usage() == [
        {"user_turn_number": 1, **usage_of(30)},
        {"user_turn_number": 2, **usage_of(100)},
    ]
    assert await session.get_turn_usage(2) == usage_of(100)
    assert await session.get_turn_usage(3) == {}
    assert await session.get_session_usage() == {
        "requests": 2,
        "input_tokens": 130,
        "output_tokens": 260,
        "total_tokens": 390,
        "total_turns": 2,
    }


async def test_usage_is_of_the_branch_on_which_it_was_stored(session: Any) -> None:
    await session.add_items(TURNS)
    await session.store_run_usage(run_of(10))
    await session.create_branch_from_turn(3, "other")
    assert await session.get_turn_usage() == []
    await session.add_items([user("three b")])
    await session.store_run_usage(run_of(5))
    assert [told["input_tokens"] for told in await session.get_turn_usage()] == [5]
    sums = [await session.get_session_usage(branch) for branch in ("main", "other", None)]
    assert [each["input_tokens"] for each in sums] == [10, 5, 15]
    await session.delete_branch("other", force=True)
    assert (await session.get_session_usage())["input_tokens"] == 10


async def test_a_turn_that_was_popped_takes_its_usage_along(session: Any) -> None:
    await session.add_items([user("one"), answer("1"), user("two"), answer("2")])
    await session.store_run_usage(run_of(10))
    await session.pop_item()
    assert await session.get_turn_usage(2) == usage_of(10)
    await session.pop_item()
    assert await session.get_turn_usage(2) == {}
    await session.add_items([user("two again")])
    assert await session.get_turn_usage(2) == {}


async def test_a_session_that_was_cleared_has_no_usage(session: Any) -> None:
    await session.store_run_usage(run_of(10))
    assert await session.get_session_usage() is None
    await session.add_items(TURNS)
    await session.store_run_usage(run_of(10))
    await session.clear_session()
    await session.store_run_usage(run_of(10))
    assert (await session.get_session_usage(), await session.get_turn_usage(3)) == (None, {})
