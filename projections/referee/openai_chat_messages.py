"""The messages of a request to Chat Completions, their calls, and whom it is for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from onrecord.domain.jsontext import JsonObject
from onrecord.projections.referee.members import objects, text

_OPENAI: Final = re.compile(r"^(openai/|gpt-|chatgpt-|ft:|o\d)")


def messages_of(request: Mapping[str, Any]) -> list[tuple[int, JsonObject]]:
    """Return the messages, each with its place."""
    return objects(request.get("messages"))


def calls_of(message: JsonObject) -> list[tuple[int, JsonObject]]:
    """Return the calls of a message, each with its place."""
    return objects(message.get("tool_calls"))


def is_for_openai(request: Mapping[str, Any]) -> bool:
    """Whether a request is for a model of OpenAI's, as far as its name tells."""
    model = text(request.get("model"))
    return not model or _OPENAI.search(model) is not None


def empty_array(name: str) -> str:
    """Return what the service says of a list that has to hold something."""
    return (
        f"Invalid '{name}': empty array. Expected an array with minimum length 1, but got an "
        "empty array instead."
    )
