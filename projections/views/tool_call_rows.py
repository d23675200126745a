"""The rows of the tool ledger of one conversation, as events add to them."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from onrecord.domain import jsontext
from onrecord.domain.content import (
    Document,
    HeldFile,
    NeutralBlock,
    ServerToolCall,
    ServerToolResult,
    ToolResult,
)
from onrecord.domain.events import ToolsDeclared
from onrecord.domain.header import NO_METADATA, OURS
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.log import RecordedEvent
from onrecord.projections.api import neutral_of, outcome_of, says_it_failed
from onrecord.projections.history.timeline_text import compact
from onrecord.projections.history.tool_names import given_names
from onrecord.projections.views.item_calls import calls_in
from onrecord.projections.views.texts import (
    arguments_in,
    documents_in,
    gave,
    given,
    indexed,
    members_of,
)
from onrecord.projections.views.view import EventBatch, Row, storable

# Which call of the tool ledger a result is of.
#
# It is told as everywhere (projections/history/rounds.py, projections/history/server_tools.py): by the version
# that it names; else it is of the last call of its id, on its own line if there is one, and of
# several in one response the first that has no result. A provider's tool may give an id that no
# call has: then it is of the last call of that tool that waits.

NAMES: Final = 0
"""The version of the row that keeps names: no event has it."""

_Place: TypeAlias = tuple[int, int]
"""A version, and the place of a row among those of its event."""

TOOL: Final = "tool"
SERVER_TOOL: Final = "server tool"


class LedgerCalls:
    """The rows that a fold knows of; `changed` are those that it changed, by version and ordinal."""

    def __init__(self, known: Sequence[Row]) -> None:
        """Begin with what is known."""
        self.changed: dict[_Place, Row] = {}
        self._rows: dict[_Place, Row] = {}
        self._of_version: defaultdict[int, list[_Place]] = defaultdict(list)
        self._of_id: defaultdict[str, set[_Place]] = defaultdict(set)
        self._of_response: defaultdict[str | None, set[_Place]] = defaultdict(set)
        self._waiting: set[_Place] = set()
        for row in known:
            self._note(row)

    def put(self, row: Row) -> None:
        """Change a row, or add one."""
        self.changed[_place(row)] = row
        self._note(row)

    def at(self, version: int) -> list[Row]:
        """Return the rows of a version: an item of a framework may have several."""
        return [self._rows[place] for place in self._of_version.get(version, ())]

    def of_response(self, response: str) -> list[Row]:
        """Return the calls that a response made."""
        return [self._rows[place] for place in self._of_response.get(response, ())]

    def answered(self, members: JsonObject) -> Row | None:
        """Return the call that a result of the caller's tools is of."""
        if "call" in members:
            return None if members["call"] == NAMES else next(iter(self.at(members["call"])), None)
        line = members.get("line")
        calls = [self._rows[place] for place in self._of_id.get(indexed(members["call_id"]), ())]
        last = _last(row for row in calls if row["line"] == line) or _last(calls)
        if last is None or last["response"] is None:
            return last
        alike = (row for row in calls if row["response"] == last["response"])
        open_ = (row for row in alike if row["result_version"] is None)
        return min(open_, key=_place, default=last)

    def waiting(self, call_id: str, name: str, line: str | None) -> Row | None:
        """Return the call of a provider's tool that a result with this id and name is of."""
        calls = [self._rows[place] for place in self._waiting]
        waiting = [row for row in calls if row["line"] == line]
        same_id = _last(row for row in waiting if row["call_id"] == call_id)
        return same_id or _last(row for row in waiting if row["name"] == name)

    def last_results(self, version: int) -> list[Row]:
        """Return the rows with the results of the last event up to a version that has any."""
        answered = [row for row in self._rows.values() if row["result_version"] is not None]
        before = [row for row in answered if row["result_version"] <= version]
        last = max((row["result_version"] for row in before), default=None)
        return [row for row in before if row["result_version"] == last]

    def _note(self, row: Row) -> None:
        version, _ = place = _place(row)
        is_new = place not in self._rows
        self._rows[place] = row
        if is_new:
            self._of_version[version].append(place)
        if version == NAMES:
            return
        if row["kind"] == SERVER_TOOL:
            (self._waiting.add if row["status"] == "open" else self._waiting.discard)(place)
        elif is_new and row["result_version"] != version:  # Else it is a result without a call.
            self._of_id[row["call_id"]].add(place)
        if is_new and row["response"] is not None:
            self._of_response[row["response"]].add(place)


def _last(rows: Iterable[Row]) -> Row | None:
    return max(rows, key=_place, default=None)


def _place(row: Row) -> _Place:
    return row["version"], row["ordinal"]


MOST_CHARACTERS: Final = 4096
"""How much of arguments and of a result a row shows."""

_HELD_APART: Final = "[held apart, SHA-256 {digest}]"
_METADATA: Final = b'"metadata":'
RESULT_GONE: Final[Row] = {"result": None, "result_cut": False}
"""What a redaction of a result, or of a document of it, leaves of the result in a row."""

ALL_GONE: Final[Row] = {
    **RESULT_GONE,
    "name": None,
    "arguments": None,
    "arguments_cut": False,
    "arguments_digest": None,
    "is_redacted": True,
}
"""What a redaction of a call leaves of it in a row."""

_UNKNOWN: Final[Row] = {
    "name": None,
    "response": None,
    "model": None,
    "arguments": None,
    "arguments_cut": False,
    "arguments_digest": None,
    "status": "open",
    "is_error": False,
    "result_version": None,
    "result": None,
    "result_cut": False,
    "documents": 0,
    "duration": None,
    "metadata": {},
    "is_redacted": False,
}


class LedgerRows:
    """Takes in events in order; `calls` are the rows as they are then."""

    def __init__(
        self, batch: EventBatch, known: Sequence[Row], *, keeps_texts: bool = True
    ) -> None:
        """Begin with what is known of the batch's conversation.

        Without texts, rows say nothing of arguments and results: to make those takes most of the time.
        """
        self.calls = LedgerCalls(known)
        self._keeps_texts = keeps_texts
        self._ids = {
            "tenant": str(batch.tenant),
            "conversation_id": str(batch.conversation_id),
        }

    def take(self, event: RecordedEvent) -> JsonObject | None:
        """Take in the next event, and return its members; what was erased, or cannot be read, tells nothing."""
        members = members_of(event, _HELD_APART)
        if members is not None:
            _TAKEN[event.type](self, event, members)
        return members

    def declare(self, event: RecordedEvent, members: JsonObject) -> None:
        """Note under which names models are told of the caller's tools from here on."""
        happened = event.event()
        if not isinstance(happened, ToolsDeclared) or "line" in members:
            return
        names = {storable(other): storable(name) for other, name in given_names(happened).items()}
        if names or self.calls.at(NAMES):
            place = {"version": NAMES, "position": 0, "recorded_at": 0, "ordinal": 0}
            self.calls.put({**self._row(event, {"call_id": ""}, TOOL), **place, "metadata": names})

    def call(self, event: RecordedEvent, members: JsonObject) -> None:
        """Add a call of one of the caller's tools."""
        name = storable(members["name"])
        for names in self.calls.at(NAMES):
            name = names["metadata"].get(name, name)
        row = self._asked(event, members, TOOL, name)
        is_awaited = members.get("awaited", True)
        self.calls.put(row if is_awaited else {**row, "status": "unawaited"})

    def server_call(self, event: RecordedEvent, members: JsonObject) -> None:
        """Add a call of a tool that the provider runs, and what it gave if its block says so."""
        content = members["content"]
        read = neutral_of(content["api"], content["value"])
        name = read.name if isinstance(read, ServerToolCall) else members["name"]
        row = self._asked(event, members, SERVER_TOOL, storable(name))
        outcome = outcome_of(content["api"], content["value"])
        self.calls.put(row if outcome is None else _with_outcome(row, event, outcome))

    def result(self, event: RecordedEvent, members: JsonObject) -> None:
        """Give a call its result; one that has a result already keeps that."""
        row = self.calls.answered(members)
        if row is None:
            row = self._row(event, members, TOOL)
        elif row["result_version"] is not None:
            return
        content = members["content"]
        failed = members.get("is_error", False) or _says_it_failed(content)
        status = "cancelled" if members.get("cancelled", False) else "failed" if failed else "done"
        text = given(content) if self._keeps_texts else ""
        ended = _ended(row, event, status, text, _documents_given(content))
        self.calls.put({**ended, "is_error": failed, "metadata": _metadata(event)})

    def server_result(self, event: RecordedEvent, members: JsonObject) -> None:
        """Give a call of a provider's tool its result."""
        content = members["content"]
        read = neutral_of(content["api"], content["value"])
        name = storable(read.name) if isinstance(read, ServerToolResult) else ""
        row = self.calls.waiting(indexed(members["call_id"]), name, members.get("line"))
        if row is None:
            row = {**self._row(event, members, SERVER_TOOL), "name": name}
        self.calls.put(_with_outcome(row, event, read))

    def close(self, event: RecordedEvent, members: JsonObject) -> None:
        """Note which model made the calls of a response."""
        del event
        if "model" in members:
            for row in self.calls.of_response(members["response"]):
                self.calls.put({**row, "model": storable(members["model"])})

    def redact(self, event: RecordedEvent, members: JsonObject) -> None:
        """Take away what a redacted event said; a result goes with one of its documents too."""
        version: int = members["version"]
        if not NAMES < version < event.version:
            return
        for row in self.calls.at(version):
            self.calls.put({**row, **ALL_GONE})
        for result in self.calls.last_results(version):
            # The events of a result's documents come right behind it, and its text names them.
            if version <= result["result_version"] + result["documents"]:
                self.calls.put({**result, **RESULT_GONE})

    def item(self, event: RecordedEvent, members: JsonObject) -> None:
        """Add the calls, and the results, that an item of a framework holds."""
        for name, said in calls_in(members):
            _TAKEN[name](self, event, said)

    def _asked(self, event: RecordedEvent, members: JsonObject, kind: str, name: str) -> Row:
        asked = {**self._row(event, members, kind), "name": name}
        if not self._keeps_texts:
            return asked
        arguments = arguments_in(members["content"])
        text = storable(compact(arguments))
        return {
            **asked,
            "arguments": text[:MOST_CHARACTERS],
            "arguments_cut": len(text) > MOST_CHARACTERS,
            "arguments_digest": hashlib.sha256(jsontext.write_canonical(arguments)).hexdigest(),
        }

    def _row(self, event: RecordedEvent, members: JsonObject, kind: str) -> Row:
        """Return the row of an event of which nothing more is known."""
        return {
            **_UNKNOWN,
            **self._ids,
            "version": event.version,
            "ordinal": len(self.calls.at(event.version)),
            "shard": event.shard,
            "position": event.position,
            "recorded_at": event.recorded_at,
            "line": members.get("line"),
            "call_id": indexed(members["call_id"]),
            "kind": kind,
            "response": members.get("response"),
        }


def _ended(row: Row, event: RecordedEvent, status: str, text: str, documents: int) -> Row:
    """Return the row of a call with its result; the log's clock may have been set back."""
    shown = None if row["is_redacted"] else storable(text[:MOST_CHARACTERS])
    is_later = event.version != row["version"]
    return {
        **row,
        "status": status,
        "result_version": event.version,
        "result": shown,
        "result_cut": shown is not None and len(text) > MOST_CHARACTERS,
        "documents": documents,
        "duration": max(0, event.recorded_at - row["recorded_at"]) if is_later else None,
    }


def _with_outcome(row: Row, event: RecordedEvent, read: NeutralBlock) -> Row:
    """Return the row of a call of a provider's tool with what that gave."""
    failed = isinstance(read, ServerToolResult | ToolResult) and read.is_error
    text, documents = gave(read), _documents_of(read)
    ended = _ended(row, event, "failed" if failed else "done", text, documents)
    return {**ended, "is_error": failed}


def _documents_given(content: JsonObject) -> int:
    if content["kind"] == "native":
        return _documents_of(neutral_of(content["api"], content["value"]))
    return documents_in(content["content"])


def _documents_of(read: NeutralBlock) -> int:
    if not isinstance(read, ServerToolResult | ToolResult):
        return 0
    return sum(isinstance(part, Document | HeldFile) for part in read.content)


def _says_it_failed(content: JsonObject) -> bool:
    return content["kind"] == "native" and says_it_failed(content["api"], content["value"])


def _metadata(event: RecordedEvent) -> dict[str, str]:
    """Return what a header carries beside its own; most carry nothing and are not read."""
    metadata = event.client_header().metadata if _METADATA in event.header else NO_METADATA
    return {name: value for name, value in metadata.items() if not name.startswith(OURS)}


_TAKEN: Final[Mapping[str, Callable[[LedgerRows, RecordedEvent, JsonObject], None]]] = {
    "tools.declared": LedgerRows.declare,
    "tool_call.recorded": LedgerRows.call,
    "tool_result.recorded": LedgerRows.result,
    "server_tool_call.recorded": LedgerRows.server_call,
    "server_tool_result.recorded": LedgerRows.server_result,
    "response.completed": LedgerRows.close,
    "response.interrupted": LedgerRows.close,
    "content.redacted": LedgerRows.redact,
    "item.recorded": LedgerRows.item,
}
