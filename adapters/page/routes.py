"""Routes of the page are those of the service that answer in HTML, problems too."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from pydantic import BaseModel
from starlette.responses import Response

from onrecord.adapters.page.answers import problem_page
from onrecord.adapters.service.access import Role
from onrecord.adapters.service.model import Empty
from onrecord.adapters.service.problems import problem_of
from onrecord.adapters.service.route import Call, Route


def get_route(
    path: str,
    name: str,
    summary: str,
    answers: Callable[[Call[Any, Any]], Awaitable[Response]],
    query: type[BaseModel] = Empty,
) -> Route[Any, Any]:
    """Return a route that is asked by GET with a key to read, and answers in HTML."""
    return Route(
        *("GET", path, name, summary),
        role="read",
        query=query,
        body=Empty,
        answers=_with_problems(answers),
        media_type="text/html",
        problem=problem_page,
    )


def form_route(
    role: Role,
    path: str,
    name: str,
    summary: str,
    answers: Callable[[Call[Any, Any]], Awaitable[Response]],
) -> Route[Any, Any]:
    """Return a route that a form is sent to, by whoever has a role; `form_of` reads the form."""
    return Route(
        *("POST", path, name, summary),
        role=role,
        query=Empty,
        body=Empty,
        answers=_with_problems(answers),
        media_type="text/html",
        problem=problem_page,
    )


def _with_problems(
    answers: Callable[[Call[Any, Any]], Awaitable[Response]],
) -> Callable[[Call[Any, Any]], Awaitable[Response]]:
    """Return what answers with a page where a problem comes up, with the links that the visitor may use."""

    async def answer(call: Call[Any, Any]) -> Response:
        try:
            return await answers(call)
        except Exception as error:  # noqa: BLE001 - each error is a problem that is told
            return problem_page(problem_of(error), call.request.url.path, call.access)

    return answer
