"""The error that refuses a call, in the family of the SDK that makes it.

An SDK tries again, or wraps, what is not its own (anthropic 2.11, openai 3.52: `_base_client.py`,
`request`).
"""

from __future__ import annotations

from typing import Any, Final

from onrecord.adapters.wire.wires import WIRES
from onrecord.domain.errors import NotRecorded

_REFUSALS: Final[dict[str, type[NotRecorded]]] = {}
_UNANSWERED: Final = ("code", "details", "response", "status", "status_code")
"""What SDKs ask of their errors, to tell which to try again: it is of an answer, and here is none."""


def refusal_of(api: str) -> type[NotRecorded]:
    """Return the error for a call of an API; NotRecorded itself where its SDK is not in use."""
    family = WIRES[api].family()
    if family is None:
        return NotRecorded
    if api not in _REFUSALS:
        members: dict[str, Any] = {
            "__doc__": NotRecorded.__doc__,
            "__module__": "onrecord",
            # Those of a family may want what only an answer tells.
            "__init__": _say,
            "__str__": Exception.__str__,
            **dict.fromkeys(_UNANSWERED),
        }
        # In a traceback, the name by which it can be caught.
        _REFUSALS[api] = type(NotRecorded.__name__, (NotRecorded, family), members)
    return _REFUSALS[api]


def _say(error: Exception, message: str) -> None:
    Exception.__init__(error, message)
    vars(error).update(message=message, error=message)
