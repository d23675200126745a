"""The rules of ADK for its session services: sessions, lists of them, and state.

They are what its own suite asks of each service (16 in 2.0.0, and those that came since), and what
else a caller of one service finds with another. Where one of its own does not keep a rule, DIVERGENCES
of services.py says so, and it is tried.
"""

# google-adk is in no environment that types are checked in: what it gives is Any.
# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false, reportMissingTypeStubs=false

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from google.adk.errors.already_exists_error import AlreadyExistsError

from tests.frameworks.adk.services import ANA, ONE, event, get

# Sessions and their ids.


async def test_a_session_that_nobody_created_is_none(service: Any) -> None:
    assert await get(service) is None
    await service.create_session(**{**ONE, "session_id": "other"})
    assert await get(service) is None


async def test_a_session_is_found_as_it_was_created_until_it_is_deleted(service: Any) -> None:
    created = await service.create_session(**ANA, state={"key": "value"})
    assert created.id
    assert (created.app_name, created.user_id, created.events) == ("desk", "ana", [])
    assert created.state == {"key": "value"}
    named = {**ANA, "session_id": created.id}
    assert await service.get_session(**named) == created
    await service.delete_session(**named)
    assert await service.get_session(**named) is None


async def test_an_id_is_taken_once(service: Any) -> None:
    await service.create_session(**ONE, state={"first": True})
    with pytest.raises(AlreadyExistsError):
        await service.create_session(**ONE, state={"first": False, "app:a": 1})
    assert (await get(service)).state == {"first": True}


async def test_of_those_who_create_a_session_at_once_one_does(service: Any) -> None:
    creating = [service.create_session(**ONE) for _ in range(4)]
    made = await asyncio.gather(*creating, return_exceptions=True)
    refused = [each for each in made if isinstance(each, AlreadyExistsError)]
    assert len(refused) == 3


async def test_one_id_under_two_users_is_two_sessions(service: Any) -> None:
    session = await service.create_session(**ONE)
    await service.append_event(session, event(1, a=1))
    other = await service.create_session(**{**ONE, "user_id": "bob"})
    assert (other.id, other.user_id, other.events, other.state) == ("one", "bob", [], {})
    found = await service.get_session(**{**ONE, "user_id": "bob"})
    assert (found.user_id, found.events) == ("bob", [])
    await service.delete_session(**{**ONE, "user_id": "bob"})
    assert await get(service) == session


async def test_spaces_around_an_id_are_none_of_it(service: Any, kept: Any) -> None:
    with kept:
        session = await service.create_session(**{**ONE, "session_id": "  one "})
        assert session.id == "one"
        assert await service.get_session(**{**ONE, "session_id": "\tone"}) == session
        with pytest.raises(AlreadyExistsError):
            await service.create_session(**ONE)
        await service.delete_session(**{**ONE, "session_id": "one  "})
        assert await get(service) is None


# Lists.


async def test_sessions_are_listed_with_their_state_and_without_events(service: Any) -> None:
    names = [f"session {number}" for number in range(5)]
    for name in names:
        session = await service.create_session(
            **{**ONE, "session_id": name}, state={"key": name, "app:a": name}
        )
        await service.append_event(session, event(1))
    listed = (await service.list_sessions(**ANA)).sessions
    assert {each.id: each.state for each in listed} == {
        name: {"key": name, "app:a": names[-1]} for name in names
    }
    assert [each.events for each in listed] == [[]] * 5


async def test_sessions_of_all_users_are_listed_each_with_its_users_state(service: Any) -> None:
    for user, name in (("ana", "x"), ("ana", "y"), ("bob", "x")):
        state = {"key": name, f"user:{user}": 1}
        await service.create_session(app_name="desk", user_id=user, session_id=name, state=state)
    await service.create_session(app_name="shop", user_id="ana", session_id="z")

    async def listed(**scope: Any) -> set[tuple[Any, ...]]:
        sessions = (await service.list_sessions(app_name="desk", **scope)).sessions
        return {(each.user_id, each.id, str(each.state)) for each in sessions}

    ana = {("ana", name, str({"key": name, "user:ana": 1})) for name in ("x", "y")}
    bob = {("bob", "x", str({"key": "x", "user:bob": 1}))}
    assert await listed(user_id="ana") == ana
    assert await listed(user_id="bob") == bob
    assert await listed(user_id=None) == await listed() == ana | bob
    assert await listed(user_id="") == await listed(user_id="eve") == set()
    assert (await service.list_sessions(app_name="none")).sessions == []


async def test_the_session_that_moved_last_is_listed_last(service: Any) -> None:
    sessions = [
        await service.create_session(**{**ONE, "session_id": name}) for name in ("x", "y", "z")
    ]
    for number, session in zip((3, 1, 2), sessions, strict=True):
        await service.append_event(session, event(number))
    listed = (await service.list_sessions(**ANA)).sessions
    assert [each.id for each in listed] == ["y", "z", "x"]


# State.


async def test_the_state_of_an_app_is_that_of_all_its_users(service: Any) -> None:
    first = await service.create_session(**ONE, state={"app:a": 1})
    await service.append_event(first, event(1, **{"app:b": 2}))
    other = await service.create_session(app_name="desk", user_id="bob")
    assert other.state == {"app:a": 1, "app:b": 2}
    assert (await get(service)).state == {"app:a": 1, "app:b": 2}
    elsewhere = await service.create_session(app_name="shop", user_id="ana")
    assert elsewhere.state == {}


async def test_the_state_of_a_user_is_that_of_its_sessions_of_the_app(service: Any) -> None:
    first = await service.create_session(**ONE, state={"user:a": 1})
    await service.append_event(first, event(1, **{"user:b": 2}))
    assert (await service.create_session(**ANA)).state == {"user:a": 1, "user:b": 2}
    for app, user in (("desk", "bob"), ("shop", "ana")):
        assert (await service.create_session(app_name=app, user_id=user)).state == {}


async def test_the_state_of_a_session_is_its_own(service: Any) -> None:
    first = await service.create_session(**ONE, state={"a": 1})
    await service.append_event(first, event(1, b=2))
    assert (await get(service)).state == {"a": 1, "b": 2}
    assert (await service.create_session(**ANA)).state == {}


async def test_temporary_state_is_in_no_stored_state_and_no_event(service: Any) -> None:
    session = await service.create_session(**ONE, state={"temp:made": 1, "own": 1})
    given = event(1, own=2, **{"temp:t": 1})
    returned = await service.append_event(session, given)
    for each in (given, returned, session.events[0]):
        assert each.actions.state_delta == {"own": 2}
    found = await get(service)
    assert found.state == {"own": 2}
    assert found.events[0].actions.state_delta == {"own": 2}


async def test_temporary_state_lasts_in_the_session_of_a_run(service: Any) -> None:
    session = await service.create_session(**ONE)
    await service.append_event(session, event(1, **{"temp:t": "first agent"}))
    await service.append_event(session, event(2, own=1))
    assert session.state == {"temp:t": "first agent", "own": 1}
    await service.append_event(session, event(3, **{"temp:t": "second agent"}))
    assert session.state["temp:t"] == "second agent"


async def test_state_comes_back_with_its_types(service: Any) -> None:
    values = {
        "none": None,
        "float": 0.1 + 0.2,
        "whole": 2.0,
        "long": 2**63,
        "nested": {"list": [True, {"a": None}], "empty": {}},
    }
    given = {f"{scope}{name}": v for scope in ("", "app:", "user:") for name, v in values.items()}
    session = await service.create_session(**ONE, state=dict.fromkeys(given, "before"))
    await service.append_event(session, event(1, **given))
    found = (await get(service)).state
    assert found == given
    assert {name: type(value) for name, value in found.items()} == {
        name: type(value) for name, value in given.items()
    }


async def test_the_state_of_a_user_is_read_without_a_session(service: Any) -> None:
    asked = {"app_name": "desk", "user_id": "ana"}
    assert await service.get_user_state(**asked) == {}
    session = await service.create_session(**ONE)
    delta = {"user:profile": {"name": "Ana"}, "user:n": 1, "own": 1, "app:a": 1}
    await service.append_event(session, event(1, **delta))
    assert await service.get_user_state(**asked) == {"profile": {"name": "Ana"}, "n": 1}
    await service.append_event(session, event(2, **{"user:n": 2}))
    assert await service.get_user_state(**asked) == {"profile": {"name": "Ana"}, "n": 2}
    for app, user in (("desk", "bob"), ("shop", "ana")):
        assert await service.get_user_state(app_name=app, user_id=user) == {}


async def test_a_deleted_session_leaves_the_state_of_its_app_and_user(service: Any) -> None:
    session = await service.create_session(**ONE)
    await service.append_event(session, event(1, own=1, **{"app:a": 1, "user:u": 1}))
    for _ in range(2):
        await service.delete_session(**ONE)
    assert await service.get_user_state(app_name="desk", user_id="ana") == {"u": 1}
    again = await service.create_session(**ONE)
    assert (again.events, again.state) == ([], {"app:a": 1, "user:u": 1})
    assert await get(service) == again
