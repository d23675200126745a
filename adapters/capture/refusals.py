"""The error that refuses a call, in the family of the SDK that makes it.

An SDK tries again, or wraps, what is not its own (anthropic 2.11, openai 3.52: `_base_client.py`,
`request`).
"""

from __future__ import annotations

import sys
from functools import cache

from hansard.domain.errors import NotRecorded


def refusal_of(api: str) -> type[NotRecorded]:
    """Return the error for a call of an API; NotRecorded itself where its SDK is not in use."""
    if api == "anthropic-messages" and "anthropic" in sys.modules:
        from anthropic import AnthropicError

        return _refusal(AnthropicError)
    if api != "anthropic-messages" and "openai" in sys.modules:
        from openai import OpenAIError

        return _refusal(OpenAIError)
    return NotRecorded


@cache
def _refusal(family: type[Exception]) -> type[NotRecorded]:
    members = {"__doc__": NotRecorded.__doc__, "__module__": "hansard"}
    # In a traceback, the name by which it can be caught.
    return type(NotRecorded.__name__, (NotRecorded, family), members)
