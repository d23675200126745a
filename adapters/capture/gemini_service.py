"""What Gemini's service and its SDK have about them on the wire."""

from __future__ import annotations

import re
import sys
from typing import Final

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
    if "google.genai.errors" not in sys.modules:
        return None
    from google.genai.errors import APIError

    return APIError
