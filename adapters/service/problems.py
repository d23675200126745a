"""Problems: each error as RFC 9457 has it, by one table. What the caller cannot mend is not told."""

from __future__ import annotations

import logging
from typing import Any, Final

from pydantic import ValidationError
from starlette.responses import Response

from onrecord.adapters.storage.http import problem_types
from onrecord.adapters.storage.http.problem_types import (
    BYTES_MISSING,
    OF_ERRORS,
    TYPES,
    ProblemType,
)
from onrecord.domain import errors, jsontext

_LOG: Final = logging.getLogger("onrecord.service")


class Problem(Exception):
    """An answer that is a problem: `detail` is for whoever asked, `members` are beside it."""

    def __init__(self, type_: ProblemType, detail: str | None = None, **members: Any) -> None:
        """Say what is wrong."""
        super().__init__(type_.name)
        self.type = type_
        self.detail = detail
        self.members = members


INVALID: Final = problem_types.INVALID
MALFORMED: Final = ProblemType("malformed", 400, "The request is not well formed.")
UNAUTHENTICATED: Final = ProblemType("unauthenticated", 401, "A key is needed, or is not good.")
FORBIDDEN: Final = ProblemType("forbidden", 403, "The key may not do this.")
WRONG_HOST: Final = ProblemType("wrong-host", 421, "The service does not answer to this Host.")
NOT_FOUND: Final = ProblemType("not-found", 404, "There is nothing at this path.")
NO_METHOD: Final = ProblemType("method-not-allowed", 405, "The path does not take this method.")
TOO_SLOW: Final = ProblemType("body-too-slow", 408, "The body took too long to arrive.")
TOO_LARGE: Final = ProblemType("body-too-large", 413, "The body is larger than is taken.")
WRONG_MEDIA_TYPE: Final = ProblemType("media-type", 415, "The body is of another media type.")
TOO_MANY: Final = ProblemType("too-many-requests", 429, "The key has too much open at once.", 1)
FAILED: Final = ProblemType("failed", 500, "The service failed; its log says why.")
OVERLOADED: Final = ProblemType("overloaded", 503, "The service has too much to do.", 1)
NOT_INSTALLED: Final = ProblemType("not-installed", 501, "An extra of Onrecord is not installed.")
TIMED_OUT: Final = ProblemType("timed-out", 503, "The answer took too long.", 5)
ENDING: Final = ProblemType("ending", 503, "The service is ending.", 5)

PROBLEM_TYPES: Final[dict[str, ProblemType]] = {
    kind.name: kind
    for kind in (
        *(MALFORMED, UNAUTHENTICATED, FORBIDDEN, WRONG_HOST, NOT_FOUND, NO_METHOD, TOO_SLOW),
        *(TOO_LARGE, WRONG_MEDIA_TYPE, INVALID, TOO_MANY, FAILED, NOT_INSTALLED, OVERLOADED),
        *(TIMED_OUT, ENDING),
        BYTES_MISSING,
        *OF_ERRORS.values(),
    )
}


def problem_of(error: Exception) -> Problem:
    """Return the problem that an error is; one that nobody foresaw is logged, and not told."""
    match error:
        case Problem():
            return error
        case ValidationError():
            return _invalid(error)
        case errors.OnrecordError() if (kind := _type_of(error)) is not None:
            return Problem(kind, _detail(kind, error), **_members(error))
        case TimeoutError():
            return Problem(TIMED_OUT)
        case _:
            # Its message and its traceback may hold content: its class and its place are enough.
            _LOG.error("a request failed: %s at %s", type(error).__name__, _place(error))
            return Problem(FAILED)


def response_of(problem: Problem, instance: str) -> Response:
    """Return the answer that tells of a problem which came up at a path."""
    kind = problem.type
    body: dict[str, Any] = {"type": TYPES + kind.name, "title": kind.title, "status": kind.status}
    if problem.detail:
        body["detail"] = problem.detail
    body |= {"instance": instance, **problem.members}
    return Response(
        jsontext.write(body),
        kind.status,
        headers_of(problem),
        media_type="application/problem+json",
    )


def headers_of(problem: Problem) -> dict[str, str]:
    """Return the headers of an answer that tells of a problem."""
    kind, headers = problem.type, {"cache-control": "no-store"}
    if kind.retry_after is not None:
        headers["retry-after"] = str(kind.retry_after)
    if kind is UNAUTHENTICATED:
        headers["www-authenticate"] = 'Bearer realm="onrecord"'
    return headers


def _type_of(error: errors.OnrecordError) -> ProblemType | None:
    return next((OF_ERRORS[kind] for kind in type(error).__mro__ if kind in OF_ERRORS), None)


def _detail(kind: ProblemType, error: errors.OnrecordError) -> str | None:
    """Return what the caller is told: of the store's own troubles only their kind."""
    if kind.status >= 500:
        _LOG.warning("a request could not be answered: %s", error)
        return None
    return str(error)


def _members(error: errors.OnrecordError) -> dict[str, Any]:
    match error:
        case errors.VersionConflict():
            return {"expected": error.expected, "current": error.current}
        case errors.RoundOpen():
            return {"awaited": list(error.awaited)}
        case _:
            return {}


def _invalid(error: ValidationError) -> Problem:
    """Return what is wrong with each member, by JSON pointer; never what was given."""
    wrong = error.errors(include_url=False, include_context=False, include_input=False)
    if any(each["type"] == "json_invalid" for each in wrong):
        return Problem(MALFORMED, "the body is no JSON")
    members = [{"pointer": _pointer(each["loc"]), "detail": each["msg"]} for each in wrong[:20]]
    return Problem(INVALID, "see errors", errors=members)


def _pointer(place: tuple[int | str, ...]) -> str:
    return "".join(jsontext.pointer_step(step) for step in place)


def _place(error: BaseException) -> str:
    trace, place = error.__traceback__, "?"
    while trace is not None:
        place = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place
