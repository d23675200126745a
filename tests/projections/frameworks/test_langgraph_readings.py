"""The messages of a thread of LangGraph are those of its latest checkpoint, wherever they lie."""

from __future__ import annotations

from typing import Any

import pytest

from onrecord.domain.jsontext import JsonObject
from onrecord.projections.frameworks.current_items import HeldItem
from onrecord.projections.frameworks.framework import StreamItems
from onrecord.projections.frameworks.langchain_messages import parts_left_out, read_message
from onrecord.projections.frameworks.langgraph import read_items


def message(kind: str, content: Any, **members: Any) -> JsonObject:
    """A message as LangGraph's serialiser spells it."""
    said = {"content": content, "type": kind, "id": None, **members}
    return {"$ext": 5, "of": ["langchain_core.messages", "Message", said, "model_validate_json"]}


def typed(value: Any) -> JsonObject:
    return {"type": "msgpack", "json": value}


def checkpoint(number: int, at: int, value: JsonObject | None = None, **more: Any) -> JsonObject:
    """A checkpoint whose messages lie at a version; 0: in itself."""
    return {
        "checkpoint_id": f"{number:04}",
        "parent_id": None,
        "checkpoint": {"type": "null"},
        "metadata": {"type": "null"},
        "channels": {"messages": ["1", at]},
        "values": {"messages": value} if at == 0 else {},
        "latest": [f"{number:04}", 0],
        "early": [],
        **more,
    }


HUMAN, AI, TOOL = (
    message("human", "Where?"),
    message("ai", "Here.", tool_calls=[{"id": "c", "name": "track", "args": {"n": 1}}]),
    message("tool", "found", tool_call_id="c"),
)
THREAD: dict[int, JsonObject] = {
    2: checkpoint(1, 0, {"base": 0, "parts": [{"new": [typed(HUMAN)]}]}),
    3: {"writes_to": "0001", "task_id": "t", "task_path": "", "writes": []},
    4: checkpoint(2, 0, {"base": 2, "parts": [[0, 1], {"new": [typed(AI), typed(TOOL)]}]}),
    5: checkpoint(3, 4),
}


def read(items: dict[int, JsonObject], *held: int) -> list[tuple[tuple[int, ...], Any]]:
    current = [HeldItem(version, items[version]) for version in held or items]
    reading = read_items(StreamItems(current, item_at=items.get))
    assert reading.unread == ()
    return [(each.versions, each.value) for each in reading.messages]


CALL = {"id": "c", "type": "function", "function": {"name": "track", "arguments": '{"n":1}'}}
TOLD = [
    ((2,), {"role": "user", "content": [{"type": "text", "text": "Where?"}]}),
    ((4,), {"role": "assistant", "content": "Here.", "tool_calls": [CALL]}),
    (
        (4,),
        {"role": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": "found"}]},
    ),
]


def test_a_list_is_read_through_the_checkpoints_that_it_goes_on_from() -> None:
    assert read(THREAD) == TOLD


def test_what_was_pruned_is_read_where_the_latest_checkpoint_has_it() -> None:
    assert read(THREAD, 5) == TOLD


def test_an_earlier_checkpoint_tells_when_later_ones_were_taken_back() -> None:
    assert read(THREAD, 2, 3) == TOLD[:1]


def test_a_thread_without_messages_says_nothing() -> None:
    assert read({3: THREAD[3]}) == []
    assert read({2: checkpoint(1, -1)}) == []
    assert read({2: checkpoint(1, 0, None)}) == []


def test_a_value_that_is_no_list_of_members_is_read_whole() -> None:
    assert read({2: checkpoint(1, 0, typed([HUMAN]))}) == TOLD[:1]


@pytest.mark.parametrize(
    "item",
    [
        checkpoint(1, 7),
        checkpoint(1, 0, {"type": "msgpack+aes", "base64": ""}),
        checkpoint(1, 0, {"base": 9, "parts": [[0, 1]]}),
        checkpoint(1, 0, {"base": 0, "parts": [{"new": [{"type": "pickle", "base64": ""}]}]}),
        checkpoint(1, 0, {"base": 0, "parts": "none"}),
        checkpoint(1, 0, channels={}),
    ],
)
def test_what_cannot_be_read_is_told(item: JsonObject) -> None:
    reading = read_items(StreamItems([HeldItem(2, item)], item_at={2: item}.get))
    assert (reading.messages, [each.version for each in reading.unread]) == ((), [2])


WRITTEN: JsonObject = {
    "writes_to": "0001",
    "task_id": "t",
    "task_path": "",
    "writes": [[0, "messages", typed([AI, TOOL])]],
}
REFERRING = {
    **THREAD,
    3: WRITTEN,
    4: checkpoint(
        2,
        0,
        {
            "base": 2,
            "parts": [[0, 1], {"new": [typed({"$same": [3, 0]}), typed({"$same": [3, 1]})]}],
        },
    ),
}


def test_a_message_stands_where_a_list_refers_to_it_too() -> None:
    assert read(REFERRING) == read(REFERRING, 5) == TOLD


@pytest.mark.parametrize(("redacted", "left"), [(3, TOLD[:1]), (4, TOLD[:1]), (2, TOLD[1:])])
def test_what_a_redacted_item_said_is_in_no_later_list(
    redacted: int, left: list[tuple[tuple[int, ...], Any]]
) -> None:
    reading = read_items(
        StreamItems([HeldItem(5, REFERRING[5])], item_at=REFERRING.get, redacted={redacted})
    )
    assert [(each.versions, each.value) for each in reading.messages] == left
    at = 2 if redacted == 2 else 4
    assert reading.unread == ((at, "a message that was redacted"),)


def test_an_item_that_is_not_as_it_was_written_is_passed_over() -> None:
    torn = {"checkpoint_id": "9999"}
    assert read({**THREAD, 6: torn}) == TOLD


PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}


@pytest.mark.parametrize(
    "part",
    [
        PICTURE,
        {"type": "image_url", "image_url": "data:image/png;base64,AA=="},
        {"type": "image", "base64": "AA==", "mime_type": "image/png"},
        {"type": "image", "source_type": "base64", "data": "AA==", "mime_type": "image/png"},
        {"type": "image", "source": {"type": "base64", "data": "AA==", "media_type": "image/png"}},
        {"type": "image", "url": "data:image/png;base64,AA=="},
    ],
)
def test_pictures_are_read_in_each_spelling(part: JsonObject) -> None:
    told = read_message(message("human", ["See:", part]))
    assert told == {"role": "user", "content": [{"type": "text", "text": "See:"}, PICTURE]}
    assert parts_left_out(message("human", ["See:", part])) == []


def test_parts_that_go_nowhere_are_told_by_their_types() -> None:
    said = message(
        "ai", [{"type": "thinking"}, {"type": "text", "text": "x"}, {"type": "tool_use"}, 7]
    )
    assert read_message(said) == {"role": "assistant", "content": "x"}
    assert parts_left_out(said) == ["thinking", "of no known type"]


NO_MESSAGES: list[Any] = [None, 7, {}, {"$ext": 5}, {"$ext": 5, "of": ["m", "C", {}]}]


@pytest.mark.parametrize("value", [*NO_MESSAGES, message("remove", "")])
def test_what_is_no_message_is_none(value: object) -> None:
    assert read_message(value) is None


def test_a_message_may_be_an_object_of_role_and_content() -> None:
    assert read_message({"role": "user", "content": "Where?"}) == TOLD[0][1]
