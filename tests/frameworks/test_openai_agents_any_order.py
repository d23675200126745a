"""Any order of the verbs of branches and usage leaves what the SDK's `AdvancedSQLiteSession` would."""

from __future__ import annotations

import asyncio
from typing import Any

from agents.extensions.memory import AdvancedSQLiteSession
from hypothesis import given, settings
from hypothesis import strategies as st

import onrecord
from onrecord.frameworks.openai_agents import OnrecordSession
from tests.frameworks.branching_sessions import (
    answer,
    branches,
    contents,
    run_of,
    user,
)

verbs = st.lists(
    st.tuples(
        st.sampled_from(
            ("user", "user", "answer", "pop", "branch", "switch", "delete", "usage", "clear")
        ),
        st.integers(0, 7),
    ),
    max_size=25,
)


async def _act(session: Any, verb: str, number: int, step: int, names: list[str]) -> Any:
    chosen = names[number % len(names)] if names else "nowhere"
    try:
        match verb:
            case "user":
                return await session.add_items([user(f"prompt {step}"), answer(f"{step}")])
            case "answer":
                return await session.add_items([answer(f"more {step}")])
            case "pop":
                return await session.pop_item()
            case "branch":
                return await session.create_branch_from_turn(number, f"branch {step}")
            case "switch":
                return await session.switch_to_branch(chosen)
            case "delete":
                return await session.delete_branch(chosen, force=number % 2 == 0)
            case "usage":
                return await session.store_run_usage(run_of(step))
            case _:
                return await session.clear_session() if number == 0 else None
    except ValueError:
        return ValueError


async def _told(session: Any) -> list[Any]:
    held = await branches(session)
    return [
        held,
        await session.get_session_usage(),
        *[
            [
                await contents(session, branch_id=name),
                await contents(session, branch_id=name, limit=3),
                await session.get_turn_usage(branch_id=name),
                await session.get_conversation_by_turns(name),
            ]
            for name in sorted(held)
        ],
    ]


async def _compare(steps: list[tuple[str, int]]) -> None:
    theirs = AdvancedSQLiteSession(session_id="one", create_tables=True)
    with onrecord.connect("memory://", actor="eve") as store:
        ours = OnrecordSession("one", store)
        for step, (verb, number) in enumerate(steps, 1):
            names = sorted(await branches(theirs))
            acts = [await _act(each, verb, number, step, names) for each in (theirs, ours)]
            assert acts[0] == acts[1]
            assert await _told(theirs) == await _told(ours)
    theirs.close()


@settings(max_examples=25, deadline=None)
@given(verbs)
def test_any_order_of_verbs_leaves_what_theirs_would(steps: list[tuple[str, int]]) -> None:
    asyncio.run(_compare(steps))
