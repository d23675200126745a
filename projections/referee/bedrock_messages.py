"""The messages of a request to Converse, the model that it names, and how the service says where."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from onrecord.domain.jsontext import JsonObject
from onrecord.projections.referee.members import member, objects, text
from onrecord.projections.referee.violation import Path

_VENDOR: Final = re.compile(
    r"(?:(?:us|eu|apac|jp|au|ca|sa|me|af|us-gov|global)\.)?(?P<vendor>[a-z0-9]+)\.[a-z]"
)
OF_MODEL: Final = "The model returned the following errors: "
"""Begins what the service passes on from the model behind it."""


def vendor_of(request: Mapping[str, Any]) -> str:
    """Return whose model a request names, as `anthropic`; "" where it names none, or none known."""
    found = _VENDOR.match(text(request.get("modelId")).rpartition("/")[2])
    return found["vendor"] if found else ""


def messages_of(request: Mapping[str, Any]) -> list[tuple[int, JsonObject]]:
    """Return the messages, each with its place."""
    return objects(request.get("messages"))


def blocks_of(message: JsonObject) -> list[tuple[int, JsonObject]]:
    """Return the blocks of a message, each with its place."""
    return objects(message.get("content"))


def blocks_with(message: JsonObject, kind: str) -> list[tuple[int, JsonObject]]:
    """Return what the blocks of a kind hold, each with its place."""
    return [
        (at, block[kind])
        for at, block in blocks_of(message)
        if isinstance(member(block, kind), dict)
    ]


def calls_of(message: JsonObject) -> list[tuple[int, JsonObject]]:
    """Return the calls of the caller's tools, each with its place."""
    called = blocks_with(message, "toolUse")
    return [(at, call) for at, call in called if call.get("type") != "server_tool_use"]


def results_of(message: JsonObject) -> list[tuple[int, JsonObject]]:
    """Return the results of tools, each with its place."""
    return blocks_with(message, "toolResult")


def all_blocks(request: Mapping[str, Any]) -> Iterator[tuple[Path, JsonObject]]:
    """Yield each block of the messages, with the way to it."""
    for index, message in messages_of(request):
        for at, block in blocks_of(message):
            yield ("messages", index, "content", at), block


def all_with(request: Mapping[str, Any], kind: str) -> Iterator[tuple[Path, JsonObject]]:
    """Yield what each block of a kind holds, with the way to it."""
    for path, block in all_blocks(request):
        if isinstance(inner := block.get(kind), dict):
            yield (*path, kind), inner


def tools_of(request: Mapping[str, Any]) -> list[tuple[int, JsonObject]]:
    """Return what is declared as tools, each with its place."""
    return objects(member(request.get("toolConfig"), "tools"))


def counted(path: Path) -> str:
    """Return a path as the service's check of values spells it: `messages.2.member.role`."""
    return ".".join(f"{step + 1}.member" if isinstance(step, int) else step for step in path)
