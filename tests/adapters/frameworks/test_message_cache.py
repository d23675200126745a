"""Messages are cached beside their typed values, and nobody can tell but by the time it takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from onrecord.adapters.frameworks.langgraph.message_cache import MessageCache, state_of
from onrecord.adapters.frameworks.langgraph.typed_values import TypedValue

SERDE = JsonPlusSerializer()

_scalars = st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False) | st.text()
_json = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
_extras = st.dictionaries(st.sampled_from(["mood", "place"]), _json)
_texts = st.text() | st.lists(
    st.text() | st.fixed_dictionaries({"type": st.just("text"), "text": st.text()})
)
_members = st.fixed_dictionaries(
    {"content": _texts},
    optional={
        "id": st.text(),
        "name": st.text(),
        "additional_kwargs": st.dictionaries(st.text(), _json, max_size=2),
        "response_metadata": st.dictionaries(st.text(), _json, max_size=2),
    },
)
_calls = st.lists(
    st.fixed_dictionaries(
        {"id": st.text(), "name": st.text(), "args": st.dictionaries(st.text(), _json, max_size=2)}
    ),
    max_size=2,
)


def _made(
    message_class: Callable[..., BaseMessage], **more: st.SearchStrategy[Any]
) -> st.SearchStrategy[BaseMessage]:
    parts = st.tuples(_members, _extras, st.fixed_dictionaries(more))
    return parts.map(lambda part: message_class(**part[0], **part[1], **part[2]))


messages = st.one_of(
    _made(HumanMessage),
    _made(SystemMessage),
    _made(AIMessage, tool_calls=_calls),
    _made(ToolMessage, tool_call_id=st.text(), artifact=_json),
    st.text().map(lambda message_id: RemoveMessage(id=message_id)),
)


def _typed(member: Any) -> TypedValue:
    return SERDE.dumps_typed(member)


def _parts(member: BaseMessage) -> tuple[Any, ...]:
    """Return all that a message is, its types told apart."""
    return type(member), repr(member.__dict__), member.__pydantic_extra__, member.model_fields_set


@given(st.lists(messages, max_size=5), st.integers(0, 2_000))
def test_what_a_cache_gives_is_what_the_serialiser_gives(
    members: list[BaseMessage], most_bytes: int
) -> None:
    cache = MessageCache(most_bytes)
    typed = [_typed(member) for member in members]
    for _ in range(2):
        assert cache.dumped(members, SERDE) == typed
        loaded = cache.loaded(typed, SERDE)
        assert list(map(_parts, loaded)) == [_parts(SERDE.loads_typed(each)) for each in typed]
        assert cache.dumped(loaded, SERDE) == [_typed(member) for member in loaded]


@pytest.mark.parametrize("other", [True, 1.0, "1", None, [1], {"one": 1}])
def test_a_message_that_was_changed_in_its_place_is_serialised_again(other: object) -> None:
    cache = MessageCache()
    member = AIMessage("Yes.", additional_kwargs={"deep": [{"count": 1}]})
    before = cache.dumped([member], SERDE)
    member.additional_kwargs["deep"][0]["count"] = other
    after = cache.dumped([member], SERDE)
    assert after == [_typed(member)]
    assert after != before


def test_who_changes_a_message_changes_that_of_nobody_else() -> None:
    cache = MessageCache()
    typed = cache.dumped([AIMessage("Yes.", response_metadata={"deep": [1]})], SERDE)
    for _ in range(3):
        (member,) = cache.loaded(typed, SERDE)
        assert member.content == "Yes."
        assert member.response_metadata == {"deep": [1]}
        member.content = "No."
        member.response_metadata["deep"].append(2)


class _Own(HumanMessage):
    """A program's own kind of message."""


@pytest.mark.parametrize(
    "member",
    [
        _Own(content="Yes."),
        AIMessageChunk(content="Yes."),
        AIMessage("Yes.", additional_kwargs={"set": HumanMessage("inner")}),
        {"role": "user"},
        "a text",
        7,
    ],
    ids=lambda member: type(member).__name__,
)
def test_what_is_no_message_of_plain_values_has_no_state(member: object) -> None:
    assert state_of(member) is None
    assert MessageCache().dumped([member], SERDE) == [_typed(member)]


@pytest.mark.parametrize("first", range(3))
def test_bytes_and_what_looks_like_them_are_told_apart(first: int) -> None:
    cache = MessageCache()
    alike = [b"\0\1", bytearray(b"\0\1"), memoryview(b"\0\1")]
    members = [AIMessage("Yes.", additional_kwargs={"data": value}) for value in alike]
    for member in (members[first], *members):
        assert cache.dumped([member], SERDE) == [_typed(member)]
        typed = _typed(member)
        assert _parts(*cache.loaded([typed], SERDE)) == _parts(SERDE.loads_typed(typed))
    assert cache.size == 0


class _OwnSerialiser(JsonPlusSerializer):
    """A serialiser of a program, of which nothing is known."""

    calls = 0

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        self.calls += 1
        return super().dumps_typed(obj)


def test_another_serialiser_is_asked_each_time() -> None:
    cache, serde = MessageCache(), _OwnSerialiser()
    for _ in range(3):
        cache.dumped([HumanMessage("Yes.")], serde)
    assert serde.calls == 3


def test_a_cache_keeps_no_more_than_it_may() -> None:
    cache = MessageCache(most_bytes=10_000)
    for number in range(100):
        typed = cache.dumped([HumanMessage(f"{number} " * 100)], SERDE)
        cache.loaded(typed, SERDE)
        assert cache.size <= 10_000
    assert cache.size > 5_000
