"""Checkpoints of LangGraph: what its `BaseCheckpointSaver` asks for, over one log.

The interface is `langgraph.checkpoint.base.BaseCheckpointSaver`, and docs/frameworks-langgraph.md says how it is
used. A thread is a conversation, a checkpoint namespace is a stream of it, a checkpoint and a call of
`put_writes` are items.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from onrecord.adapters.caches.newest import Newest
from onrecord.adapters.frameworks.awaiting import settled
from onrecord.adapters.frameworks.sessions import Sessions
from onrecord.adapters.store import Store
from onrecord.domain.errors import InvalidInput, NotInstalled

try:
    from langgraph.checkpoint.base import (
        WRITES_IDX_MAP,
        BaseCheckpointSaver,
        CheckpointTuple,
        get_checkpoint_id,
        get_checkpoint_metadata,
    )
except ModuleNotFoundError as exc:
    raise NotInstalled("the checkpointer of LangGraph", "langgraph", "langgraph") from exc

from onrecord.adapters.frameworks.langgraph.message_cache import MessageCache
from onrecord.adapters.frameworks.langgraph.thread import CheckpointThread, FoundCheckpoint
from onrecord.adapters.frameworks.langgraph.thread_memory import FRAMEWORK
from onrecord.adapters.frameworks.langgraph.values import Values
from onrecord.projections.frameworks.checkpoints import (
    ChannelWrite,
    CheckpointItem,
    WritesItem,
    standing_writes,
)

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import (
        ChannelVersions,
        Checkpoint,
        CheckpointMetadata,
        DeltaChannelHistory,
    )
    from langgraph.checkpoint.serde.base import SerializerProtocol

T = TypeVar("T")

_MOST_THREADS: Final = 128
"""Threads that a process remembers: another one is read again."""


class OnrecordSaver(BaseCheckpointSaver[str]):
    """A checkpointer for `graph.compile(checkpointer=...)`, for `invoke` and `ainvoke` alike.

    It is safe to share between threads and tasks. What is refused raises an `OnrecordError`, and nothing of
    it is recorded.
    """

    def __init__(self, store: Store, *, serde: SerializerProtocol | None = None) -> None:
        """Keep threads in a store; close that when done."""
        super().__init__(serde=serde)
        self._store = store
        self._sessions = Sessions(store, FRAMEWORK)
        self._threads: Newest[str, CheckpointThread] = Newest(_MOST_THREADS)
        self._messages = MessageCache()

    def conversation_key(self, thread_id: str) -> str:
        """Return the key of the conversation that a thread is: `Store` and the commands take it."""
        return self._sessions.key(str(thread_id))

    # One checkpoint.

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint that a config names, or the latest of its thread; None where there is none."""
        thread_id, namespace = _place(config)
        found = self._thread(thread_id).find(namespace, get_checkpoint_id(config))
        return None if found is None else self._tuple(thread_id, namespace, found)

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Record a checkpoint behind the one that the config names; return the config that names it."""
        thread_id, namespace = _place(config)
        full = get_checkpoint_metadata(config, metadata)
        parent_id = get_checkpoint_id(config)
        new = self._values.checkpoint(checkpoint, parent_id, full, new_versions)
        self._thread(thread_id).put(namespace, new)
        return _config(thread_id, namespace, new.checkpoint_id)

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Record what a task wrote after the checkpoint that the config names."""
        thread_id, namespace = _place(config)
        thread = self._thread(thread_id)
        # LangGraph puts the writes of one step after another by several threads. Coroutines have no lock here:
        # one that waits for a commit would stop the others of its loop.
        with thread.order_of_writes.held():
            thread.put_writes(namespace, self._writes(config, writes, task_id, task_path))

    # Many.

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # The interface's own name.
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Yield checkpoints, the latest of a thread first; without a config those of all threads."""
        left = limit
        for thread_id, namespace in self._places(config):
            if left is not None and left <= 0:
                return
            for found in self._listed(thread_id, namespace, config, filter, before, left):
                left = None if left is None else left - 1
                yield found

    def delete_thread(self, thread_id: str) -> None:
        """Let a thread hold nothing; its id can be used again.

        The record keeps what it held. `Store.forget` erases it (docs/frameworks-langgraph.md).
        """
        self._thread(str(thread_id)).delete()

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Take the checkpoints of runs away, in every thread of the store; the record keeps them."""
        runs = set(run_ids)
        if not runs:
            return

        def is_meant(item: CheckpointItem) -> bool:
            metadata = self._values.load_spelled(item.metadata)
            return metadata.get("run_id") in runs

        for entry in self._sessions.listed():
            self._thread(*entry.outer_id).withdraw(is_meant)

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Record all checkpoints and writes of a thread in another one too, in one commit."""
        self._thread(str(source_thread_id)).copy_to(self._thread(str(target_thread_id)))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Let threads hold the latest checkpoint of each namespace alone, or with "delete" nothing.

        The record keeps what they held; histories of delta channels are read from it still.
        """
        if strategy not in ("keep_latest", "delete"):
            raise InvalidInput('the strategy of pruning is "keep_latest" or "delete"')
        for thread_id in thread_ids:
            thread = self._thread(str(thread_id))
            if strategy == "delete":
                thread.delete()
            else:
                thread.prune()

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Return what was written to channels before a checkpoint, since they last had a value (beta)."""
        if not channels:
            return {}
        thread_id, namespace = _place(config)
        histories = self._thread(thread_id).delta_history(
            namespace, get_checkpoint_id(config), channels
        )
        values = self._values
        found: dict[str, DeltaChannelHistory] = {}
        for channel, history in histories.items():
            writes = [(task, channel, values.load_spelled(value)) for task, value in history.writes]
            found[channel] = {"writes": writes}
            if history.seed is not None:
                found[channel]["seed"] = values.load(history.seed)
        return found

    def get_next_version(self, current: str | None, channel: None) -> str:
        """Return the version of a channel that comes next: a number, and what no other writer has."""
        number = "0" if current is None else str(current).split(".", maxsplit=1)[0]
        return f"{int(number) + 1:0{max(len(number), 12)}}.{os.urandom(4).hex()}"

    # The same for coroutines.

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """As `get_tuple`."""
        return await self._settled(partial(self.get_tuple, config))

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """As `put`; what is recorded is what the values are when it is called."""
        thread_id, namespace = _place(config)
        full = get_checkpoint_metadata(config, metadata)
        parent_id = get_checkpoint_id(config)
        new = self._values.checkpoint(checkpoint, parent_id, full, new_versions)
        await self._settled(partial(self._thread(thread_id).put, namespace, new))
        return _config(thread_id, namespace, new.checkpoint_id)

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """As `put_writes`; what is recorded is what the values are when it is called."""
        thread_id, namespace = _place(config)
        item = self._writes(config, writes, task_id, task_path)
        await self._settled(partial(self._thread(thread_id).put_writes, namespace, item))

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # The interface's own name.
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """As `list`."""
        found = self.list(config, filter=filter, before=before, limit=limit)
        while (each := await self._settled(partial(next, found, None))) is not None:
            yield each

    async def adelete_thread(self, thread_id: str) -> None:
        """As `delete_thread`."""
        await self._settled(partial(self.delete_thread, thread_id))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """As `delete_for_runs`."""
        await self._settled(partial(self.delete_for_runs, run_ids))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """As `copy_thread`."""
        await self._settled(partial(self.copy_thread, source_thread_id, target_thread_id))

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """As `prune`."""
        await self._settled(partial(self.prune, thread_ids, strategy=strategy))

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """As `get_delta_channel_history`."""
        step = partial(self.get_delta_channel_history, config=config, channels=channels)
        return await self._settled(step)

    # How it is done.

    async def _settled(self, step: Callable[[], T]) -> T:
        return await settled(self._store, step)

    @property
    def _values(self) -> Values:
        # LangGraph gives copies of a saver another serialiser.
        return Values(self.serde, self._messages)

    def _writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str,
    ) -> WritesItem:
        checkpoint_id = get_checkpoint_id(config)
        if checkpoint_id is None:
            raise InvalidInput("writes belong to a checkpoint: the config names none")
        values = self._values
        return WritesItem(
            checkpoint_id,
            task_id,
            task_path,
            tuple(
                ChannelWrite(WRITES_IDX_MAP.get(channel, place), channel, values.spelled(value))
                for place, (channel, value) in enumerate(writes)
            ),
        )

    def _thread(self, thread_id: str) -> CheckpointThread:
        if (thread := self._threads.get(thread_id)) is None:
            thread = CheckpointThread(self._sessions.session(thread_id), self._values.key_of)
            self._threads[thread_id] = thread
        return thread

    def _places(self, config: RunnableConfig | None) -> Iterator[tuple[str, str]]:
        """Yield the threads and namespaces that a list is of."""
        if config is None:
            threads = [entry.outer_id[0] for entry in self._sessions.listed()]
        else:
            threads = [_place(config)[0]]
        namespace = None if config is None else _configurable(config).get("checkpoint_ns")
        for thread_id in threads:
            for name in self._thread(thread_id).namespaces():
                if namespace is None or name == namespace:
                    yield thread_id, name

    def _listed(
        self,
        thread_id: str,
        namespace: str,
        config: RunnableConfig | None,
        filtered: Mapping[str, Any] | None,
        before: RunnableConfig | None,
        limit: int | None,
    ) -> Iterator[CheckpointTuple]:
        thread = self._thread(thread_id)
        wanted = None if config is None else get_checkpoint_id(config)
        end = None if before is None else get_checkpoint_id(before)
        found = 0
        for checkpoint in thread.listed(namespace):
            checkpoint_id = checkpoint.item.checkpoint_id
            if (wanted and checkpoint_id != wanted) or (end and checkpoint_id >= end):
                continue
            if filtered and not self._matches(checkpoint.item, filtered):
                continue
            if limit is not None and found >= limit:
                return
            found += 1
            yield self._tuple(thread_id, namespace, thread.values(namespace, checkpoint))

    def _matches(self, item: CheckpointItem, filtered: Mapping[str, Any]) -> bool:
        metadata = self._values.load_spelled(item.metadata)
        return all(metadata.get(name) == value for name, value in filtered.items())

    def _tuple(self, thread_id: str, namespace: str, found: FoundCheckpoint) -> CheckpointTuple:
        item, values = found.checkpoint.item, self._values
        checkpoint = values.load_spelled(item.checkpoint)
        checkpoint["id"] = item.checkpoint_id
        recorded = {name: ref.channel_version for name, ref in item.channels.items()}
        versions = checkpoint.setdefault("channel_versions", recorded)
        checkpoint["channel_values"] = {
            name: values.load(value)
            for name, (version, value) in found.values.items()
            if versions.get(name) == version
        }
        return CheckpointTuple(
            config=_config(thread_id, namespace, item.checkpoint_id),
            checkpoint=checkpoint,
            metadata=self._values.load_spelled(item.metadata),
            parent_config=(item.parent_id and _config(thread_id, namespace, item.parent_id))
            or None,
            pending_writes=[
                (writes.task_id, write.channel, values.load_spelled(write.value))
                for writes, write in standing_writes(list(found.checkpoint.writes.values()))
            ],
        )


def _configurable(config: RunnableConfig) -> dict[str, Any]:
    return config.get("configurable", {})


def _place(config: RunnableConfig) -> tuple[str, str]:
    """Return the thread and the namespace that a config names."""
    configurable = _configurable(config)
    if "thread_id" not in configurable:
        raise InvalidInput('a config names its thread: {"configurable": {"thread_id": ...}}')
    return str(configurable["thread_id"]), configurable.get("checkpoint_ns") or ""


def _config(thread_id: str, namespace: str, checkpoint_id: str) -> RunnableConfig:
    return {
        "configurable": {
            "thread_id": thread_id,
            "checkpoint_ns": namespace,
            "checkpoint_id": checkpoint_id,
        }
    }
