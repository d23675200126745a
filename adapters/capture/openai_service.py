"""What both of OpenAI's APIs have in common on the wire."""

from __future__ import annotations

import sys
from typing import Final

TOLD_OF_A_TOOL: Final = ("description", "parameters", "output_schema", "input_schema", "format")
"""What a definition of a tool tells the model."""

HEADERS: Final = ("openai-beta",)
"""Headers that change what a request means."""


def family() -> type[Exception] | None:
    """Return the error that the SDK's errors descend from, once something imported that."""
    if "openai" not in sys.modules:
        return None
    from openai import OpenAIError

    return OpenAIError
