"""The frameworks whose items are read: each has a module of its own."""

from __future__ import annotations

from typing import Final

from onrecord.projections.frameworks.adk import ADK
from onrecord.projections.frameworks.ag2 import AG2
from onrecord.projections.frameworks.agent_framework import AGENT_FRAMEWORK
from onrecord.projections.frameworks.claude import CLAUDE
from onrecord.projections.frameworks.framework import Framework
from onrecord.projections.frameworks.langgraph import LANGGRAPH
from onrecord.projections.frameworks.openai_agents import OPENAI_AGENTS
from onrecord.projections.frameworks.pydantic_ai import PYDANTIC_AI

FRAMEWORKS: Final = (ADK, AG2, AGENT_FRAMEWORK, CLAUDE, LANGGRAPH, OPENAI_AGENTS, PYDANTIC_AI)

_BY_NAME: Final = {framework.name: framework for framework in FRAMEWORKS}


def framework_of(name: str) -> Framework:
    """Return the framework of a name; one that reads nothing, where none is known."""
    return _BY_NAME.get(name) or Framework(name)
