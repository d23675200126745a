"""Messages of LangChain beside their typed values, so that each is serialised once in a process.

A turn of a graph hands all messages of its thread over, twice, and asks for all of them before. To make them, and
to serialise them again, costs most of a long thread's turn. What is cached is a message's state as bytes that tell
values and their types exactly: a message that was changed in its place is another one, and who is
given a message may change it.
"""

from __future__ import annotations

import marshal
import threading
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar, cast

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from onrecord.adapters.frameworks.langgraph.typed_values import TypedValue

if TYPE_CHECKING:
    from langgraph.checkpoint.serde.base import SerializerProtocol

Key = TypeVar("Key")
Value = TypeVar("Value")

_CLASSES: Final = frozenset({AIMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage})
"""Classes whose members are all that their serialised form says; a program's own may say more."""

_EXACT: Final = 2
"""The last version of marshal's format whose bytes depend on values alone, and on no references to them."""

MOST_BYTES: Final = 64 * 1024 * 1024
"""How much of messages a saver keeps, in bytes of their states."""

_LARGEST: Final = 64 * 1024
"""Bytes of a state that is kept: a message with a picture in it is serialised each time."""


class MessageState(NamedTuple):
    """What a message says: its class, the names of its members, and their values with what it has besides."""

    message_class: type[BaseMessage]
    names: tuple[str, ...]
    values: bytes


def state_of(value: object) -> MessageState | None:
    """Return the state of a message; None for anything else, and for one that holds an object of a class."""
    if not isinstance(value, BaseMessage) or type(value) not in _CLASSES:
        return None
    members = value.__dict__
    try:
        values = marshal.dumps((list(members.values()), value.__pydantic_extra__), _EXACT)
    except ValueError:
        return None
    return MessageState(type(value), tuple(members), values)


def message_of(state: MessageState) -> BaseMessage:
    """Return a new message of a state, as one that was pickled comes back."""
    values, extra = marshal.loads(state.values)
    message = state.message_class.__new__(state.message_class)
    message.__setstate__(
        {
            "__dict__": dict(zip(state.names, values, strict=True)),
            "__pydantic_extra__": extra,
            "__pydantic_fields_set__": {*state.names, *(extra or ())},
            "__pydantic_private__": None,
        }
    )
    return message


class MessageCache:
    """Messages and their typed values; safe to share between threads."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        """Keep at most so many bytes of states, by what they say and by their typed values."""
        self._values = _BoundedCache[MessageState, TypedValue](most_bytes)
        self._states = _BoundedCache[TypedValue, MessageState](most_bytes)

    @property
    def size(self) -> int:
        """Return the bytes of the states that are kept, those by what they say or those by value."""
        return max(self._values.size, self._states.size)

    def dumped(self, members: Iterable[Any], serde: SerializerProtocol) -> list[TypedValue]:
        """Return what a serialiser gives for each member of a list."""
        if type(serde) is not JsonPlusSerializer:
            return [serde.dumps_typed(member) for member in members]
        return [self._dumped(member, serde) for member in members]

    def loaded(self, values: Iterable[TypedValue], serde: SerializerProtocol) -> list[Any]:
        """Return what a serialiser makes of each typed value, made anew."""
        if type(serde) is not JsonPlusSerializer:
            return [serde.loads_typed(value) for value in values]
        return [self._loaded(value, serde) for value in values]

    def _dumped(self, member: Any, serde: SerializerProtocol) -> TypedValue:
        if (state := state_of(member)) is None:
            return serde.dumps_typed(member)
        if (known := self._values.get(state)) is not None:
            return known
        value = serde.dumps_typed(member)
        if _is_plain(state):
            self._values.put(state, value, len(state.values))
        return value

    def _loaded(self, value: TypedValue, serde: SerializerProtocol) -> Any:
        if (known := self._states.get(value)) is not None:
            return message_of(known)
        member = serde.loads_typed(value)
        state = state_of(member)
        # One that the serialiser makes otherwise than a pickled one comes back is made by it each time.
        if state is not None and _is_plain(state) and _is_alike(member, message_of(state)):
            self._states.put(value, state, len(state.values))
            self._values.put(state, value, len(state.values))
        return member


def _is_plain(state: MessageState) -> bool:
    """Return whether a state holds nothing but what JSON has.

    Marshal writes an array of any kind as its bytes, as it writes bytes: neither is told from the other.
    """
    return _are_plain(marshal.loads(state.values))


def _are_plain(value: object) -> bool:
    match value:
        case None | bool() | int() | float() | str():
            return True
        case list() | tuple():
            return all(map(_are_plain, cast("Sequence[object]", value)))
        case dict():
            members = cast("dict[object, object]", value)
            return all(map(_are_plain, members)) and all(map(_are_plain, members.values()))
        case _:
            return False


def _is_alike(one: BaseMessage, other: BaseMessage) -> bool:
    return one == other and one.model_fields_set == other.model_fields_set


class _BoundedCache(Generic[Key, Value]):
    """What was put last, as much as a number of bytes has room for; safe to share between threads."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self.size = 0
        self._kept: dict[Key, tuple[Value, int]] = {}
        # Held for one entry at a time: an event loop puts and gets, too.
        self._lock = threading.Lock()

    def get(self, key: Key) -> Value | None:
        kept = self._kept.get(key)
        return None if kept is None else kept[0]

    def put(self, key: Key, value: Value, size: int) -> None:
        if size > _LARGEST:
            return
        with self._lock:
            if key in self._kept:
                return
            self._kept[key] = (value, size)
            self.size += size
            while self.size > self._most_bytes:
                _, freed = self._kept.pop(next(iter(self._kept)))
                self.size -= freed
