"""The conversation store for pydantic-ai (docs/frameworks-pydantic-ai.md)."""

from onrecord.adapters.frameworks.pydantic_ai import OnrecordConversationStore

__all__ = ["OnrecordConversationStore"]
