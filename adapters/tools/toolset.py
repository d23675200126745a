"""Tools that come from one place, together with what is known of it."""

from __future__ import annotations

from dataclasses import dataclass

from onrecord.domain.tools import ToolDefinition, ToolSource


@dataclass(frozen=True, slots=True)
class Toolset:
    """Tools and where they come from: `talk.tools([toolset, ...])` declares both."""

    tools: tuple[ToolDefinition, ...]
    source: ToolSource
