"""Session services of Google's ADK, ours and its own: an event appended, and the last 50 read."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from importlib import import_module
from typing import Any, Final, NamedTuple

import onrecord
from tests.bench import peers
from tests.bench.frameworks.openai_agents import AIMS
from tests.bench.measure import Contender, Measure, Work, take_turns
from tests.bench.pairings import GUARANTEES, Pairing
from tests.bench.payload import text
from tests.bench.request import MESSAGES, READS

_SIZE: Final = 1_000
_ROLLBACK: Final = "one transaction, rollback journal, synchronous=FULL: on disk when it returns"
"""What ADK's own services promise on SQLite, as they come."""

_SESSION: Final = {"app_name": "desk", "user_id": "ana", "session_id": "one"}


class _Side(NamedTuple):
    """A service with a session that has grown; `key` is what a measure is called beside it."""

    key: str
    what: str
    service: Any
    session: Any


def measures(pairing: Pairing) -> Iterator[Measure]:
    """Yield both verbs beside those of ADK's own services of the database."""
    workspace = pairing.workspace
    size = min(_SIZE, workspace.scale.sizes[-1])
    sides = [_filled(pairing, *service, size) for service in _services(pairing)]
    for verb, contender in (("append", _append), ("last", _last)):
        workspace.say(f"frameworks, ADK, {pairing.database}: {verb}")
        contenders = [contender(pairing, side, size) for side in sides]
        ours, *others = take_turns(contenders, workspace.scale.pace)
        name = f"frameworks.adk.{pairing.database}.{verb}"
        if not others:
            yield Measure(name, "ms", ours)
        for side, peer in zip(sides[1:], others, strict=True):
            yield Measure(f"{name}.{side.key}", "ms", ours, peer, AIMS[pairing.database])


def _services(pairing: Pairing) -> Iterator[tuple[str, str, Any]]:
    from onrecord.frameworks.adk import OnrecordSessionService

    workspace = pairing.workspace
    store = workspace.closing.enter_context(onrecord.connect(pairing.our_url()))
    yield "ours", "OnrecordSessionService", OnrecordSessionService(store)
    if not workspace.peers:
        return
    match pairing.database:
        case "sqlite":
            path = workspace.path("adk.db")
            yield "sqlite", "SqliteSessionService", peers.adk_sqlite_service(path)
            url = f"sqlite+aiosqlite:///{workspace.path('adk.db')}"
        case "postgres":
            url = peers.asyncpg_url(workspace.database())
    service = peers.adk_database_service(url)
    workspace.closing.callback(pairing.loop.run, service.close)
    yield "database", f"DatabaseSessionService ({url.split(':')[0]})", service


def _filled(pairing: Pairing, key: str, what: str, service: Any, size: int) -> _Side:
    pairing.workspace.say(f"filling {what} with {size:,} events")
    made: list[Any] = []

    async def fill() -> None:
        session = await service.create_session(**_SESSION)
        for _ in range(size):
            await service.append_event(session, _event())
        made.append(session)

    pairing.loop.run(fill)
    return _Side(key, what, service, made[0])


def _event() -> Any:
    types = import_module("google.genai.types")
    content = types.Content(role="user", parts=[types.Part(text=text())])
    return import_module("google.adk.events.event").Event(
        author="user", invocation_id="one", content=content
    )


def _append(pairing: Pairing, side: _Side, size: int) -> Contender:
    def prepare(_: int) -> Work:
        return partial(side.service.append_event, side.session, _event())

    is_theirs_on_sqlite = pairing.database == "sqlite" and side.key != "ours"
    return Contender(
        f"ADK {side.what}.append_event of 1 KB to one of {size:,}",
        _ROLLBACK if is_theirs_on_sqlite else GUARANTEES[pairing.database],
        prepare,
        pairing.loop.clock,
    )


def _last(pairing: Pairing, side: _Side, size: int) -> Contender:
    sessions = import_module("google.adk.sessions.base_session_service")
    config = sessions.GetSessionConfig(num_recent_events=MESSAGES)

    def prepare(_: int) -> Work:
        return partial(side.service.get_session, **_SESSION, config=config)

    return Contender(
        f"ADK {side.what}.get_session(num_recent_events={MESSAGES}) of {size:,}",
        READS,
        prepare,
        pairing.loop.clock,
    )
