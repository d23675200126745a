"""The session services that the rules of ADK are tried on: its own, and ours in each store."""

# google-adk is in no environment that types are checked in: what it gives is Any.
# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportMissingTypeStubs=false

from __future__ import annotations

import sqlite3
import warnings
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.features import FeatureName, override_feature_enabled
from google.adk.sessions.base_session_service import GetSessionConfig
from google.adk.sessions.database_session_service import DatabaseSessionService, IntegrityError
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService

from onrecord.frameworks.adk import OnrecordSessionService
from tests.adapters.frameworks.sessions_places import store_of
from tests.contract.places import prepared
from tests.frameworks.places import PLACES_OF_RULES

MEMORY, LIGHT, DATABASE, SQLITE = (
    "theirs-memory",
    "theirs-light",
    "theirs-database",
    "theirs-sqlite",
)
OURS: Final = PLACES_OF_RULES
KINDS: Final = (MEMORY, LIGHT, DATABASE, SQLITE, *OURS)


class Divergence(NamedTuple):
    """Services that do not keep a rule, why, and the error with which the rule's test ends on them."""

    kinds: tuple[str, ...]
    why: str
    error: type[BaseException] = AssertionError


_BY_TIME: Final = Divergence((DATABASE, SQLITE), "events are sorted by their timestamps")
_LAST_WINS: Final = Divergence((MEMORY, LIGHT), "nobody is stale", pytest.fail.Exception)
DIVERGENCES: Final[dict[str, tuple[Divergence, ...]]] = {
    "test_spaces_around_an_id_are_none_of_it": (
        Divergence((DATABASE,), "an id keeps the spaces around it"),
    ),
    "test_a_timestamp_comes_back_to_its_last_digit": (
        Divergence((DATABASE,), "a session's time is kept in microseconds"),
    ),
    "test_events_of_one_time_keep_their_order": (
        Divergence((DATABASE,), "events of one time are sorted by their ids"),
    ),
    "test_events_are_in_the_order_in_which_they_were_appended": (_BY_TIME,),
    "test_an_event_that_comes_again_changes_nothing": (
        Divergence((DATABASE,), "an event that comes again is a second row", IntegrityError),
        Divergence((SQLITE,), "an event that comes again is a second row", sqlite3.IntegrityError),
    ),
    "test_a_writer_whom_another_came_before_is_told": (_LAST_WINS,),
    "test_a_writer_is_told_whatever_the_timestamps_say": (
        _LAST_WINS,
        Divergence((SQLITE,), "only a later time makes stale", pytest.fail.Exception),
    ),
    "test_what_was_returned_is_the_callers_own_to_change": (
        Divergence((LIGHT,), "values of state are not copied"),
    ),
    "test_what_was_given_is_the_callers_own_to_change": (
        Divergence((MEMORY, LIGHT), "what is given is stored without a copy"),
    ),
}
"""The rules, by the names of their tests, that services of ADK are known not to keep."""

ONE: dict[str, Any] = {"app_name": "desk", "user_id": "ana", "session_id": "one"}
ANA: dict[str, Any] = {"app_name": "desk", "user_id": "ana"}


@asynccontextmanager
async def opened(kind: str, folder: Path) -> AsyncGenerator[Any]:
    """Open an empty service of a kind."""
    match kind:
        case "theirs-memory":
            yield InMemorySessionService()
        case "theirs-light":
            override_feature_enabled(FeatureName.IN_MEMORY_SESSION_SERVICE_LIGHT_COPY, True)
            with warnings.catch_warnings():
                # The SDK warns once in a process that the feature is not finished.
                warnings.simplefilter("ignore", UserWarning)
                yield InMemorySessionService()
            override_feature_enabled(FeatureName.IN_MEMORY_SESSION_SERVICE_LIGHT_COPY, False)
        case "theirs-database":
            async with DatabaseSessionService(
                f"sqlite+aiosqlite:///{folder / 'theirs.db'}"
            ) as service:
                yield service
        case "theirs-sqlite":
            yield SqliteSessionService(str(folder / "theirs.db"))
        case _:
            places = prepared(kind, folder)
            with store_of(next(places).open(), folder) as store:
                yield OnrecordSessionService(store)
            next(places, None)


def event(number: float = 0, **delta: Any) -> Any:
    at = 1_800_000_000.125 + number
    return Event(author="ana", timestamp=at, actions=EventActions(state_delta=delta))


async def get(service: Any, **config: Any) -> Any:
    return await service.get_session(**ONE, config=GetSessionConfig(**config))
