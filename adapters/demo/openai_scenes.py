"""What the demo server is told to answer on OpenAI's two APIs: one saying, spelled as either has it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from hansard.adapters.demo.scenes import JsonObject

OpenAIApi: TypeAlias = Literal["openai-chat", "openai-responses"]


@dataclass(frozen=True, slots=True)
class Called:
    """A call of one of the caller's functions."""

    name: str
    arguments: JsonObject


@dataclass(frozen=True, slots=True)
class Said:
    """What the model says: a text, calls, or both.

    Where it `reasons`, the Responses API says so in an item that only the service can read; Chat
    Completions says nothing of it.
    """

    text: str = ""
    calls: tuple[Called, ...] = ()
    reasons: bool = False


OpenAIScript: TypeAlias = Callable[[OpenAIApi, JsonObject], Said]
"""What is answered to a request, by the API that it came in on."""
