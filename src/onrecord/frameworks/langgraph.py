"""LangGraph keeps its checkpoints in a store: docs/frameworks-langgraph.md."""

from onrecord.adapters.frameworks.langgraph.saver import OnrecordSaver

__all__ = ["OnrecordSaver"]
