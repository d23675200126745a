"""The paths of a conversation, and how its routes are said in short."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from pydantic import BaseModel
from starlette.responses import Response

from onrecord.adapters.service.model import Empty
from onrecord.adapters.service.route import Call, Route

CONVERSATION: Final = "/v1/conversations/{key}"

_REFUSED: Final = (409, 410, 507)


def writing(
    path: str,
    name: str,
    summary: str,
    answers: Callable[[Call[Any, Any]], Awaitable[Response]],
    answer: type[BaseModel],
    *,
    body: type[BaseModel] = Empty,
    status: int = 201,
) -> Route[Any, Any]:
    """Return a route of a conversation that a key to write may ask, by POST."""
    return Route(
        *("POST", f"{CONVERSATION}{path}", name, summary),
        role="write",
        query=Empty,
        body=body,
        answers=answers,
        answer=answer,
        status=status,
        statuses=_REFUSED,
    )


def reading(
    path: str,
    name: str,
    summary: str,
    answers: Callable[[Call[Any, Any]], Awaitable[Response]],
    answer: type[BaseModel],
    *,
    query: type[BaseModel] = Empty,
    statuses: tuple[int, ...] = (),
) -> Route[Any, Any]:
    """Return a route of a conversation that a key to read may ask, by GET."""
    return Route(
        *("GET", f"{CONVERSATION}{path}", name, summary),
        role="read",
        query=query,
        body=Empty,
        answers=answers,
        answer=answer,
        statuses=statuses,
    )
