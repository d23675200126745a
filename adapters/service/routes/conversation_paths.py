"""The paths of a conversation, and the routes that write there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from pydantic import BaseModel
from starlette.responses import Response

from onrecord.adapters.service.model import Empty
from onrecord.adapters.service.route import Call, Route, posting

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
    path = f"{CONVERSATION}{path}"
    return posting(
        *("write", path, name, summary, answers, answer),
        body=body,
        status=status,
        statuses=_REFUSED,
    )
