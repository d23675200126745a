"""Branches of a session: what the SDK's `AdvancedSQLiteSession` does, and ours does too."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.frameworks.branching_sessions import (
    TURNS,
    MakeSession,
    answer,
    branches,
    contents,
    make,
    session,
    user,
)

__all__ = ["make", "session"]


async def test_a_branch_holds_what_came_before_the_turn_and_goes_its_own_way(session: Any) -> None:
    await session.add_items(TURNS)
    assert await session.create_branch_from_turn(2, "other") == "other"
    assert await contents(session) == ["one", "1"]
    await session.add_items([user("two, otherwise")])
    assert await contents(session) == ["one", "1", "two, otherwise"]
    assert await contents(session, limit=2) == ["1", "two, otherwise"]
    assert await contents(session, branch_id="main") == [each["content"] for each in TURNS]
    assert await branches(session) == {"main": (6, 3, False), "other": (3, 2, True)}
    await session.switch_to_branch("main")
    await session.add_items([user("four")])
    assert (await contents(session))[-2:] == ["3", "four"]
    assert await contents(session, branch_id="other") == ["one", "1", "two, otherwise"]


async def test_a_branch_of_a_branch_counts_turns_from_the_beginning(session: Any) -> None:
    await session.add_items(TURNS)
    await session.create_branch_from_turn(3, "a")
    await session.add_items([user("three a"), answer("3 a"), user("four a")])
    await session.create_branch_from_turn(4, "b")
    await session.add_items([user("four b")])
    assert await contents(session) == ["one", "1", "two", "2", "three a", "3 a", "four b"]
    turns = await session.get_conversation_turns()
    assert [(turn["turn"], turn["content"]) for turn in turns] == [
        *((1, "one"), (2, "two"), (3, "three a"), (4, "four b")),
    ]


async def test_a_branch_begins_before_the_first_prompt_that_says_a_text(session: Any) -> None:
    await session.add_items(TURNS)
    await session.create_branch_from_content("TWO", "other")
    assert await contents(session) == ["one", "1"]
    with pytest.raises(ValueError):
        await session.create_branch_from_content("nowhere", "another")
    assert set(await branches(session)) == {"main", "other"}


async def test_branches_without_a_name_get_different_ones(session: Any) -> None:
    await session.add_items(TURNS)
    names = list[str]()
    for _ in range(3):
        names.append(await session.create_branch_from_turn(2))
        await session.switch_to_branch("main")
    assert len(set(names)) == 3
    assert all(name.startswith("branch_from_turn_2") for name in names)


@pytest.mark.parametrize("turn", [0, 4, -1])
async def test_no_branch_begins_at_a_turn_that_is_not_there(session: Any, turn: int) -> None:
    await session.add_items([answer("before"), *TURNS])
    with pytest.raises(ValueError):
        await session.create_branch_from_turn(turn, "other")
    assert set(await branches(session)) == {"main"}
    assert await session.create_branch_from_turn(2, "other") == "other"


@pytest.mark.parametrize("name", ["", "  ", "main"])
async def test_a_branch_has_a_name_that_says_something(session: Any, name: str) -> None:
    await session.add_items(TURNS)
    with pytest.raises(ValueError):
        await session.create_branch_from_turn(2, name)


async def test_a_name_that_a_branch_had_is_not_given_again(session: Any) -> None:
    await session.add_items(TURNS)
    await session.create_branch_from_turn(2, "other")
    with pytest.raises(ValueError):
        await session.create_branch_from_turn(1, "other")
    await session.delete_branch("other", force=True)
    with pytest.raises(ValueError):
        await session.create_branch_from_turn(2, "other")
    await session.clear_session()
    await session.add_items(TURNS)
    with pytest.raises(ValueError):
        await session.create_branch_from_turn(2, "other")


async def test_a_branch_that_is_not_there_is_neither_switched_to_nor_deleted(session: Any) -> None:
    await session.add_items(TURNS)
    for refused in (
        *(session.switch_to_branch("nowhere"), session.delete_branch("nowhere")),
        *(session.delete_branch("main", force=True), session.delete_branch(" ")),
    ):
        with pytest.raises(ValueError):
            await refused
    assert await contents(session) == [each["content"] for each in TURNS]
    assert await contents(session, branch_id="nowhere") == []


async def test_the_current_branch_is_deleted_by_force_alone(session: Any) -> None:
    await session.add_items(TURNS)
    await session.create_branch_from_turn(2, "other")
    with pytest.raises(ValueError):
        await session.delete_branch("other")
    assert await contents(session) == ["one", "1"]
    await session.delete_branch("other", force=True)
    assert await branches(session) == {"main": (6, 3, True)}


async def test_a_branch_outlives_the_one_that_it_left(session: Any) -> None:
    await session.add_items(TURNS)
    await session.create_branch_from_turn(3, "a")
    await session.create_branch_from_turn(2, "b")
    await session.delete_branch("a")
    assert await contents(session) == ["one", "1"]
    assert set(await branches(session)) == {"main", "b"}


async def test_a_pop_takes_from_the_current_branch_alone(session: Any) -> None:
    await session.add_items(TURNS)
    await session.create_branch_from_turn(2, "other")
    await session.add_items([user("two b")])
    popped = [(await session.pop_item())["content"] for _ in range(2)]
    assert popped == ["two b", "1"]
    assert await contents(session) == ["one"]
    assert await contents(session, branch_id="main") == [each["content"] for each in TURNS]
    await session.switch_to_branch("main")
    for _ in range(6):
        await session.pop_item()
    assert await session.pop_item() is None
    assert await contents(session, branch_id="other") == ["one"]


async def test_which_branch_is_current_is_each_objects_own(make: MakeSession) -> None:
    first, second = make(), make()
    await first.add_items(TURNS)
    await first.create_branch_from_turn(2, "other")
    assert await contents(second) == [each["content"] for each in TURNS]
    await second.switch_to_branch("other")
    await second.add_items([user("two b")])
    assert await contents(first) == ["one", "1", "two b"]
    assert await contents(make()) == [each["content"] for each in TURNS]


@pytest.mark.parametrize("verb", ["add", "pop", "get", "turns", "list"])
async def test_who_was_on_a_branch_of_a_session_that_was_cleared_is_on_main(
    make: MakeSession, verb: str
) -> None:
    first, second = make(), make()
    await first.add_items(TURNS)
    await first.create_branch_from_turn(2, "other")
    await second.clear_session()
    assert await branches(second) == {}
    await second.add_items([user("anew"), answer("yes")])
    match verb:
        case "add":
            await first.add_items([user("more")])
            assert await contents(second) == ["anew", "yes", "more"]
        case "pop":
            assert (await first.pop_item())["content"] == "yes"
            assert await contents(second) == ["anew"]
        case "get":
            assert await contents(first) == ["anew", "yes"]
        case "turns":
            assert [turn["content"] for turn in await first.get_conversation_turns()] == ["anew"]
        case _:
            assert await branches(first) == {"main": (2, 1, True)}


async def test_two_that_make_a_branch_of_one_name_at_once_make_one(make: MakeSession) -> None:
    await make().add_items(TURNS)
    made = await asyncio.gather(
        *(make().create_branch_from_turn(2, "other") for _ in range(4)), return_exceptions=True
    )
    assert [each for each in made if isinstance(each, str)] == ["other"]
    assert sum(isinstance(each, ValueError) for each in made) == 3
