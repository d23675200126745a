"""The session for the OpenAI Agents SDK (docs/frameworks-openai-agents.md)."""

from onrecord.adapters.frameworks.openai_agents.session import OnrecordSession

__all__ = ["OnrecordSession"]
