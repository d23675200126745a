"""A checkpoint refers to what tasks wrote, and everybody who reads the thread finds it."""

from __future__ import annotations

from typing import Any, cast

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from onrecord.adapters.store import Store
from onrecord.domain import jsontext
from onrecord.domain.items import ItemRecorded
from onrecord.frameworks.langgraph import OnrecordSaver
from tests.frameworks.threads import config, graph_of, put, values_of

ASK: HumanMessage = HumanMessage("where? " * 40, id="ask")
ANSWER: AIMessage = AIMessage("here. " * 40, id="answer")


@pytest.fixture
def saver(sqlite_store: Store) -> OnrecordSaver:
    return OnrecordSaver(sqlite_store)


def _items(store: Store, saver: OnrecordSaver, thread: str = "one") -> list[ItemRecorded]:
    conversation = store.conversation(saver.conversation_key(thread))
    events = [recorded.event() for recorded in conversation.events()]
    return [event for event in events if isinstance(event, ItemRecorded)]


def _times(items: list[ItemRecorded], message: AnyMessage) -> int:
    """Return how often a message is said in items."""
    text = jsontext.write(message.content)
    return sum(jsontext.write(each.item).count(text) for each in items)


def _turn(saver: OnrecordSaver) -> None:
    """Put what a turn of a graph puts: its input, a write, and what comes of it."""
    put(saver, 1, {"__start__": {"messages": [ASK]}})
    saver.put_writes(config(at="0001"), [("messages", [ASK])], "start")
    put(saver, 2, {"messages": [ASK]}, parent=1)
    saver.put_writes(config(at="0002"), [("messages", [ANSWER])], "reply")
    put(saver, 3, {"messages": [ASK, ANSWER]}, parent=2)


def _must_be_whole(saver: OnrecordSaver, thread: str = "one") -> None:
    found = {each.checkpoint["id"]: each for each in saver.list(config(thread))}
    assert values_of(found["0001"]) == {"__start__": {"messages": [ASK]}}
    assert found["0001"].pending_writes == [("start", "messages", [ASK])]
    assert values_of(found["0002"]) == {"messages": [ASK]}
    assert found["0002"].pending_writes == [("reply", "messages", [ANSWER])]
    assert values_of(found["0003"]) == {"messages": [ASK, ANSWER]}
    assert values_of(saver.get_tuple(config(thread))) == {"messages": [ASK, ANSWER]}


def test_a_checkpoint_says_no_message_that_was_written(
    saver: OnrecordSaver, sqlite_store: Store
) -> None:
    _turn(saver)
    items = _items(sqlite_store, saver)
    # LangGraph has the input recorded, and what its first task wrote.
    assert [_times(items, message) for message in (ASK, ANSWER)] == [2, 1]
    _must_be_whole(saver)
    _must_be_whole(OnrecordSaver(sqlite_store))


def test_turns_of_a_graph_are_whole_for_who_knows_nothing(
    saver: OnrecordSaver, sqlite_store: Store
) -> None:
    def reply(_: Any) -> Any:
        return {"messages": [ANSWER]}

    app = graph_of(saver, reply)
    for number in range(3):
        app.invoke({"messages": [ASK.model_copy(update={"id": f"ask {number}"})]}, config())
        cold = OnrecordSaver(sqlite_store)
        assert list(cold.list(config())) == list(saver.list(config()))


def test_a_message_that_was_changed_is_said_again(
    saver: OnrecordSaver, sqlite_store: Store
) -> None:
    _turn(saver)
    changed = ASK.model_copy(update={"content": "where else? " * 40})
    put(saver, 4, {"messages": [changed, ANSWER]}, parent=3)
    for reader in (saver, OnrecordSaver(sqlite_store)):
        assert values_of(reader.get_tuple(config())) == {"messages": [changed, ANSWER]}


def test_a_copy_of_a_thread_finds_its_messages_in_itself(
    saver: OnrecordSaver, sqlite_store: Store
) -> None:
    put(saver, 1, {"messages": [ANSWER]}, thread="two")
    put(saver, 1, {"old": [ANSWER]})
    saver.delete_thread("one")
    _turn(saver)
    saver.delete_thread("two")
    saver.copy_thread("one", "two")
    sqlite_store.forget(saver.conversation_key("one"), reason="asked for")
    _must_be_whole(saver, "two")
    _must_be_whole(OnrecordSaver(sqlite_store), "two")


def test_metadata_holds_what_it_is_given(saver: OnrecordSaver, sqlite_store: Store) -> None:
    put(saver, 1, {"messages": [ASK]})
    saver.put_writes(config(at="0001"), [("messages", [ANSWER])], "reply")
    put(saver, 2, {"messages": [ASK, ANSWER]}, parent=1, last=ANSWER)
    for reader in (saver, OnrecordSaver(sqlite_store)):
        found = reader.get_tuple(config())
        assert found is not None
        assert cast("Any", found.metadata)["last"] == ANSWER


def test_a_redacted_checkpoint_is_no_part_of_a_thread(
    saver: OnrecordSaver, sqlite_store: Store
) -> None:
    _turn(saver)
    conversation = sqlite_store.conversation(saver.conversation_key("one"))
    *_, second, writes, third = [event.version for event in conversation.events()]
    for redacted, left in ((third, [ASK]), (writes, [ASK]), (second, None)):
        conversation.redact(redacted, reason="asked for")
        for reader in (saver, OnrecordSaver(sqlite_store)):
            found, listed = reader.get_tuple(config()), list(reader.list(config()))
            assert listed[:1] == [found]
            if left is not None:
                assert values_of(found) == {"messages": left}
            if redacted == writes:
                assert found is not None
                assert found.pending_writes == []


def test_a_pruned_thread_whose_checkpoint_is_redacted_is_empty(
    saver: OnrecordSaver, sqlite_store: Store
) -> None:
    _turn(saver)
    saver.prune(["one"])
    conversation = sqlite_store.conversation(saver.conversation_key("one"))
    items = [event.version for event in conversation.events() if event.type == "item.recorded"]
    conversation.redact(items[-1], reason="asked for")
    for reader in (saver, OnrecordSaver(sqlite_store)):
        assert (reader.get_tuple(config()), list(reader.list(config()))) == (None, [])


def test_a_channel_is_called_as_a_program_likes(saver: OnrecordSaver, sqlite_store: Store) -> None:
    for number, name in enumerate(("$same", "$ext", "$bytes"), start=1):
        put(saver, number, {name: [ASK], "messages": [ASK]})
    saver.copy_thread("one", "two")
    held = [values_of(each) for each in saver.list(config())]
    assert [values_of(each) for each in OnrecordSaver(sqlite_store).list(config("two"))] == held


def test_a_thread_with_redactions_is_copied(saver: OnrecordSaver, sqlite_store: Store) -> None:
    _turn(saver)
    conversation = sqlite_store.conversation(saver.conversation_key("one"))
    deleted = conversation.events()[-1].version
    saver.delete_thread("one")
    _turn(saver)
    conversation.redact(deleted, reason="asked for")
    conversation.redact(conversation.events()[-2].version, reason="asked for")
    saver.copy_thread("one", "two")
    held = [values_of(each) for each in saver.list(config())]
    assert [values_of(each) for each in OnrecordSaver(sqlite_store).list(config("two"))] == held


def test_what_was_pruned_is_referred_to_still(saver: OnrecordSaver, sqlite_store: Store) -> None:
    _turn(saver)
    saver.prune(["one"])
    for reader in (saver, OnrecordSaver(sqlite_store)):
        (kept,) = reader.list(config())
        assert values_of(kept) == {"messages": [ASK, ANSWER]}


@pytest.mark.parametrize("how", ["deleted", "forgotten"])
def test_a_thread_that_begins_anew_refers_to_nothing_before(
    saver: OnrecordSaver, sqlite_store: Store, how: str
) -> None:
    put(saver, 1, {"messages": [ASK]})
    if how == "deleted":
        OnrecordSaver(sqlite_store).delete_thread("one")
    else:
        sqlite_store.forget(saver.conversation_key("one"), reason="asked for")
    saver.put_writes(config(at="0002"), [("messages", [ASK])], "start")
    put(saver, 2, {"messages": [ASK]})
    begun_anew = [each for each in _items(sqlite_store, saver) if "0002" in str(each.item)]
    assert _times(begun_anew, ASK) >= 1
    for reader in (saver, OnrecordSaver(sqlite_store)):
        found = reader.get_tuple(config())
        assert values_of(found) == {"messages": [ASK]}
        assert found is not None
        assert found.pending_writes == [("start", "messages", [ASK])]


def test_writes_of_two_savers_at_once_are_all_there(
    saver: OnrecordSaver, sqlite_store: Store
) -> None:
    other = OnrecordSaver(sqlite_store)
    put(saver, 1, {"messages": [ASK]})
    assert other.get_tuple(config()) is not None
    for each, task in ((saver, "a"), (other, "b"), (saver, "c"), (other, "d")):
        each.put_writes(config(at="0001"), [("messages", [ASK]), ("note", task)], task)
    for reader in (saver, other, OnrecordSaver(sqlite_store)):
        found = reader.get_tuple(config())
        assert found is not None
        written: list[Any] = [
            value for _, channel, value in found.pending_writes or () if channel == "note"
        ]
        assert written == ["a", "b", "c", "d"]


def test_writes_that_come_again_from_another_process_count_once(
    saver: OnrecordSaver, sqlite_store: Store
) -> None:
    put(saver, 1, {"messages": [ASK]})
    for each in (saver, OnrecordSaver(sqlite_store), saver):
        each.put_writes(config(at="0001"), [("messages", [ASK])], "start")
    for reader in (saver, OnrecordSaver(sqlite_store)):
        found = reader.get_tuple(config())
        assert found is not None
        assert found.pending_writes == [("start", "messages", [ASK])]
