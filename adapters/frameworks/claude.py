"""Sessions of the Claude Agent SDK: what its `SessionStore` protocol asks for, over one log.

The protocol is `claude_agent_sdk.types.SessionStore`, and docs/frameworks-claude.md says how it is used. A
session is a conversation, a subpath (the transcript of a subagent) is a stream of it, an entry is an item
under its `uuid`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, NotRequired, Protocol, TypedDict, TypeVar, cast
from uuid import UUID

from onrecord.adapters.caches.newest import Newest
from onrecord.adapters.frameworks.awaiting import settled
from onrecord.adapters.frameworks.session import ItemSession, NewItem
from onrecord.adapters.frameworks.sessions import SessionEntry, Sessions
from onrecord.adapters.store import Store
from onrecord.domain.errors import InvalidInput, NotInstalled
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.frameworks.claude import CLAUDE
from onrecord.projections.members import member, nonempty_text

T = TypeVar("T")

_MOST_SUMMARIES: Final = 1024
"""Summaries that a process keeps: another one is folded from its session again."""


class SessionKey(TypedDict):
    """What the SDK names a session by; a `subpath` is one of its subagents' transcripts."""

    project_key: str
    session_id: str
    subpath: NotRequired[str]


class _Fold(Protocol):
    """The SDK's own `fold_session_summary`."""

    def __call__(
        self, prev: JsonObject | None, key: SessionKey, entries: Sequence[JsonObject]
    ) -> JsonObject: ...


class _Summary(NamedTuple):
    """A summary, and what it is of: a session that was forgotten may come as far again as another one."""

    conversation_id: UUID
    version: int
    summary: JsonObject


class ClaudeSessionStore:
    """A `SessionStore` for `ClaudeAgentOptions(session_store=...)`; safe to share between tasks.

    Every method of the protocol is there. What is refused raises an `OnrecordError`, and nothing of it is
    recorded: the SDK reports it as a `MirrorErrorMessage`.
    """

    def __init__(self, store: Store) -> None:
        """Keep sessions in a store; close that when done."""
        self._store = store
        self._sessions = Sessions(store, CLAUDE.name)
        self._summaries: Newest[tuple[str, ...], _Summary] = Newest(_MOST_SUMMARIES)

    async def append(self, key: SessionKey, entries: list[JsonObject]) -> None:
        """Record entries behind those that the session has; one whose `uuid` it has is not recorded again."""
        items = [NewItem(entry, _uuid_of(entry)) for entry in entries]
        session, stream = self._session(key), _stream_of(key)
        await self._settled(partial(session.record, items, stream=stream))

    async def load(self, key: SessionKey) -> list[JsonObject] | None:
        """Return the entries of a session, in order; None where it has none."""
        session, stream = self._session(key), _stream_of(key)
        loaded = await self._settled(partial(session.load, stream))
        return [item.item for item in loaded.items] or None

    async def list_sessions(self, project_key: str) -> list[JsonObject]:
        """Return the sessions of a project, each with the time of its last entry in epoch milliseconds."""
        listed = await self._settled(lambda: list(self._sessions.listed(project_key)))
        return [{"session_id": entry.outer_id[1], "mtime": _mtime(entry)} for entry in listed]

    async def list_session_summaries(self, project_key: str) -> list[JsonObject]:
        """Return what the SDK's own fold tells of each session of a project.

        A session is folded from its entries when it changed since this process last did.
        """
        return await self._settled(lambda: self._summarised(project_key))

    async def delete(self, key: SessionKey) -> None:
        """Let a session hold nothing, its subpaths included; with a `subpath`, that one alone.

        The record keeps what it held. `Store.forget` erases it (docs/frameworks-claude.md).
        """
        session = self._session(key)
        await self._settled(partial(session.clear, _stream_of(key) or None))

    async def list_subkeys(self, key: SessionKey) -> list[str]:
        """Return the subpaths of a session."""
        session = self._session(key)
        streams = await self._settled(session.streams)
        return [stream for stream in streams if stream]

    async def missing_parents(self, key: SessionKey) -> list[str]:
        """Return the `parentUuid` of entries whose parent is not there: where the SDK dropped a batch.

        The local transcript has them: `import_session_to_store` of the SDK brings them.
        """
        entries = await self.load(key) or []
        present = {entry.get("uuid") for entry in entries}
        named = (nonempty_text(entry.get("parentUuid")) for entry in entries)
        return list(dict.fromkeys(uuid for uuid in named if uuid and uuid not in present))

    def conversation_key(self, key: SessionKey) -> str:
        """Return the key of the conversation that a session is: `Store` and the commands take it."""
        return self._sessions.key(*_outer_id(key))

    def _session(self, key: SessionKey) -> ItemSession:
        return self._sessions.session(*_outer_id(key))

    def _summarised(self, project_key: str) -> list[JsonObject]:
        fold, summaries = _own_fold(), list[JsonObject]()
        for entry in self._sessions.listed(project_key):
            folded = self._folded(entry, fold)
            if folded is not None:
                summaries.append({**folded, "mtime": _mtime(entry)})
        return summaries

    def _folded(self, entry: SessionEntry, fold: _Fold) -> JsonObject | None:
        """Return the summary of a session's main transcript; None where that is empty."""
        known = self._summaries.get(entry.outer_id)
        if known is not None and known[:2] == (entry.conversation_id, entry.version):
            return known.summary
        loaded = self._sessions.session(*entry.outer_id).load()
        if not loaded.items:
            return None
        project_key, session_id = entry.outer_id
        key = SessionKey(project_key=project_key, session_id=session_id)
        summary = fold(None, key, [item.item for item in loaded.items])
        self._summaries[entry.outer_id] = _Summary(entry.conversation_id, loaded.version, summary)
        return summary

    async def _settled(self, step: Callable[[], T]) -> T:
        return await settled(self._store, step)


def _outer_id(key: SessionKey) -> tuple[str, str]:
    try:
        return key["project_key"], key["session_id"]
    except (KeyError, TypeError):
        raise InvalidInput("a session is named by its project_key and its session_id") from None


def _stream_of(key: SessionKey) -> str:
    """Return the stream of a key: the main transcript has no name."""
    subpath = cast("JsonObject", key).get("subpath")
    if subpath is None:
        return ""
    if not isinstance(subpath, str) or not subpath:
        raise InvalidInput("a subpath is a text that is not empty")
    return subpath


def _uuid_of(entry: object) -> str | None:
    return nonempty_text(member(entry, "uuid"))


def _mtime(entry: SessionEntry) -> int:
    return entry.recorded_at // 1000


def _own_fold() -> _Fold:
    try:
        sdk: Any = importlib.import_module("claude_agent_sdk")
    except ImportError:
        raise NotInstalled("a summary of sessions", "claude_agent_sdk", "claude") from None
    fold: _Fold = sdk.fold_session_summary
    return fold
