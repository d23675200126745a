"""Where a service is known to take, or itself sent, what its SDK's types of a request do not have.

A place is spelled with the types of the objects in lists: `input.*.reasoning.id` is the id of an
item of the input whose type is `reasoning`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

_SENT: Final = "the service sends it in answers; that its own words go back is what it asks for"
_NULL: Final = "the service sends null; recorded: a null `status` was accepted"
_COMPATIBLE: Final = "recorded: accepted by"


@dataclass(frozen=True, slots=True)
class Deviation:
    """A mismatch that is none to the service."""

    api: str
    place: str
    source: str
    is_null: bool = False
    """Whether only null is let pass."""


_ANTHROPIC: Final = "anthropic-messages"
_CHAT: Final = "openai-chat"
_RESPONSES: Final = "openai-responses"
_BEDROCK: Final = "bedrock-converse"

DEVIATIONS: Final = (
    Deviation(_BEDROCK, "messages.*.content.*.toolUse.type", _SENT),
    Deviation(_ANTHROPIC, "messages.*.text.citations.*.file_id", _SENT),
    Deviation(
        _ANTHROPIC, "messages.*.code_execution_tool_result.content.abort_reason", _SENT, True
    ),
    Deviation(_CHAT, "messages.*.reasoning_content", f"{_COMPATIBLE} DeepSeek and z.ai"),
    Deviation(_CHAT, "messages.*.reasoning", f"{_COMPATIBLE} Cerebras, Crusoe and Ollama"),
    Deviation(_CHAT, "messages.*.reasoning_details", f"{_COMPATIBLE} Snowflake and OpenRouter"),
    Deviation(_CHAT, "messages.*.name", f"{_COMPATIBLE} Hugging Face", True),
    Deviation(_CHAT, "messages.*.tool_calls", f"{_COMPATIBLE} Hugging Face", True),
    Deviation(_CHAT, "tools.*.openrouter:*", f"{_COMPATIBLE} OpenRouter"),
    Deviation(_CHAT, "clear_thinking", f"{_COMPATIBLE} Cerebras"),
    Deviation(_CHAT, "reasoning", f"{_COMPATIBLE} OpenRouter and Snowflake"),
    Deviation(_CHAT, "reasoning_format", f"{_COMPATIBLE} Groq"),
    Deviation(_CHAT, "service_tier", f"{_COMPATIBLE} Groq (`on_demand`)"),
    Deviation(_CHAT, "thinking", f"{_COMPATIBLE} z.ai"),
    Deviation(_RESPONSES, "tools.*.function.strict", "recorded: accepted without it"),
    Deviation(_RESPONSES, "input.*.*.created_by", _SENT),
    Deviation(_RESPONSES, "input.*.*.output.*.created_by", _SENT),
    Deviation(_RESPONSES, "input.*.message.content.*.output_text.logprobs", _NULL, True),
    Deviation(_RESPONSES, "input.*.reasoning.content", _NULL, True),
    Deviation(_RESPONSES, "input.*.reasoning.status", _NULL, True),
    Deviation(_RESPONSES, "input.*.reasoning.id", "may be left out beside `encrypted_content`"),
    Deviation(_RESPONSES, "input.*.function_call.id", _NULL, True),
    Deviation(_RESPONSES, "input.*.function_call.status", _NULL, True),
    Deviation(_RESPONSES, "input.*.function_call.namespace", _NULL, True),
    Deviation(_RESPONSES, "input.*.function_call.async", _NULL, True),
    Deviation(_RESPONSES, "input.*.custom_tool_call.id", _NULL, True),
    Deviation(_RESPONSES, "input.*.custom_tool_call.async", _NULL, True),
    Deviation(_RESPONSES, "input.*.custom_tool_call_output.status", _SENT),
    Deviation(_RESPONSES, "input.*.web_search_call.action*", _SENT),
    Deviation(_RESPONSES, "input.*.file_search_call.results.*.vector_store_id", _SENT),
    Deviation(_RESPONSES, "input.*.image_generation_call.error", _NULL, True),
    Deviation(_RESPONSES, "input.*.image_generation_call.svg_usage", _NULL, True),
    Deviation(_RESPONSES, "input.*.image_generation_call.result", "recorded: its id is enough"),
    Deviation(_RESPONSES, "input.*.image_generation_call.status", "recorded: its id is enough"),
    Deviation(_RESPONSES, "input.*.mcp_call.status", _NULL, True),
    Deviation(_RESPONSES, "input.*.computer_call.action", _NULL, True),
    Deviation(_RESPONSES, "input.*.computer_call_output.output.file_id", _NULL, True),
    Deviation(_RESPONSES, "input.*.tool_search_output.tools.*", _NULL, True),
)


def is_tolerated(api: str, place: str, *, is_null: bool) -> bool:
    """Whether a service is known to take what is at a place."""
    return any(
        deviation.api == api
        and (is_null or not deviation.is_null)
        and fnmatchcase(place, deviation.place)
        for deviation in DEVIATIONS
    )
