"""What Gemini's service and its SDK have about them on the wire."""

from __future__ import annotations

import re
import sys
from functools import cache
from typing import Final

_MODULE: Final = "google.genai.errors"
_NAMED: Final = re.compile(r"(?P<collection>models|tunedModels|endpoints)/(?P<name>[^/:]+):[^/]*$")


def model_in(path: str) -> str | None:
    """Return the model that the path of a URL names; other collections than models with it."""
    found = _NAMED.search(path)
    if found is None:
        return None
    name = found["name"]
    return name if found["collection"] == "models" else f"{found['collection']}/{name}"


def streams(path: str) -> bool:
    """Whether a request to a path asks for a stream."""
    return path.endswith(":streamGenerateContent")


def family() -> type[Exception] | None:
    """Return the error that the SDK's errors descend from, once something imported that."""
    return _refusing() if _MODULE in sys.modules else None


@cache
def _refusing() -> type[Exception]:
    """Return an APIError that is made of a message, as our errors are.

    The SDK's own takes a status and a body, and retries by that status (google-genai 3.4.0,
    `_api_client.py`, `retry_args`): 0 is none that it retries.
    """
    from google.genai.errors import APIError

    class RefusedCall(APIError):
        def __init__(self, message: str) -> None:
            Exception.__init__(self, message)
            self.code = 0
            self.message = message
            self.status = None
            self.response = None
            self.details = None

    return RefusedCall
