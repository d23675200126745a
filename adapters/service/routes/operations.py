"""Routes for those who run the service: is it there, can it answer, what does a problem mean."""

from __future__ import annotations

import asyncio
from typing import Any, Final, Literal

from starlette.responses import Response

from onrecord.adapters.service.model import Empty, Model
from onrecord.adapters.service.problems import NOT_FOUND, PROBLEM_TYPES, Problem
from onrecord.adapters.service.route import Call, Route, answered
from onrecord.domain.errors import StorageUnavailable

READY_SECONDS: Final = 2.0
"""How long the store may take to answer a probe."""


class Health(Model):
    """The process is there."""

    status: Literal["ok"] = "ok"
    """It is `ok` wherever there is an answer at all."""


class Readiness(Model):
    """The store answers."""

    status: Literal["ready"] = "ready"
    """It is `ready` wherever there is no problem."""

    incarnation: str
    """The incarnation of the log: another one after a restore."""

    shards: int
    """How many shards the log has."""


class ProblemMeaning(Model):
    """What a type of problem means."""

    name: str
    """Its name: the last part of the problem's type."""

    status: int
    """The status of an answer that has it."""

    title: str
    """What it means."""

    retry_after: int | None
    """After how many seconds to try again, where that helps."""


async def health(call: Call[Empty, Empty]) -> Response:
    """Say that the process answers; the store is not asked."""
    del call
    return answered(Health())


async def readiness(call: Call[Empty, Empty]) -> Response:
    """Say that the store answers; 503 where it does not, or not soon: probes do not wait for long."""
    try:
        async with asyncio.timeout(READY_SECONDS):
            cursors = await call.store.cursors()
    except TimeoutError:
        raise StorageUnavailable("the store does not answer a probe") from None
    incarnation = str(cursors[0].incarnation)
    return answered(Readiness(incarnation=incarnation, shards=len(cursors)))


async def problem(call: Call[Empty, Empty]) -> Response:
    """Say what a type of problem means."""
    kind = PROBLEM_TYPES.get(call.path["problem"])
    if kind is None:
        raise Problem(NOT_FOUND, "no problem has that name")
    meaning = ProblemMeaning(
        name=kind.name, status=kind.status, title=kind.title, retry_after=kind.retry_after
    )
    return answered(meaning)


ROUTES: Final[tuple[Route[Any, Any], ...]] = (
    Route(
        *("GET", "/health", "health", "Is the process there?"),
        role=None,
        query=Empty,
        body=Empty,
        answers=health,
        answer=Health,
    ),
    Route(
        *("GET", "/ready", "readiness", "Does the store answer?"),
        role=None,
        query=Empty,
        body=Empty,
        answers=readiness,
        answer=Readiness,
    ),
    Route(
        *("GET", "/problems/{problem}", "problem", "What does a type of problem mean?"),
        role=None,
        query=Empty,
        body=Empty,
        answers=problem,
        answer=ProblemMeaning,
    ),
)
