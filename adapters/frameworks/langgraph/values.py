"""The values of checkpoints as LangGraph's serialisers give and take them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from langgraph.checkpoint.serde.encrypted import EncryptedSerializer

from onrecord.adapters.frameworks.langgraph.message_cache import MessageCache
from onrecord.adapters.frameworks.langgraph.new_checkpoints import NewCheckpoint, NewList
from onrecord.adapters.frameworks.langgraph.thread_memory import HeldList
from onrecord.adapters.frameworks.langgraph.typed_values import TypedValue, spell, typed
from onrecord.domain.jsontext import JsonObject

if TYPE_CHECKING:
    from langgraph.checkpoint.base import ChannelVersions, Checkpoint
    from langgraph.checkpoint.serde.base import SerializerProtocol


class Values:
    """Values by way of a serialiser, and of a cache for the members of lists."""

    def __init__(self, serde: SerializerProtocol, cache: MessageCache) -> None:
        """Take the serialiser of a saver, and its cache."""
        self._serde = serde
        self._cache = cache
        # What tells equal members: encrypted ones differ each time.
        self._plain = serde.serde if type(serde) is EncryptedSerializer else serde

    def checkpoint(
        self,
        checkpoint: Checkpoint,
        parent_id: str | None,
        metadata: Mapping[str, Any],
        new_versions: ChannelVersions,
    ) -> NewCheckpoint:
        """Return what is recorded of a checkpoint: its values as they are now."""
        values = checkpoint["channel_values"]
        channels = {**checkpoint["channel_versions"], **new_versions}
        elsewhere = {"channel_values", "id"}
        if channels == checkpoint["channel_versions"]:
            elsewhere.add("channel_versions")
        rest = {name: value for name, value in checkpoint.items() if name not in elsewhere}
        return NewCheckpoint(
            checkpoint_id=checkpoint["id"],
            parent_id=parent_id,
            checkpoint=self._serde.dumps_typed(rest),
            metadata=self._serde.dumps_typed(metadata),
            channels=channels,
            values={
                name: self._new(values[name]) if name in values else None for name in new_versions
            },
        )

    def _new(self, value: Any) -> TypedValue | NewList:
        if type(value) is not list or not _is_said_by_members(cast("list[object]", value)):
            return self._serde.dumps_typed(value)
        keys = self._cache.dumped(cast("list[Any]", value), self._plain)
        return NewList(keys, self._sealed)

    def spelled(self, value: Any) -> JsonObject:
        """Return a value as an item says it."""
        return spell(self._serde.dumps_typed(value))

    def load_spelled(self, spelled: JsonObject) -> Any:
        """Return the value that an item says."""
        return self._serde.loads_typed(typed(spelled))

    def load(self, value: TypedValue | HeldList) -> Any:
        """Return the value of a channel, made anew: who gets it may change it."""
        if isinstance(value, HeldList):
            return self._cache.loaded(value.keys, self._plain)
        return self._serde.loads_typed(value)

    def key_of(self, kept: TypedValue) -> TypedValue:
        """Return the key of a list's member: what it is without encryption, which differs each time."""
        name, data = kept
        if "+" not in name or type(self._serde) is not EncryptedSerializer:
            return kept
        plain, cipher = name.split("+", maxsplit=1)
        return plain, self._serde.cipher.decrypt(cipher, data)

    def _sealed(self, key: TypedValue) -> TypedValue:
        """Return what the record has of a list's member."""
        if type(self._serde) is not EncryptedSerializer:
            return key
        name, data = key
        cipher, sealed = self._serde.cipher.encrypt(data)
        return f"{name}+{cipher}", sealed


def _is_said_by_members(value: list[object]) -> bool:
    """Whether members of a list are worth being told apart: a vector of numbers is one value."""
    return not all(member is None or isinstance(member, bool | int | float) for member in value)
