"""What the demo server is told to answer beside Anthropic's API: one saying, spelled as each has it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from onrecord.adapters.demo.scenes import JsonObject

OpenAIApi: TypeAlias = Literal["openai-chat", "openai-responses"]
OtherApi: TypeAlias = Literal["gemini", "ollama", "bedrock-converse"]


@dataclass(frozen=True, slots=True)
class Called:
    """A call of one of the caller's functions."""

    name: str
    arguments: JsonObject


@dataclass(frozen=True, slots=True)
class Said:
    """What the model says: a text, calls, or both.

    Where it `reasons`, the Responses API says so in an item that only the service can read, and
    Gemini signs what it says; Chat Completions says nothing of it. `thought` is what a model says
    of its reasoning where its API has words for that: Gemini and Ollama.
    """

    text: str = ""
    calls: tuple[Called, ...] = ()
    reasons: bool = False
    thought: str = ""


OpenAIScript: TypeAlias = Callable[[OpenAIApi, JsonObject], Said]
"""What is answered to a request, by the API of OpenAI's that it came in on."""

OtherScript: TypeAlias = Callable[[OtherApi, JsonObject], Said]
"""What is answered to a request by Gemini, Ollama or Bedrock."""
