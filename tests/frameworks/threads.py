"""Checkpoints of LangGraph for tests, as its runs make them."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, Checkpoint, CheckpointTuple

# It has no types that pyright reads.
graphs: Any = importlib.import_module("langgraph.graph")


class Chat(TypedDict):
    messages: Annotated[list[AnyMessage], graphs.add_messages]


def graph_of(saver: BaseCheckpointSaver[Any], answer: Any = None) -> Any:
    def reply(state: Chat) -> Any:
        count = len(state["messages"])
        return {"messages": [AIMessage(f"answer {count}", id=f"a{count}")]}

    graph = graphs.StateGraph(Chat)
    graph.add_node("reply", answer or reply)
    graph.add_edge(graphs.START, "reply")
    graph.add_edge("reply", graphs.END)
    return graph.compile(checkpointer=saver)


def prompt(text: str) -> Any:
    return {"messages": [HumanMessage(text, id=text)]}


def config(thread: str = "one", namespace: str = "", at: str | None = None) -> RunnableConfig:
    configurable = {"thread_id": thread, "checkpoint_ns": namespace}
    return {"configurable": configurable if at is None else {**configurable, "checkpoint_id": at}}


def checkpoint(
    number: int, values: Mapping[str, Any], versions: Mapping[str, str | int | float]
) -> Checkpoint:
    return {
        "v": 4,
        "id": f"{number:04}",
        "ts": "2026-11-24T09:00:00+00:00",
        "channel_values": dict(values),
        "channel_versions": dict(versions),
        "versions_seen": {"node": dict(versions)},
        "updated_channels": None,
    }


def put(
    saver: BaseCheckpointSaver[Any],
    number: int,
    values: Mapping[str, Any],
    *,
    parent: int | None = None,
    new: Mapping[str, str | int | float] | None = None,
    thread: str = "one",
    namespace: str = "",
    **metadata: Any,
) -> RunnableConfig:
    """Put a checkpoint whose channels all changed, unless `new` has the versions of those that did."""
    versions = {name: f"{number:04}" for name in values} if new is None else new
    at = None if parent is None else f"{parent:04}"
    made = checkpoint(number, values, versions)
    said: Any = {"source": "loop", "step": number, **metadata}
    return saver.put(config(thread, namespace, at), made, said, dict(versions))


def values_of(found: CheckpointTuple | None) -> dict[str, Any]:
    assert found is not None
    return found.checkpoint["channel_values"]
