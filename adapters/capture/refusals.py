"""The error that refuses a call, in the family of the SDK that makes it.

An SDK tries again, or wraps, what is not its own (anthropic 2.11, openai 3.52: `_base_client.py`,
`request`).
"""

from __future__ import annotations

from typing import Final

from hansard.adapters.capture.wires import WIRES
from hansard.domain.errors import NotRecorded


_REFUSALS: Final[dict[str, type[NotRecorded]]] = {}


def refusal_of(api: str) -> type[NotRecorded]:
    """Return the error for a call of an API; NotRecorded itself where its SDK is not in use."""
    family = WIRES[api].family()
    if family is None:
        return NotRecorded
    if api not in _REFUSALS:
        members = {"__doc__": NotRecorded.__doc__, "__module__": "hansard"}
        # In a traceback, the name by which it can be caught.
        _REFUSALS[api] = type(NotRecorded.__name__, (NotRecorded, family), members)
    return _REFUSALS[api]
