"""A checkpointer for LangGraph: how the checkpoints of its threads are recorded as items, and read again."""
