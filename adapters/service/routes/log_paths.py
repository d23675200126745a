"""The paths of the log, and how its routes are said in short."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final
from uuid import UUID

from pydantic import BaseModel
from starlette.responses import Response

from onrecord.adapters.service.access import Role
from onrecord.adapters.service.model import Empty
from onrecord.adapters.service.problems import MALFORMED, Problem
from onrecord.adapters.service.route import Call, Route
from onrecord.adapters.storage.http.forms import text_of

LOG: Final = "/v1/log"
OF_ONE: Final = f"{LOG}/conversations/{{conversation_id}}"


def reading(
    path: str,
    name: str,
    summary: str,
    answers: Callable[[Call[Any, Any]], Awaitable[Response]],
    answer: type[BaseModel],
    *,
    query: type[BaseModel] = Empty,
    statuses: tuple[int, ...] = (),
    is_tail: bool = False,
) -> Route[Any, Any]:
    """Return a route of the log that a key to read may ask."""
    return Route(
        *("GET", path, f"log_{name}", summary),
        role="read",
        query=query,
        body=Empty,
        answers=answers,
        answer=answer,
        statuses=statuses,
        is_tail=is_tail,
    )


def telling(
    role: Role,
    path: str,
    name: str,
    summary: str,
    answers: Callable[[Call[Any, Any]], Awaitable[Response]],
    answer: type[BaseModel],
    *,
    body: type[BaseModel] = Empty,
    query: type[BaseModel] = Empty,
    statuses: tuple[int, ...] = (),
) -> Route[Any, Any]:
    """Return a route of the log that is asked by POST."""
    return Route(
        *("POST", path, f"log_{name}", summary),
        role=role,
        query=query,
        body=body,
        answers=answers,
        answer=answer,
        statuses=statuses,
    )


def text_in(data: bytes) -> str:
    """Return the text that stands in a body as bytes; Problem where it is none."""
    try:
        return text_of(data)
    except UnicodeDecodeError:
        raise Problem(MALFORMED, "bytes of a text are no UTF-8") from None


def conversation_id_of(call: Call[Any, Any]) -> UUID:
    """Return the id that a path names."""
    conversation_id: UUID = call.path["conversation_id"]
    return conversation_id
