"""Sessions with branches for tests: the SDK's `AdvancedSQLiteSession`, and ours in each database."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from agents.extensions.memory import AdvancedSQLiteSession
from agents.usage import Usage
from openai.types.responses.response_usage import InputTokensDetails, OutputTokensDetails

from onrecord.frameworks.openai_agents import OnrecordSession
from tests.adapters.frameworks.sessions_places import store_of
from tests.contract.places import prepared
from tests.frameworks.places import PLACES_OF_RULES

KINDS = ["their own", *PLACES_OF_RULES]
MakeSession = Callable[[], Any]


@pytest.fixture(params=KINDS)
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MakeSession]:
    """What makes objects of one session: of theirs in a file, of ours in each database."""
    if request.param == "their own":
        made: list[AdvancedSQLiteSession] = []

        def theirs() -> AdvancedSQLiteSession:
            path = tmp_path / "theirs.db"
            made.append(AdvancedSQLiteSession(session_id="one", db_path=path, create_tables=True))
            return made[-1]

        yield theirs
        for each in made:
            each.close()
        return
    places = prepared(request.param, tmp_path)
    with store_of(next(places).open(), tmp_path) as store:
        yield lambda: OnrecordSession("one", store)
    next(places, None)


@pytest.fixture
def session(make: MakeSession) -> Any:
    return make()


def user(text: str) -> Any:
    return {"role": "user", "content": text}


def answer(text: str) -> Any:
    return {"role": "assistant", "content": text}


TURNS = [user("one"), answer("1"), user("two"), answer("2"), user("three"), answer("3")]


async def contents(session: Any, **asked: Any) -> list[str]:
    return [item["content"] for item in await session.get_items(**asked)]


async def branches(session: Any) -> dict[str, tuple[int, int, bool]]:
    """Return the branches that hold anything: how many items, how many turns, whether it is current."""
    return {
        each["branch_id"]: (each["message_count"], each["user_turns"], each["is_current"])
        for each in await session.list_branches()
        if each["message_count"]
    }


def run_of(tokens: int, requests: int = 1) -> Any:
    """Return the result of a run, as far as its usage is asked for."""
    usage = Usage(
        requests=requests,
        input_tokens=tokens,
        output_tokens=2 * tokens,
        total_tokens=3 * tokens,
        input_tokens_details=InputTokensDetails.model_validate(
            {"cached_tokens": tokens // 2, "cache_write_tokens": 0}
        ),
        output_tokens_details=OutputTokensDetails(reasoning_tokens=tokens // 3),
    )
    return SimpleNamespace(context_wrapper=SimpleNamespace(usage=usage))
