"""The rules of each API whose requests can be checked."""

from __future__ import annotations

from typing import Final

from hansard.projections.referee import anthropic_messages, openai_chat, openai_responses

RULES: Final = {
    "anthropic-messages": anthropic_messages.RULES,
    "openai-chat": openai_chat.RULES,
    "openai-responses": openai_responses.RULES,
}
"""Name of an API to its rules, in the order in which they are told."""
