"""Threads of LangGraph in our store: the contracts that its own suite does not have."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any, cast
from uuid import UUID

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer

import onrecord
from onrecord.adapters.store import Store, backend_of
from onrecord.domain.items import ItemRecorded
from onrecord.frameworks.langgraph import OnrecordSaver
from tests.adapters.frameworks.sessions_places import store_of
from tests.contract.places import Place
from tests.frameworks.processes import run_apart, run_until
from tests.frameworks.recorded_blocks import recorded_kinds
from tests.frameworks.threads import checkpoint, config, graph_of, prompt, put, values_of
from tests.patience import join, until


@pytest.fixture
def saver(store: Store) -> OnrecordSaver:
    return OnrecordSaver(store)


@pytest.fixture
def thread(sqlite_store: Store) -> OnrecordSaver:
    """A saver on SQLite, for what is the same on each database."""
    return OnrecordSaver(sqlite_store)


def test_what_comes_twice_is_there_once(store: Store, saver: OnrecordSaver) -> None:
    for again in (saver, OnrecordSaver(store)):
        put(again, 1, {"a": ["x", "y"]})
        again.put_writes(config(at="0001"), [("a", 1), ("b", 2)], "task")
    (found,) = saver.list(config())
    assert (values_of(found), found.pending_writes) == (
        {"a": ["x", "y"]},
        [("task", "a", 1), ("task", "b", 2)],
    )


def test_a_checkpoint_that_is_put_again_keeps_its_writes(saver: OnrecordSaver) -> None:
    put(saver, 1, {"a": "old"})
    saver.put_writes(config(at="0001"), [("a", 1)], "task")
    put(saver, 1, {"a": "new"})
    found = saver.get_tuple(config())
    assert (values_of(found), found and found.pending_writes) == ({"a": "new"}, [("task", "a", 1)])


@pytest.mark.parametrize("is_cold", [False, True])
def test_a_run_that_was_deleted_can_be_put_again(
    store: Store, saver: OnrecordSaver, is_cold: bool
) -> None:
    put(saver, 1, {"a": 1}, run_id="run")
    saver.put_writes(config(at="0001"), [("a", 1)], "task")
    saver.delete_for_runs(["run"])
    assert saver.get_tuple(config()) is None
    again = OnrecordSaver(store) if is_cold else saver
    for _ in range(2):
        put(again, 1, {"a": 1}, run_id="run")
        again.put_writes(config(at="0001"), [("a", 1)], "task")
    (found,) = OnrecordSaver(store).list(config())
    assert (values_of(found), found.pending_writes) == ({"a": 1}, [("task", "a", 1)])


def test_writes_that_come_before_their_checkpoint_are_with_it(saver: OnrecordSaver) -> None:
    put(saver, 1, {"a": 1})
    saver.put_writes(config(at="0002"), [("a", 2)], "task")
    put(saver, 2, {"a": 2}, parent=1)
    found = saver.get_tuple(config())
    assert found is not None
    assert found.pending_writes == [("task", "a", 2)]


def test_the_second_content_of_a_write_is_beside_the_thread(saver: OnrecordSaver) -> None:
    put(saver, 1, {"a": 1})
    for value in ("first", "second"):
        saver.put_writes(config(at="0001"), [("a", value)], "task")
    found = saver.get_tuple(config())
    assert found is not None
    assert found.pending_writes == [("task", "a", "first")]


def test_a_deleted_thread_is_empty_and_its_id_is_used_again(saver: OnrecordSaver) -> None:
    put(saver, 1, {"a": ["old"]})
    saver.put_writes(config(at="0001"), [("a", 1)], "task")
    saver.delete_thread("one")
    assert (saver.get_tuple(config()), list(saver.list(config()))) == (None, [])
    put(saver, 1, {"a": ["new"]})
    found = saver.get_tuple(config())
    assert (values_of(found), found and found.pending_writes) == ({"a": ["new"]}, [])


def test_a_forgotten_thread_is_gone_and_begins_anew(
    thread: OnrecordSaver, sqlite_store: Store
) -> None:
    put(thread, 1, {"a": ["secret"]})
    put(thread, 1, {"a": ["kept"]}, thread="two")
    sqlite_store.forget(thread.conversation_key("one"), reason="asked for")
    assert thread.get_tuple(config()) is None
    put(thread, 2, {"a": ["new"]})
    assert values_of(thread.get_tuple(config())) == {"a": ["new"]}
    assert values_of(thread.get_tuple(config("two"))) == {"a": ["kept"]}
    assert sqlite_store.verify().is_whole


def test_a_thread_of_another_id_or_tenant_is_not_seen(saver: OnrecordSaver, tmp_path: Path) -> None:
    put(saver, 1, {"a": 1})
    for crafted in ("../one", 'one","x', "ONE", "one ", "one\u0301", "one:", "one/"):
        assert saver.get_tuple(config(crafted)) is None
    for crafted in ('"', "|", "child:1", "../"):
        assert saver.get_tuple(config(namespace=crafted)) is None
    backend = backend_of(saver._store)  # pyright: ignore[reportPrivateUsage]
    others = OnrecordSaver(store_of(backend, tmp_path, UUID(int=77)))
    assert (others.get_tuple(config()), list(others.list(None))) == (None, [])


@pytest.mark.parametrize("thread_id", ["", "  ", "a\0b", "x" * 5_000, "\ud800"])
def test_what_is_no_id_names_no_thread(thread: OnrecordSaver, thread_id: str) -> None:
    with pytest.raises(onrecord.OnrecordError):
        put(thread, 1, {"a": 1}, thread=thread_id)


def test_a_config_without_a_thread_or_a_checkpoint_is_refused(thread: OnrecordSaver) -> None:
    with pytest.raises(onrecord.InvalidInput, match="names its thread"):
        thread.get_tuple({"configurable": {}})
    with pytest.raises(onrecord.InvalidInput, match="names none"):
        thread.put_writes(config(), [("a", 1)], "task")


def test_a_value_that_cannot_be_serialised_leaves_nothing(thread: OnrecordSaver) -> None:
    with pytest.raises(TypeError):
        put(thread, 1, {"a": 1, "b": object()})
    assert thread.get_tuple(config()) is None


def test_a_thread_id_may_be_a_number(thread: OnrecordSaver) -> None:
    put(thread, 1, {"a": 1}, thread=cast("str", 7))
    assert values_of(thread.get_tuple(config("7"))) == {"a": 1}


async def test_what_was_cancelled_is_recorded_or_not_but_no_half_of_it(
    thread: OnrecordSaver,
) -> None:
    for attempt in range(20):
        made = checkpoint(attempt, {"a": ["x"] * 9, "b": 1}, {"a": "1", "b": "1"})
        putting = asyncio.ensure_future(
            thread.aput(config(), made, {"source": "loop"}, {"a": "1", "b": "1"})
        )
        for _ in range(attempt % 4):
            await asyncio.sleep(0)
        putting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await putting
        found = await thread.aget_tuple(config(at=f"{attempt:04}"))
        assert found is None or values_of(found) == {"a": ["x"] * 9, "b": 1}


def test_writes_of_several_threads_are_recorded_in_the_order_in_which_they_were_put(
    thread: OnrecordSaver, sqlite_store: Store
) -> None:
    order = thread._thread("one").order_of_writes  # pyright: ignore[reportPrivateUsage]

    def put_writes(number: int) -> None:
        thread.put_writes(config(at="0001"), [("a", number)], f"task {number}")

    with order.held():
        writers = [Thread(target=put_writes, args=(number,)) for number in range(5)]
        for waiting, writer in enumerate(writers, start=1):
            writer.start()
            until(lambda waiting=waiting: order.waiting == waiting)  # type: ignore[misc]
    put_writes(5)
    join(*writers)
    events = sqlite_store.conversation(thread.conversation_key("one")).events()
    items = [event for each in events if isinstance(event := each.event(), ItemRecorded)]
    assert [item.item["task_id"] for item in items] == [f"task {number}" for number in range(6)]


def size_of(store: Store, key: str) -> int:
    return sum(len(event.body or b"") for event in store.conversation(key).log.read())


@pytest.mark.parametrize("encrypted", [False, True])
def test_a_thread_of_thousands_of_messages_costs_what_was_said(
    sqlite_store: Store, encrypted: bool
) -> None:
    saver = OnrecordSaver(sqlite_store, serde=EncryptedSerializer(Shift()) if encrypted else None)
    messages: list[Any] = []
    sizes: list[int] = []
    for number in range(1, 11):
        messages = [
            *messages,
            *(HumanMessage(f"say {len(messages) + each}") for each in range(500)),
        ]
        put(saver, number, {"messages": messages}, parent=number - 1 or None)
        sizes.append(size_of(sqlite_store, saver.conversation_key("one")))
    assert values_of(saver.get_tuple(config()))["messages"] == messages
    assert values_of(OnrecordSaver(sqlite_store, serde=saver.serde).get_tuple(config())) == {
        "messages": messages
    }
    assert sizes[9] < 1.2 * 10 * sizes[0]


class Shift:
    """A cipher that gives other bytes each time, as real ones do."""

    def __init__(self) -> None:
        self.count = 0

    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        self.count += 1
        key = self.count % 255 + 1
        return "shift", bytes([key]) + bytes(byte ^ key for byte in plaintext)

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        assert ciphername == "shift"
        return bytes(byte ^ ciphertext[0] for byte in ciphertext[1:])


@pytest.mark.parametrize("service", ["anthropic", "openai-responses", "gemini"])
def test_each_kind_of_block_comes_back_as_it_was(thread: OnrecordSaver, service: str) -> None:
    blocks = cast("list[Any]", recorded_kinds(service))
    messages = [AIMessage(content=[block]) for block in blocks]
    put(thread, 1, {"messages": messages})
    found = values_of(OnrecordSaver(thread._store).get_tuple(config()))  # pyright: ignore[reportPrivateUsage]
    assert [message.content for message in found["messages"]] == [[block] for block in blocks]


def test_a_long_value_is_a_blob(thread: OnrecordSaver, sqlite_store: Store) -> None:
    values = {"file": "x" * 200_000, "raw": b"\x00" * 200_000}
    put(thread, 1, values)
    assert size_of(sqlite_store, thread.conversation_key("one")) < 10_000
    assert values_of(thread.get_tuple(config())) == values


def test_threads_are_listed_those_that_moved_last_first(saver: OnrecordSaver) -> None:
    for name in ("one", "two", "three"):
        put(saver, 1, {"a": name}, thread=name)
    saver.delete_thread("two")
    assert [values_of(found)["a"] for found in saver.list(None)] == ["three", "one"]


def test_a_copy_goes_on_by_itself(saver: OnrecordSaver) -> None:
    put(saver, 1, {"a": ["x"]})
    put(saver, 2, {"a": ["x", "y"]}, parent=1)
    saver.put_writes(config(at="0002"), [("a", 3)], "task")
    saver.copy_thread("one", "two")
    put(saver, 3, {"a": ["x", "y", "z"]}, parent=2, thread="two")
    assert [values_of(each)["a"] for each in saver.list(config("two"))] == [
        ["x", "y", "z"],
        ["x", "y"],
        ["x"],
    ]
    assert [each.checkpoint["id"] for each in saver.list(config())] == ["0002", "0001"]


def test_a_copy_of_a_pruned_thread_takes_nothing_from_the_thread_that_it_joins(
    saver: OnrecordSaver,
) -> None:
    for number in range(2, 5):
        put(saver, number, {"a": ["x"] * number}, parent=number - 1 if number > 2 else None)
    saver.prune(["one"])
    put(saver, 1, {"a": ["old"]}, thread="two")
    saver.copy_thread("one", "two")
    held = [(each.checkpoint["id"], values_of(each)) for each in saver.list(config("two"))]
    assert held == [("0004", {"a": ["x"] * 4}), ("0001", {"a": ["old"]})]
    saver.copy_thread("two", "three")
    copied = [(each.checkpoint["id"], values_of(each)) for each in saver.list(config("three"))]
    assert copied == held


def _put_many(place: Place, folder: Path, name: str, count: int) -> None:
    with store_of(place.open(), folder) as store:
        saver = OnrecordSaver(store)
        for number in range(count):
            put(saver, number, {"a": [name] * (number % 7)}, namespace=name)
            saver.put_writes(config("one", name, f"{number:04}"), [("a", number)], "task")


def _held(place: Place, folder: Path, namespace: str) -> list[CheckpointTuple]:
    with store_of(place.open(), folder) as store:
        return list(OnrecordSaver(store).list(config(namespace=namespace)))


def test_two_processes_lose_nothing_and_double_nothing(
    durable_place: Place, tmp_path: Path
) -> None:
    assert _held(durable_place, tmp_path, "a") == []
    put_many = partial(_put_many, durable_place, tmp_path)
    run_apart(partial(put_many, "a", 100), partial(put_many, "b", 100))
    for name in ("a", "b"):
        held = _held(durable_place, tmp_path, name)
        assert [values_of(each)["a"] for each in held] == [
            [name] * (number % 7) for number in reversed(range(100))
        ]
        assert [each.pending_writes for each in held] == [
            [("task", "a", number)] for number in reversed(range(100))
        ]


def _run_on(place: Place, folder: Path, turns: int) -> None:
    with store_of(place.open(), folder) as store:
        graph = graph_of(OnrecordSaver(store))
        for number in range(turns):
            graph.invoke(prompt(f"say {number}"), config())


def test_a_run_that_is_killed_leaves_a_thread_that_runs_on(
    durable_place: Place, tmp_path: Path
) -> None:
    assert _held(durable_place, tmp_path, "") == []
    run_until(
        lambda: len(_held(durable_place, tmp_path, "")) >= 10,
        partial(_run_on, durable_place, tmp_path, 100_000),
    )
    with store_of(durable_place.open(), tmp_path) as store:
        saver = OnrecordSaver(store)
        graph = graph_of(saver)
        before = values_of(saver.get_tuple(config())).get("messages", [])
        graph.invoke(prompt("and on"), config())
        after = graph.get_state(config()).values["messages"]
    assert after[: len(before)] == before
    assert after[-2].content == "and on"
