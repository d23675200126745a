"""The view `conversations`: a row a conversation, for lists of them.

What is counted is all that was recorded, on side branches and what was given up included: a row says
what happened in a conversation, not what its history is now. A redaction takes the title away,
where it redacts the prompt that the title is of; no other prompt takes its place. Nothing else of a
row says what was said. A conversation that was forgotten has no row.

Items of frameworks count by what they say; their tokens and exchanges do not, for an item alone does not
tell those. The framework stands among the APIs.

Rows are in order of `last_position`, the last one first; a tenant is in one shard, so that is the
order of last activity. A conversation in which something happens while a list is paged moves to its
beginning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from onrecord.domain.head import MOST_TOKENS
from onrecord.domain.header import time_of
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.log import RecordedEvent
from onrecord.projections.frameworks.registry import framework_of
from onrecord.projections.views.item_summary import item_summary
from onrecord.projections.views.texts import documents_in, members_of, said, title_of
from onrecord.projections.views.usage import count_of, name_of
from onrecord.projections.views.view import NOTHING, Changes, EventBatch, Row, members_in, storable

MOST_NAMES: Final = 50
"""How many participants, APIs and models a row names at most: those that come first."""


@dataclass(frozen=True, slots=True)
class Conversations:
    """The view `conversations`: one row a conversation, by its id."""

    name: str = "conversations"
    revision: int = 2
    strict: bool = False
    types: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset({"key", "title"})

    def wanted(self, batch: EventBatch) -> list[Row]:
        """Return the row of the conversation, unless it begins here."""
        has_begun = batch.events[0].version > 1
        return [{"conversation_id": str(batch.conversation_id)}] if has_begun else []

    def fold(self, batch: EventBatch, known: Sequence[Row]) -> Changes:
        """Return the row as it is after the batch; none where all that was said is erased."""
        events = [event for event in batch.events if event.body is not None]
        if not events:
            return NOTHING
        row = dict(known[0]) if known else _begun(batch, events[0])
        names: _Names = {column: set(row[column]) for column in _LISTED}
        for event in events:
            _take(row, names, event)
        last = events[-1]
        row["version"], row["last_position"] = last.version, last.position
        row["last_at"], row["exchanges"] = last.recorded_at, last.exchange
        row.update((column, sorted(values)[:MOST_NAMES]) for column, values in names.items())
        return Changes(put=(row,))


CONVERSATIONS: Final = Conversations()


@dataclass(frozen=True, slots=True)
class Overview:
    """A conversation at a glance; times are in microseconds since 1970-01-01 UTC.

    `key` is None where the conversation never said it, `title` how its first prompt begins (None:
    there was none, or it was redacted), `origin` what it is a fork of. `exchanges` is the number of
    the last one. `documents` were handed over in prompts and signals, or found in results and
    answers. `interrupted` are responses that did not end, `failed` attempts that gave none.
    `participants` are keyed digests of actors, `participant_names` the names of those that were not
    forgotten, in the same order.
    """

    conversation_id: UUID
    key: str | None
    title: str | None
    origin: UUID | None
    version: int
    closed: bool
    started_at: int
    last_at: int
    exchanges: int
    user_messages: int
    assistant_messages: int
    system_messages: int
    tool_calls: int
    server_tool_calls: int
    documents: int
    responses: int
    interrupted: int
    failed: int
    input_tokens: int
    output_tokens: int
    participants: tuple[str, ...]
    providers: tuple[str, ...]
    models: tuple[str, ...]
    participant_names: tuple[str, ...] = ()

    @property
    def started_time(self) -> datetime:
        """Return `started_at` as a datetime, in UTC."""
        return time_of(self.started_at)

    @property
    def last_time(self) -> datetime:
        """Return `last_at` as a datetime, in UTC."""
        return time_of(self.last_at)


def overview(row: Row) -> Overview:
    """Return a conversation at a glance, of a row of a page."""
    names, ids = Overview.__dataclass_fields__, ("conversation_id", "origin")
    members = members_in(row, names, ids=ids, flags=("closed",))
    members |= {column: tuple(row.get(column, ())) for column in (*_LISTED, "participant_names")}
    return Overview(**members)


_Names = dict[str, set[str]]
_LISTED: Final = ("participants", "providers", "models")
_COUNTED: Final[Mapping[str, str]] = {
    "tool_call.recorded": "tool_calls",
    "server_tool_call.recorded": "server_tool_calls",
    "document.extracted": "documents",
    "attempt.failed": "failed",
}
"""Types that are counted unread, to their columns."""

_READ: Final = frozenset(
    (
        *("conversation.started", "conversation.forked", "conversation.closed"),
        *("message.recorded", "signal.received", "request.sent", "content.redacted"),
        *("response.completed", "response.interrupted", "item.recorded"),
    )
)
_SPEAKERS: Final[Mapping[str, str]] = {
    "user": "user_messages",
    "assistant": "assistant_messages",
    "system": "system_messages",
}
_NAMED: Final = (("api", "providers"), ("framework", "providers"), ("model", "models"))
_ACTOR: Final = b'{"actor":"'


def _begun(batch: EventBatch, first: RecordedEvent) -> Row:
    counts = (*_COUNTED.values(), *_SPEAKERS.values(), "responses", "interrupted")
    return {
        "tenant": str(batch.tenant),
        "conversation_id": str(batch.conversation_id),
        "shard": first.shard,
        "key": None,
        "title": None,
        "title_version": None,
        "origin": None,
        "closed": False,
        "started_at": first.recorded_at,
        **dict.fromkeys((*counts, "input_tokens", "output_tokens"), 0),
        **dict.fromkeys(_LISTED, ()),
    }


def _take(row: Row, names: _Names, event: RecordedEvent) -> None:
    actor = _actor(event)
    if actor is not None:
        names["participants"].add(actor)
    if event.type in _COUNTED:
        row[_COUNTED[event.type]] += 1
    elif event.type in _READ:
        plain = members_of(event)
        if plain is not None:
            _read(row, plain, event)
            _name(names, plain)


def _actor(event: RecordedEvent) -> str | None:
    """Return who did it. Headers are canonical (docs/format.md): the actor comes first, if at all."""
    header = event.header
    if not header.startswith(_ACTOR):
        return None
    name, closed, _ = header[len(_ACTOR) :].partition(b'"')
    is_plain = closed and name.isascii() and b"\\" not in name
    return name.decode() if is_plain else event.client_header().actor


def _name(names: _Names, plain: JsonObject) -> None:
    """Take note of an API, or a framework, and of a model, where an event names them."""
    for member, column in _NAMED:
        if plain.get(member):
            names[column].add(name_of(plain[member]))
    if "item" in plain and "beside" not in plain:
        used = framework_of(plain["framework"]).usages(plain["item"])
        names["models"].update(name_of(usage.model) for usage in used if usage.model)


def _read(row: Row, plain: JsonObject, event: RecordedEvent) -> None:
    match event.type:
        case "conversation.started":
            row["key"] = storable(plain["key"])
        case "conversation.forked":
            row["origin"] = plain["origin"]
        case "conversation.closed":
            row["closed"] = row["closed"] or "line" not in plain
        case "message.recorded":
            _said(row, plain, event.version)
        case "item.recorded":
            _item(row, plain, event.version)
        case "signal.received":
            row["documents"] += documents_in(plain.get("content", ()))
        case "response.completed":
            row["responses"] += 1
            _count(row, plain)
        case "response.interrupted":
            # What is deferred did not break off: it goes on, and another response says how it ended.
            row["interrupted"] += plain["reason"] != "deferred"
            _count(row, plain)
        case "content.redacted" if plain["version"] == row["title_version"]:
            row["title"] = None
        case _:
            pass


def _said(row: Row, plain: JsonObject, version: int) -> None:
    row[_SPEAKERS[plain["role"]]] += 1
    if plain["role"] != "user":
        return
    row["documents"] += documents_in(plain["content"])
    if "line" not in plain:
        _prompted(row, said(plain["content"]), version)


def _item(row: Row, plain: JsonObject, version: int) -> None:
    """Count what an item says; a title is what the session's own user says first."""
    summary = item_summary(plain)
    for speaker in summary.texts.keys() & _SPEAKERS.keys():
        row[_SPEAKERS[speaker]] += 1
    row["documents"] += summary.documents
    row["tool_calls"] += summary.tool_calls
    row["server_tool_calls"] += summary.server_tool_calls
    if "user" in summary.texts and "stream" not in plain:
        _prompted(row, summary.texts["user"], version)


def _prompted(row: Row, text: str, version: int) -> None:
    """Give a conversation its title, if it has none yet."""
    if row["title_version"] is None:
        title = title_of(text)
        row["title"], row["title_version"] = title, version if title else None


def _count(row: Row, plain: JsonObject) -> None:
    for column in ("input_tokens", "output_tokens"):
        row[column] = min(row[column] + count_of(plain.get(column)), MOST_TOKENS)
