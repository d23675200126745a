"""The view `tool_ledger`: each call of a tool, what it gave, how that went and how long it took.

A row a call, of the caller's tools and of those that providers run, on whatever line it was made. A
result that no call is known of has a row of its own: a fork's first results may be of calls that
its origin made. Results that were rejected are in no row. What a redacted event said is gone from
its row: a call's name, arguments and result, or a result alone.

An item of a framework is calls, or results, where it says so: each has its row, by its place among them. They
stay when the item is taken away.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, TypeAlias
from uuid import UUID

from onrecord.domain.header import time_of
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.views.item_calls import calls_in
from onrecord.projections.views.texts import indexed, members_of
from onrecord.projections.views.tool_call_rows import NAMES, LedgerRows
from onrecord.projections.views.view import Changes, EventBatch, Row, members_in

Kind: TypeAlias = Literal["tool", "server tool"]
"""Whose tool it is: the caller's, or one that the provider runs."""

Status: TypeAlias = Literal["open", "unawaited", "done", "failed", "cancelled"]
"""How a call stands. `open`: no result is recorded, though one may stand in for it in requests;
`unawaited`: so, and the provider expects none, since the answer was cut short."""


@dataclass(frozen=True, slots=True)
class ToolCallEntry:
    """A call of a tool.

    `name` is as the caller gave it, where the tools were declared in this conversation; for tools of
    providers it is the one that all APIs share. `arguments_digest` is the SHA-256, in hex, of the
    canonical JSON of the arguments, `arguments` their compact JSON and `result` what the result
    says, each up to 4,096 characters; the flags say that there was more. `duration` is how long
    after the call its result was recorded, by the log's clock (microseconds; None: there is none, or
    it was recorded at the same moment, which says nothing of how long it took).
    `model` is as its response names it. `metadata` is what the header of the result carries. `key`
    is the conversation's.
    """

    conversation_id: UUID
    version: int
    position: int
    recorded_at: int
    line: UUID | None
    call_id: str
    kind: Kind
    name: str | None
    arguments_digest: str | None
    arguments: str | None
    arguments_cut: bool
    response: UUID | None
    model: str | None
    status: Status
    is_error: bool
    result_version: int | None
    result: str | None
    result_cut: bool
    documents: int
    duration: int | None
    metadata: dict[str, str]
    key: str | None = None

    @property
    def recorded_time(self) -> datetime:
        """Return `recorded_at` as a datetime, in UTC."""
        return time_of(self.recorded_at)


def ledger_call_of(row: Row) -> ToolCallEntry:
    """Return what a row of a page tells."""
    ids, flags = (
        ("conversation_id", "line", "response"),
        ("arguments_cut", "result_cut", "is_error"),
    )
    members = members_in(row, ToolCallEntry.__dataclass_fields__, ids=ids, flags=flags)
    members["duration"] = row["duration"] or None
    return ToolCallEntry(**members)


@dataclass(frozen=True, slots=True)
class ToolLedger:
    """The view `tool_ledger`: one row a call, by conversation, version and ordinal; the latest first.

    Row 0 of a conversation is of no call: it keeps the names that models were told in place of
    the caller's own, where there are such.
    """

    name: str = "tool_ledger"
    revision: int = 3
    strict: bool = False
    types: frozenset[str] = frozenset(
        (
            *("tools.declared", "tool_call.recorded", "tool_result.recorded"),
            *("server_tool_call.recorded", "server_tool_result.recorded"),
            *("response.completed", "response.interrupted", "content.redacted", "item.recorded"),
        )
    )
    texts: frozenset[str] = frozenset({"arguments", "arguments_digest", "result"})

    def wanted(self, batch: EventBatch) -> list[Row]:
        """Return the calls that results, answers and redactions here are of, and the names."""
        keys = _Keys(str(batch.conversation_id))
        for event in batch.events:
            members = members_of(event)
            if members is None:
                continue
            said = calls_in(members) if event.type == _ITEM else ((event.type, members),)
            for name, each in said:
                keys.of_event(name, event.version, each)
        return list(keys.found.values())

    def fold(self, batch: EventBatch, known: Sequence[Row]) -> Changes:
        """Return the rows of the calls that were made here, or of which more is known by now."""
        rows = LedgerRows(batch, known)
        for event in batch.events:
            rows.take(event)
        return Changes(put=tuple(rows.calls.changed.values()))


TOOL_LEDGER: Final = ToolLedger()

_ITEM: Final = "item.recorded"


class _Keys:
    """The keys of rows that folding events has to know, each once."""

    def __init__(self, conversation_id: str) -> None:
        self.found: dict[tuple[object, ...], Row] = {}
        self._of = conversation_id

    def of_event(self, name: str, version: int, members: JsonObject) -> None:
        """Want what an event has to know; a version that it names may be any number."""
        match name:
            case "content.redacted":
                if NAMES < members["version"] < version:
                    self._want(version=members["version"])
            case "tool_result.recorded" if "call" in members:
                if NAMES < members["call"] < version:
                    self._want(at=members["call"])
            case "tool_result.recorded":
                self._want(call_id=indexed(members["call_id"]), line=members.get("line"))
            case "server_tool_result.recorded":
                self._want(waits=True)
            case "response.completed" | "response.interrupted":
                self._want(response=members["response"])
            case "tools.declared" | "tool_call.recorded":
                self._want(at=NAMES)
            case _:
                pass

    def _want(self, **key: object) -> None:
        self.found[tuple(key.items())] = {"conversation_id": self._of, **key}
