"""Problems that a service tells, as the errors that its own log raised."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from onrecord.adapters.storage.http.problem_types import OF_ERRORS, TYPES
from onrecord.domain import errors, jsontext

_KINDS: Final[dict[str, type[errors.OnrecordError]]] = {
    problem.name: kind for kind, problem in reversed(OF_ERRORS.items())
}
_ONES: Final[dict[str, type[errors.OnrecordError]]] = {
    "bytes-missing": errors.CorruptRecord,
    "malformed": errors.InvalidInput,
    "body-too-large": errors.InvalidInput,
    "media-type": errors.InvalidInput,
    "forbidden": errors.StorageReadOnly,
}
"""Problems that are the service's own; all others say that it cannot be used."""

_ADVICE: Final[Mapping[type[errors.OnrecordError], str]] = {
    errors.StorageBusy: "the service's store is held by another process for too long: try again",
    errors.StorageFull: "the service's store has no room left: nothing of the append was kept",
    errors.CorruptRecord: "stored bytes are missing or damaged: run `onrecord verify` where the log is",
}
_AGAIN: Final = frozenset({408, 429, 502, 503, 504})
_LONGEST_TEXT: Final = 1_000


class Trouble(Exception):
    """What came in the place of an answer.

    `error` is for the caller. `pause` is for how many seconds not to ask again, at least; None
    where asking again is no use. `may_be_done` says whether what was asked may have been done.
    """

    def __init__(
        self, error: errors.OnrecordError, pause: float | None, *, may_be_done: bool
    ) -> None:
        """Say what is wrong."""
        super().__init__()
        self.error = error
        self.pause = pause
        self.may_be_done = may_be_done


def trouble_of(status: int, headers: Mapping[str, str], body: bytes) -> Trouble:
    """Return the trouble that an answer tells whose status is not one of success."""
    problem = _problem(headers, body)
    error = _error(status, problem)
    pause = _pause(headers) if status in _AGAIN else None
    # A proxy in between may have lost the answer; a service that gave up may go on with it.
    return Trouble(error, pause, may_be_done=status >= 500)


def unreadable() -> errors.StorageUnavailable:
    """Return the error for an answer that no service gives."""
    return errors.StorageUnavailable(
        "what answers at this URL is no Onrecord service, or a newer one: check the URL"
    )


def _problem(headers: Mapping[str, str], body: bytes) -> dict[str, Any] | None:
    if not headers.get("content-type", "").startswith("application/problem+json"):
        return None
    try:
        return jsontext.read_object(body)
    except errors.MalformedJson:
        return None


def _error(status: int, problem: dict[str, Any] | None) -> errors.OnrecordError:
    if problem is None:
        return unreadable() if status not in _AGAIN else _unavailable(f"it answers {status}")
    name = str(problem.get("type", "")).removeprefix(TYPES)
    detail = str(problem.get("detail") or problem.get("title") or "")[:_LONGEST_TEXT]
    if name == "unauthenticated":
        return errors.StorageUnavailable(
            "the service takes no such key: set ONRECORD_KEY, or give key=, as `onrecord keys issue` gave it"
        )
    kind = _KINDS.get(name) or _ONES.get(name)
    if kind is None or kind is errors.StorageUnavailable or not _is_plain(kind):
        return _unavailable(detail)
    return kind(_ADVICE.get(kind, detail))


def _is_plain(kind: type[errors.OnrecordError]) -> bool:
    """Whether an error is made of its message alone."""
    return issubclass(
        kind,
        errors.InvalidInput
        | errors.StorageError
        | errors.ConversationForgotten
        | errors.ConversationOnHold,
    )


def _unavailable(why: str) -> errors.StorageUnavailable:
    return errors.StorageUnavailable(f"the service or its store cannot be used: {why.rstrip('.')}")


def _pause(headers: Mapping[str, str]) -> float:
    given = headers.get("retry-after", "")
    return float(given) if given.isdecimal() else 0.0
