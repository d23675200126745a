"""The store of sessions for the Claude Agent SDK (docs/frameworks-claude.md)."""

from onrecord.adapters.frameworks.claude import ClaudeSessionStore, SessionKey

__all__ = ["ClaudeSessionStore", "SessionKey"]
