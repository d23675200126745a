"""Requests to Anthropic for tests: what each side says, and what the service says of it."""

from __future__ import annotations

from typing import Any

from onrecord.domain.jsontext import JsonObject
from tests.projections.refused import refused

HELLO: JsonObject = {"role": "user", "content": "Hello"}


def user(*blocks: JsonObject) -> JsonObject:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: JsonObject) -> JsonObject:
    return {"role": "assistant", "content": list(blocks)}


def operator(*blocks: JsonObject) -> JsonObject:
    return {"role": "system", "content": list(blocks)}


def told(*messages: JsonObject, **members: Any) -> list[tuple[str, str, str]]:
    """Each breach: where it is, its rule, and the service's words."""
    request = {"messages": list(messages), **members}
    return [(each.where, each.rule, each.said) for each in refused("anthropic-messages", request)]
