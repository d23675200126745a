"""LangGraph keeps its checkpoints in our store: its own suite, and contracts that it does not have."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, RemoveMessage
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

import onrecord
from onrecord.adapters.store import Store
from onrecord.frameworks.langgraph import OnrecordSaver
from tests.adapters.frameworks.sessions_places import store_of
from tests.contract.places import Place
from tests.frameworks.threads import Chat, checkpoint, config, graph_of, prompt, put, values_of

# Not imported by name: the environment of the type checkers does not have it.
conformance: Any = importlib.import_module("langgraph.checkpoint.conformance")


@pytest.fixture
def saver(store: Store) -> OnrecordSaver:
    return OnrecordSaver(store)


@pytest.fixture
def thread(sqlite_store: Store) -> OnrecordSaver:
    """A saver on SQLite, for what is the same on each database."""
    return OnrecordSaver(sqlite_store)


async def test_it_passes_the_suite_of_langgraph(each_place: Place, tmp_path: Path) -> None:
    @conformance.checkpointer_test(name="onrecord")  # type: ignore[untyped-decorator]
    async def make() -> AsyncIterator[OnrecordSaver]:
        with store_of(each_place.open(), tmp_path) as store:
            yield OnrecordSaver(store)

    report = await conformance.validate(make)
    failures = [failure for result in report.results.values() for failure in result.failures]
    passed = {name: result.tests_passed for name, result in report.results.items()}
    assert failures == []
    assert passed == {
        "put": 17,
        "put_writes": 10,
        "get_tuple": 10,
        "list": 16,
        "delete_thread": 5,
        "delete_for_runs": 7,
        "copy_thread": 8,
        "prune": 8,
    }


def test_a_run_goes_on_where_another_process_would_find_it(store: Store) -> None:
    graph_of(OnrecordSaver(store)).invoke(prompt("one"), config())
    graph_of(OnrecordSaver(store)).invoke(prompt("two"), config())
    state = graph_of(OnrecordSaver(store)).get_state(config())
    texts = [message.content for message in state.values["messages"]]
    assert texts == ["one", "answer 1", "two", "answer 3"]


async def test_coroutines_run_the_same(store: Store) -> None:
    graph = graph_of(OnrecordSaver(store))
    await graph.ainvoke(prompt("one"), config())
    states = [state async for state in graph.aget_state_history(config())]
    assert [len(state.values.get("messages", [])) for state in states] == [2, 1, 0]


def test_an_interrupted_run_is_resumed_by_another_process(store: Store) -> None:
    def ask(_: Chat) -> Any:
        return {"messages": [AIMessage(f"you said {interrupt('well?')}")]}

    graph_of(OnrecordSaver(store), ask).invoke(prompt("one"), config())
    graph_of(OnrecordSaver(store), ask).invoke(Command(resume="yes"), config())
    state = graph_of(OnrecordSaver(store), ask).get_state(config())
    assert state.values["messages"][-1].content == "you said yes"


def test_a_run_goes_on_from_an_earlier_checkpoint_and_both_stay(saver: OnrecordSaver) -> None:
    graph = graph_of(saver)
    graph.invoke(prompt("one"), config())
    before = graph.get_state(config()).config
    graph.invoke(prompt("two"), config())
    after = graph.get_state(config()).config
    graph.invoke(prompt("other"), before)
    texts = [each.content for each in graph.get_state(config()).values["messages"]]
    assert texts == ["one", "answer 1", "other", "answer 3"]
    assert [each.content for each in graph.get_state(after).values["messages"]][2] == "two"


def test_messages_that_are_removed_are_in_earlier_checkpoints_still(saver: OnrecordSaver) -> None:
    graph = graph_of(saver)
    graph.invoke(prompt("one"), config())
    before = graph.get_state(config()).config
    graph.update_state(config(), {"messages": [RemoveMessage(id="one")]})
    assert [each.id for each in graph.get_state(config()).values["messages"]] == ["a1"]
    graph.update_state(config(), {"messages": [AIMessage("new", id="a1")]})
    assert [each.content for each in graph.get_state(config()).values["messages"]] == ["new"]
    assert [each.id for each in graph.get_state(before).values["messages"]] == ["one", "a1"]


def test_what_a_thread_holds_is_its_callers_own_to_change(saver: OnrecordSaver) -> None:
    put(saver, 1, {"a": ["x", {"y": 1}]})
    values_of(saver.get_tuple(config()))["a"][1]["y"] = 2
    assert values_of(saver.get_tuple(config())) == {"a": ["x", {"y": 1}]}


def test_a_value_that_is_changed_after_the_call_is_recorded_as_it_was(
    thread: OnrecordSaver,
) -> None:
    async def change_at_once() -> None:
        values: dict[str, Any] = {"a": ["x", [1]]}
        made = checkpoint(1, values, {"a": "1"})
        putting = asyncio.ensure_future(thread.aput(config(), made, {"source": "loop"}, {"a": "1"}))
        await asyncio.sleep(0)
        values["a"][1].append(2)
        await putting

    asyncio.run(change_at_once())
    assert values_of(thread.get_tuple(config())) == {"a": ["x", [1]]}


# The same calls on LangGraph's own saver.

channels = st.sampled_from(["a", "b", "messages"])
kinds = st.none() | st.integers() | st.lists(st.text(max_size=3), max_size=5) | st.just("empty")
steps = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(0, 9), st.dictionaries(channels, kinds, max_size=3)),
        st.tuples(st.just("writes"), st.integers(0, 9), st.tuples(channels, st.integers(0, 3))),
    ),
    max_size=14,
)


def play(saver: BaseCheckpointSaver[Any], script: list[Any]) -> None:
    """Put checkpoints that go on from any earlier one, and writes to any."""
    versions: dict[int, dict[str, str]] = {}
    values: dict[int, dict[str, Any]] = {}
    for number, (kind, place, what) in enumerate(
        cast("list[tuple[str, int, Any]]", script), start=1
    ):
        known = sorted(versions)
        parent = known[int(place) % len(known)] if known else None
        if kind == "put":
            new = {name: f"{number:04}" for name in what}
            versions[number] = {**versions.get(parent or 0, {}), **new}
            values[number] = {**values.get(parent or 0, {}), **what}
            held = {name: each for name, each in values[number].items() if each != "empty"}
            at = None if parent is None else f"{parent:04}"
            made = checkpoint(number, held, versions[number])
            saver.put(config(at=at), made, {"source": "loop", "step": number}, dict(new))
        elif parent is not None:
            channel, task = what
            saver.put_writes(
                config(at=f"{parent:04}"),
                [(channel, number), ("b", number)],
                f"task-{task}",
                f"{task % 2}",
            )


def seen(saver: BaseCheckpointSaver[Any]) -> list[tuple[Any, ...]]:
    return [_seen(found) for found in saver.list(config())]


def _seen(found: CheckpointTuple | None) -> tuple[Any, ...]:
    assert found is not None
    return (found.checkpoint, found.metadata, found.parent_config, found.pending_writes)


@settings(max_examples=60, deadline=None)
@given(steps)
def test_it_answers_as_the_saver_of_langgraph_does(script: list[Any]) -> None:
    with onrecord.connect("memory://", actor="eve") as store:
        ours, theirs = OnrecordSaver(store), InMemorySaver()
        for saver in (ours, theirs):
            play(saver, script)
        for another in (ours, OnrecordSaver(store)):
            assert seen(another) == seen(theirs)
            for found in theirs.list(config()):
                at = found.config
                assert _seen(another.get_tuple(at)) == _seen(found)
                names = ["a", "b", "messages"]
                expected = theirs.get_delta_channel_history(config=at, channels=names)
                assert another.get_delta_channel_history(config=at, channels=names) == expected
            assert (another.get_tuple(config()) is None) == (theirs.get_tuple(config()) is None)


# The rules of delta histories, each by itself.


def history(saver: OnrecordSaver, number: int, *names: str, **place: str) -> Any:
    found = saver.get_delta_channel_history(
        config=config(at=f"{number:04}", **place), channels=names
    )
    return {
        name: ([value for _, _, value in each["writes"]], each.get("seed", "no seed"))
        for name, each in found.items()
    }


def grow(saver: OnrecordSaver, number: int, parent: int | None = None, **values: Any) -> None:
    """Put a checkpoint of a channel `d` that has a value only if given one, and a write to it."""
    put(saver, number, values, parent=parent, new={"d": f"{number:04}"})
    saver.put_writes(config(at=f"{number:04}"), [("d", number)], f"task-{number}")


def test_no_channels_have_no_history(saver: OnrecordSaver) -> None:
    grow(saver, 1)
    assert history(saver, 1) == {}


def test_writes_come_oldest_first_and_those_of_the_checkpoint_itself_do_not(
    saver: OnrecordSaver,
) -> None:
    for number in range(1, 4):
        grow(saver, number, number - 1 or None)
    assert history(saver, 3, "d") == {"d": ([1, 2], "no seed")}


def test_the_nearest_value_is_the_seed_and_its_own_writes_come_after_it(
    saver: OnrecordSaver,
) -> None:
    grow(saver, 1, None, d="old")
    grow(saver, 2, 1, d="seed")
    grow(saver, 3, 2)
    grow(saver, 4, 3)
    assert history(saver, 4, "d") == {"d": ([2, 3], "seed")}


def test_a_run_that_was_left_behind_is_no_part_of_a_history(saver: OnrecordSaver) -> None:
    grow(saver, 1)
    grow(saver, 2, 1)
    grow(saver, 3, 1)
    grow(saver, 4, 3)
    assert history(saver, 4, "d") == {"d": ([1, 3], "no seed")}


def test_each_channel_ends_at_a_value_of_its_own(saver: OnrecordSaver) -> None:
    put(saver, 1, {"a": "one"}, new={"a": "1", "b": "1"})
    saver.put_writes(config(at="0001"), [("a", 1), ("b", 1)], "t1")
    put(saver, 2, {"b": "two"}, parent=1, new={"a": "2", "b": "2"})
    saver.put_writes(config(at="0002"), [("a", 2), ("b", 2)], "t2")
    put(saver, 3, {}, parent=2, new={"a": "3", "b": "3"})
    assert history(saver, 3, "a", "b") == {"a": ([1, 2], "one"), "b": ([2], "two")}


def test_the_writes_of_a_checkpoint_are_in_the_order_of_a_superstep(saver: OnrecordSaver) -> None:
    put(saver, 1, {}, new={"d": "1"})
    saver.put_writes(config(at="0001"), [("d", "late")], "a-task", "path 2")
    saver.put_writes(config(at="0001"), [("d", "early")], "b-task", "path 1")
    put(saver, 2, {}, parent=1, new={"d": "2"})
    assert history(saver, 2, "d") == {"d": (["early", "late"], "no seed")}


def test_a_namespace_has_a_history_of_its_own(saver: OnrecordSaver) -> None:
    grow(saver, 1)
    put(saver, 1, {"d": "other"}, namespace="child:1")
    put(saver, 2, {}, parent=1, new={"d": "2"}, namespace="child:1")
    assert history(saver, 2, "d", namespace="child:1") == {"d": ([], "other")}


def test_pruning_loses_no_history(saver: OnrecordSaver) -> None:
    for number in range(1, 5):
        grow(saver, number, number - 1 or None)
    saver.prune(["one"])
    assert [each.checkpoint["id"] for each in saver.list(config())] == ["0004"]
    assert history(saver, 4, "d") == {"d": ([1, 2, 3], "no seed")}
