"""The history provider for Microsoft's Agent Framework (docs/frameworks-agent-framework.md)."""

from onrecord.adapters.frameworks.agent_framework import OnrecordHistoryProvider

__all__ = ["OnrecordHistoryProvider"]
