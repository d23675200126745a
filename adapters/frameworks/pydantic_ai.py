"""Conversations of pydantic-ai: what its `ConversationStore` asks for, over one log.

The interface is `pydantic_ai.conversation_store.ConversationStore`, and docs/frameworks-pydantic-ai.md says how
it is used. A conversation of theirs is one of ours, an entry is an item under its id, and the record that
points at the last entry is state. A fork has the entries that it keeps as items of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Final, TypeVar, cast

from onrecord.adapters.caches.newest import Newest
from onrecord.adapters.frameworks.awaiting import settled
from onrecord.adapters.frameworks.session import ItemSession, NewItem, until_first
from onrecord.adapters.frameworks.sessions import Sessions
from onrecord.adapters.store import Store
from onrecord.domain.errors import (
    InvalidContent,
    InvalidInput,
    MalformedJson,
    NotInstalled,
)
from onrecord.domain.items import StreamCleared
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.frameworks.pydantic_ai import PYDANTIC_AI

try:
    from pydantic import TypeAdapter
    from pydantic_ai.conversation_store import (
        ConversationConflict,
        ConversationEntry,
        ConversationRecord,
        ConversationStore,
    )
    from pydantic_ai.exceptions import UserError
    from pydantic_ai.messages import ModelMessagesTypeAdapter
except ModuleNotFoundError as exc:
    raise NotInstalled("the store of pydantic-ai", "pydantic_ai", "pydantic-ai") from exc

T = TypeVar("T")

_RECORD: Final = "record"
_MOST_HEADS: Final = 10_000
"""Entries of which a process knows the conversation: for another one all are searched."""
_BESIDE: Final = 16
"""Entries that are read beside those that are wanted: of branches that were left."""

_RECORDS: Final = TypeAdapter(ConversationRecord)


class OnrecordConversationStore(ConversationStore):
    """A `ConversationStore` for `load`, `save` and the UI adapters; safe to share between tasks.

    What is no JSON, or no id, is refused with pydantic-ai's `UserError`, and nothing of it is recorded.
    """

    def __init__(self, store: Store) -> None:
        """Keep conversations in a store; close that when done."""
        self._store = store
        self._sessions = Sessions(store, PYDANTIC_AI.name)
        self._conversations: Newest[str, str] = Newest(_MOST_HEADS)

    def conversation_key(self, conversation_id: str) -> str:
        """Return the key of the conversation in the store: `Store` and the commands take it."""
        return self._sessions.key(conversation_id)

    async def read_record(self, conversation_id: str) -> ConversationRecord | None:
        """Return the record of a conversation; None where there is none."""
        return await self._settled(lambda: self._record(conversation_id)[0])

    async def read_records(
        self, *, scope: str | None = None, limit: int | None = None
    ) -> Sequence[ConversationRecord]:
        """Return the records, or those of a scope, the one that was saved last first.

        This reads the catalogue of the tenant once, and the end of each conversation.
        """

        def read() -> list[ConversationRecord]:
            found = [record for record in self._all() if scope is None or record.scope == scope]
            return sorted(found, key=lambda record: record.updated_at, reverse=True)[:limit]

        return await self._settled(read)

    async def write_record(
        self,
        record: ConversationRecord,
        *,
        new_entries: Sequence[ConversationEntry] = (),
        expected_revision: str | None,
    ) -> None:
        """Record new entries and what the record says now, in one commit, or raise ConversationConflict.

        A write that comes again, as it was, changes nothing.
        """
        entries = [_item_of(entry) for entry in new_entries]
        said = cast("JsonObject", _RECORDS.dump_python(record, mode="json"))
        await self._settled(partial(self._write, record, said, entries, expected_revision))

    async def delete_record(self, conversation_id: str, *, expected_revision: str) -> None:
        """Let a conversation hold nothing, its entries included, or raise ConversationConflict.

        Forks of it have entries of their own. The record keeps what it held; `Store.forget` erases
        it (docs/frameworks-pydantic-ai.md).
        """
        await self._settled(partial(self._delete, conversation_id, expected_revision))

    async def read_entry(self, entry_id: str) -> ConversationEntry:
        """Return the entry of an id; KeyError where no conversation has it."""
        (entry,) = await self.read_history(entry_id, limit=1)
        return entry

    async def read_history(
        self, head_id: str | None, *, limit: int | None = None
    ) -> list[ConversationEntry]:
        """Return the entries up to one, in order, or the last of them; KeyError where one is not there."""
        if head_id is None or (limit is not None and limit <= 0):
            return []
        items = await self._settled(partial(self._history, head_id, limit))
        return [_entry_of(item) for item in items]

    # How it is done.

    async def _settled(self, step: Callable[[], T]) -> T:
        try:
            return await settled(self._store, step)
        except (InvalidContent, InvalidInput, MalformedJson) as exc:
            raise UserError(str(exc)) from exc

    def _session(self, conversation_id: str) -> ItemSession:
        return self._sessions.session(conversation_id)

    def _record(self, conversation_id: str) -> tuple[ConversationRecord | None, int]:
        """Return the record of a conversation, and the version of that; UserError for what is no record."""
        said, version = self._session(conversation_id).state(_RECORD)
        if said is None:
            return None, version
        try:
            record = _RECORDS.validate_python(said)
        except ValueError as exc:
            raise UserError(
                f"the record of conversation {conversation_id!r} is none that can be read: redact "
                "the version at which another program put it"
            ) from exc
        self._know(record)
        return record, version

    def _know(self, record: ConversationRecord) -> None:
        """Remember where the last entries of a conversation lie."""
        heads = (record.head_id, *record.branches)
        for head_id in heads:
            if head_id is not None:
                self._conversations[head_id] = record.conversation_id

    def _all(self) -> Iterator[ConversationRecord]:
        for conversation_id in self._conversation_ids():
            record, _ = self._record(conversation_id)
            if record is not None:
                yield record

    def _write(
        self,
        record: ConversationRecord,
        said: JsonObject,
        entries: Sequence[NewItem],
        expected_revision: str | None,
    ) -> None:
        session = self._session(record.conversation_id)

        def write() -> None:
            stored, version = self._record(record.conversation_id)
            if stored is not None and _RECORDS.dump_python(stored, mode="json") == said:
                return
            if (None if stored is None else stored.revision) != expected_revision:
                raise ConversationConflict(record.conversation_id)
            kept = self._kept(session, stored, record, {entry.item_id for entry in entries})
            session.record([*kept, *entries], state={_RECORD: said}, expected_version=version)
            self._know(record)

        until_first(write)

    def _kept(
        self,
        session: ItemSession,
        stored: ConversationRecord | None,
        record: ConversationRecord,
        new: set[str | None],
    ) -> list[NewItem]:
        """Return the entries that a record goes on from and its conversation does not have: a fork's.

        ConversationConflict where no conversation has them.
        """
        if record.head_id is None or record.head_id in new:
            return []
        if stored is not None and record.head_id in (stored.head_id, *stored.branches):
            return []
        if any(item.item_id == record.head_id for item in session.load().items):
            return []
        try:
            items = self._history(record.head_id, None, record.forked_from)
        except LookupError:
            raise ConversationConflict(record.conversation_id) from None
        return [NewItem(item, item["id"]) for item in items]

    def _delete(self, conversation_id: str, expected_revision: str) -> None:
        session = self._session(conversation_id)

        def delete() -> None:
            stored, version = self._record(conversation_id)
            if stored is None or stored.revision != expected_revision:
                raise ConversationConflict(conversation_id)
            session.events.append([StreamCleared(framework=PYDANTIC_AI.name, whole=True)], version)

        until_first(delete)

    def _history(
        self, head_id: str, limit: int | None, origin: str | None = None
    ) -> list[JsonObject]:
        """Return the items up to an entry; KeyError where no conversation has them all."""
        for conversation_id in self._holders(head_id, origin):
            session = self._session(conversation_id)
            for last in (None,) if limit is None else (limit + _BESIDE, None):
                items = (item.item for item in session.load(last=last).items)
                if (found := _line(items, head_id, limit)) is not None:
                    return found
        raise KeyError(head_id)

    def _holders(self, head_id: str, origin: str | None) -> Iterator[str]:
        """Yield the conversations that may have an entry, the likely ones first."""
        likely = dict.fromkeys(filter(None, (origin, self._conversations.get(head_id))))
        yield from likely
        for conversation_id in self._conversation_ids():
            if conversation_id not in likely:
                yield conversation_id

    def _conversation_ids(self) -> Iterator[str]:
        for entry in self._sessions.listed():
            if len(entry.outer_id) == 1:
                yield entry.outer_id[0]


def _line(items: Iterable[JsonObject], head_id: str, limit: int | None) -> list[JsonObject] | None:
    """Return the items from the first one up to an entry, or the last of them; None where one is missing.

    UserError for an item among them that is no entry.
    """
    by_id = {item["id"]: item for item in items if isinstance(item.get("id"), str)}
    line: list[JsonObject] = []
    entry_id: str | None = head_id
    while entry_id is not None and (limit is None or len(line) < limit):
        if (item := by_id.pop(entry_id, None)) is None:
            return None
        line.append(item)
        entry_id = _parent_of(item)
    line.reverse()
    return line


def _parent_of(item: JsonObject) -> str | None:
    match item:
        case {"parent_id": None | str() as parent_id}:
            return parent_id
        case _:
            raise UserError(_no_entry(item))


def _no_entry(item: JsonObject) -> str:
    return (
        f"the item {item.get('id')!r} is no entry of a conversation: redact the version at which "
        "another program recorded it"
    )


def _item_of(entry: ConversationEntry) -> NewItem:
    if not _is_finite(ModelMessagesTypeAdapter.dump_python([entry.message])):
        # Written as null it would come back as something else.
        raise UserError("a message holds NaN or an infinity, which JSON cannot spell")
    (message,) = ModelMessagesTypeAdapter.dump_python([entry.message], mode="json")
    item = {"id": entry.id, "parent_id": entry.parent_id, "kind": entry.kind, "message": message}
    return NewItem(item, entry.id)


def _entry_of(item: JsonObject) -> ConversationEntry:
    """Return an entry made anew: who gets it may change it. UserError for an item that is none."""
    parent_id = _parent_of(item)
    if item.get("kind") != "message":
        raise UserError(_no_entry(item))
    try:
        (message,) = ModelMessagesTypeAdapter.validate_python([item.get("message")])
    except ValueError as exc:
        raise UserError(_no_entry(item)) from exc
    return ConversationEntry(id=item["id"], parent_id=parent_id, message=message)


def _is_finite(value: object) -> bool:
    """Whether no number within a value is NaN or an infinity."""
    match value:
        case float():
            return math.isfinite(value)
        case dict():
            return all(_is_finite(member) for member in cast("dict[str, object]", value).values())
        case list() | tuple():
            return all(_is_finite(member) for member in cast("list[object]", value))
        case _:
            return True
