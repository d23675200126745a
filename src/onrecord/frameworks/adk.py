"""The session service for Google's ADK (docs/frameworks-adk.md)."""

from onrecord.adapters.frameworks.adk.service import OnrecordSessionService

__all__ = ["OnrecordSessionService"]
