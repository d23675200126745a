"""Routes for those who run the service: is it there, can it answer, what does a problem mean."""

from __future__ import annotations

from typing import Any, Final, Literal

from starlette.responses import Response

from onrecord.adapters.service.problems import NOT_FOUND, PROBLEM_TYPES, Problem
from onrecord.adapters.service.route import Call, Empty, Model, Route, answered


class Health(Model):
    """The process is there."""

    status: Literal["ok"] = "ok"


class Readiness(Model):
    """The store answers; `shards` says how many parts its log has."""

    status: Literal["ready"] = "ready"
    incarnation: str
    shards: int


class ProblemMeaning(Model):
    """What a type of problem means."""

    name: str
    status: int
    title: str
    retry_after: int | None


async def health(call: Call[Empty, Empty]) -> Response:
    """Say that the process answers; the store is not asked."""
    del call
    return answered(Health())


async def readiness(call: Call[Empty, Empty]) -> Response:
    """Say that the store answers; 503 where it does not."""
    cursors = await call.store.cursors()
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
