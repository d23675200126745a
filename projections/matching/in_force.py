"""Whether the instructions and tools of a request are those in force, in whatever spelling."""

from __future__ import annotations

from typing import Final, TypeAlias

from onrecord.domain import events
from onrecord.domain.content import Native, Text
from onrecord.domain.errors import UnsupportedTool
from onrecord.domain.prefix import canonical
from onrecord.domain.tools import BuiltinTool, ToolDefinition
from onrecord.projections.api import instructions_of, tool_of
from onrecord.projections.apis.tools import spelled

_Tool: TypeAlias = ToolDefinition | BuiltinTool | Native

_UNTOLD: Final = {"title": None, "output_schema": None, "annotations": None}


def same_instructions(
    recorded: events.InstructionsSet | None, sent: events.InstructionsSet
) -> bool:
    """Return whether instructions say what is in force; none are the same as a blank."""
    held, said = recorded.content if recorded else "", sent.content
    if isinstance(held, Native) and isinstance(said, Native) and held.api == said.api:
        return _is_same(held, said)
    is_plain = not isinstance(held, Native) and not isinstance(said, Native)
    text = _text(held)
    return text == _text(said) and (is_plain or bool(text))


def same_tools(recorded: events.ToolsDeclared | None, sent: events.ToolsDeclared) -> bool:
    """Return whether tools are those in force, in the same order."""
    held = recorded.tools if recorded else ()
    return len(held) == len(sent.tools) and all(
        _is_same_tool(one, other) for one, other in zip(held, sent.tools, strict=True)
    )


def _is_same_tool(one: _Tool, other: _Tool) -> bool:
    if isinstance(one, BuiltinTool) and isinstance(other, Native):
        return _is_spelled(one, other)
    if isinstance(one, Native) and isinstance(other, Native) and one.api == other.api:
        return _is_same(one, other)
    neutral = _definition(one)
    return neutral is not None and neutral == _definition(other)


def _is_spelled(tool: BuiltinTool, sent: Native) -> bool:
    """Whether a request has a provider's tool as it was rendered for its API."""
    try:
        return _is_same(spelled(tool, sent.api), sent)
    except UnsupportedTool:
        return False


def _definition(tool: _Tool) -> ToolDefinition | BuiltinTool | None:
    """Return what models are told of a tool: no request says the rest, so none says it otherwise."""
    neutral = tool_of(tool) if isinstance(tool, Native) else tool
    if isinstance(neutral, ToolDefinition):
        return neutral.model_copy(update=_UNTOLD)
    return neutral


def _is_same(one: Native, other: Native) -> bool:
    return one.api == other.api and bool(canonical(one.value) == canonical(other.value))


def _text(content: str | Text | Native) -> str:
    match content:
        case str():
            return content
        case Text(text=text):
            return text
        case Native():
            return instructions_of(content)
