"""The search view: what was said, what tools were asked and gave; a row an event with text.

What a model thought is not in it, nor instructions. Texts count up to 256 KB an event; strings that
an API's own JSON keeps in blobs, of more than 64 KB, do not. A redacted event keeps an empty row.
Items of frameworks have a row each, in whatever stream, and keep it when they are taken away.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final
from uuid import UUID

from onrecord.domain.content import (
    Document,
    Reasoning,
    ServerToolCall,
    ServerToolResult,
    ToolCall,
    ToolResult,
)
from onrecord.domain.errors import InvalidInput
from onrecord.domain.header import time_of
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.log import RecordedEvent
from onrecord.projections.api import neutral_of, outcome_of
from onrecord.projections.frameworks.registry import framework_of
from onrecord.projections.history.timeline_text import Speaker, compact
from onrecord.projections.views.texts import (
    MOST_BYTES,
    arguments_in,
    beginning,
    gave,
    given,
    indexed,
    members_of,
    name_of,
    names_in,
    said,
    words_of,
)
from onrecord.projections.views.view import (
    ALL_COLUMNS,
    Changes,
    EventBatch,
    Row,
    members_in,
    storable,
)


@dataclass(frozen=True, slots=True)
class Hit:
    """An event that was found: where it is, who said it, and a stretch of what it says.

    `tool` is the one that is called, or that gave this. `excerpt` begins a little before the first
    word that was looked for; `length` is how many characters are searched in all. `key` is the
    conversation's. Times are in microseconds since 1970-01-01 UTC.
    """

    conversation_id: UUID
    version: int
    position: int
    recorded_at: int
    type: str
    role: Speaker
    tool: str | None
    excerpt: str
    length: int
    key: str | None = None

    @property
    def recorded_time(self) -> datetime:
        """Return `recorded_at` as a datetime, in UTC."""
        return time_of(self.recorded_at)


def hit_of(row: Row) -> Hit:
    """Return what a row of the page tells."""
    return Hit(**members_in(row, Hit.__dataclass_fields__, ids=("conversation_id",)))


@dataclass(frozen=True, slots=True)
class Search:
    """The view `search`: one row an event that has words, by conversation and version.

    Its page takes the filters of a `SearchQuery`, and shows the latest first.
    """

    name: str = "search"
    revision: int = 3
    strict: bool = False
    types: frozenset[str] = frozenset(
        (
            *("message.recorded", "signal.received", "history.compacted", "annotation.added"),
            *("tool_call.recorded", "tool_result.recorded", "tool_result.rejected"),
            *("server_tool_call.recorded", "server_tool_result.recorded"),
            *("document.extracted", "content.redacted", "item.recorded"),
        )
    )
    texts: frozenset[str] = ALL_COLUMNS

    def wanted(self, batch: EventBatch) -> list[Row]:
        """Return the rows that are redacted, and the calls that results here are of."""
        conversation_id = str(batch.conversation_id)
        keys: list[Row] = []
        called: set[str] = set()
        for event in batch.events:
            if event.type not in _POINTING or (members := members_of(event)) is None:
                continue
            if event.type == _REDACTED:
                # What is still to come is not redacted, and no database has a version of any size.
                if 0 < members["version"] < event.version:
                    keys.append({"conversation_id": conversation_id, "version": members["version"]})
            elif event.type in _CALLS:
                called.add(members["call_id"])
            elif members["call_id"] not in called:
                called.add(members["call_id"])
                keys.append(
                    {"conversation_id": conversation_id, "call_id": indexed(members["call_id"])}
                )
        return keys

    def fold(self, batch: EventBatch, known: Sequence[Row]) -> Changes:
        """Return a row for each event with text, and empty ones for what was redacted."""
        rows = _Rows(batch, known)
        for event in batch.events:
            members = members_of(event)
            if members is None:
                continue
            if event.type == _REDACTED:
                rows.redact(event.version, members["version"])
            else:
                rows.tell(event, members)
        return Changes(put=tuple(rows.changed.values()))


SEARCH: Final = Search()

_REDACTED: Final = "content.redacted"
_DOCUMENT: Final = "document.extracted"
_CALLS: Final = frozenset({"tool_call.recorded", "server_tool_call.recorded"})
RESULTS: Final = frozenset(
    {"tool_result.recorded", "tool_result.rejected", "server_tool_result.recorded"}
)
"""The types of events that are results of tools."""

_POINTING: Final = _CALLS | RESULTS | {_REDACTED}
_EMPTY: Final[Row] = {"tool": None, "text": "", "words": ""}


class _Rows:
    """The rows of a conversation that a fold knows of, and those of them that it changed."""

    def __init__(self, batch: EventBatch, known: Sequence[Row]) -> None:
        self.changed: dict[int, Row] = {}
        self._batch = batch
        self._rows: dict[int, Row] = {row["version"]: row for row in known}
        self._calls = {row["call_id"]: row["version"] for row in known if row["type"] in _CALLS}

    def tell(self, event: RecordedEvent, members: JsonObject) -> None:
        """Add the row of an event that says anything, and of a call even if it has no words."""
        read = _READ[event.type](members)
        call_id = indexed(members["call_id"]) if "call_id" in members else None
        answers = self._calls.get(call_id) if event.type in RESULTS else None
        words = words_of(read.text)
        if call_id is not None and event.type in _CALLS:
            self._calls[call_id] = event.version
        elif not words:
            return
        tool = read.tool if answers is None else self._rows[answers]["tool"]
        self._put(
            {
                "tenant": str(self._batch.tenant),
                "conversation_id": str(self._batch.conversation_id),
                "version": event.version,
                "shard": event.shard,
                "position": event.position,
                "recorded_at": event.recorded_at,
                "type": event.type,
                "role": read.role,
                "tool": tool,
                "call_id": call_id,
                "answers": answers,
                "text": beginning(read.text, MOST_BYTES),
                "words": " ".join(words),
            }
        )

    def redact(self, at: int, version: int) -> None:
        """Empty the row of a redacted event; that of a call takes its name from its results."""
        row = self._rows.get(version)
        if row is None or version >= at:
            return
        self._put({**row, **_EMPTY})
        if row["type"] in _CALLS:
            for answer in [row for row in self._rows.values() if row["answers"] == version]:
                self._put({**answer, "tool": None})
        elif row["type"] == _DOCUMENT and (result := self._result(row)) is not None:
            # The text of a result refers to its documents by their names.
            self._put({**result, **_EMPTY, "tool": result["tool"]})

    def _result(self, document: Row) -> Row | None:
        """Return the row of the result that holds a document."""
        results = (
            row
            for row in self._rows.values()
            if row["type"] in RESULTS
            and row["call_id"] == document["call_id"]
            and row["version"] < document["version"]
        )
        return max(results, key=lambda row: int(row["version"]), default=None)

    def _put(self, row: Row) -> None:
        self._rows[row["version"]] = self.changed[row["version"]] = row


@dataclass(frozen=True, slots=True)
class _Read:
    role: Speaker
    text: str
    tool: str | None = None


def _message(members: JsonObject) -> _Read:
    content = members["content"]
    return _Read(members["role"], _lines(said(content), *names_in(content)))


def _signal(members: JsonObject) -> _Read:
    content = members.get("content", ())
    return _Read("outside", _lines(members.get("name"), said(content), *names_in(content)))


def _call(members: JsonObject) -> _Read:
    name = storable(members["name"])
    return _Read("assistant", _lines(name, compact(arguments_in(members["content"]))), name)


def _server_call(members: JsonObject) -> _Read:
    called, content = _call(members), members["content"]
    outcome = gave(outcome_of(content["api"], content["value"]))
    return replace(called, text=_lines(called.text, outcome))


def _result(members: JsonObject) -> _Read:
    return _Read("tool", given(members["content"]))


def _server_result(members: JsonObject) -> _Read:
    return _Read("provider", given(members["content"]))


def _document(members: JsonObject) -> _Read:
    tool = members.get("tool_name")
    return _Read("record", name_of(members["document"]), None if tool is None else storable(tool))


def _summary(members: JsonObject) -> _Read:
    return _Read("record", members["summary"])


def _annotation(members: JsonObject) -> _Read:
    return _Read(
        "record", _lines(*(f"{name}: {label}" for name, label in members["labels"].items()))
    )


def _item(members: JsonObject) -> _Read:
    """Read an item of a framework: what its blocks say, and the tool that it calls, if that is one."""
    contents = framework_of(members["framework"]).read_item(members["item"])
    if contents is None:
        return _Read("record", "")
    read = [_block(contents.api, value) for value in contents.blocks]
    tools = {each.tool for each in read} - {None}
    tool = tools.pop() if len(tools) == 1 else None
    return _Read(contents.speaker, _lines(*(each.text for each in read)), tool)


def _block(api: str, value: JsonObject) -> _Read:
    content = {"kind": "native", "api": api, "value": value}
    match neutral_of(api, value):
        case ToolCall(name=name) | ServerToolCall(name=name):
            return _server_call({"name": name, "content": content})
        case ToolResult() | ServerToolResult():
            return _Read("tool", given(content))
        case Reasoning():
            return _Read("assistant", "")
        case Document(name=name):
            return _Read("user", name or "")
        case _:
            return _Read("user", said([content]))


def _lines(*texts: str | None) -> str:
    return "\n".join(filter(None, texts))


_READ: Final[Mapping[str, Callable[[JsonObject], _Read]]] = {
    "message.recorded": _message,
    "signal.received": _signal,
    "tool_call.recorded": _call,
    "tool_result.recorded": _result,
    "tool_result.rejected": _result,
    "server_tool_call.recorded": _server_call,
    "server_tool_result.recorded": _server_result,
    "document.extracted": _document,
    "history.compacted": _summary,
    "annotation.added": _annotation,
    "item.recorded": _item,
}


# What is looked for, in a small language that is the same on every database.
#
# Words: all of them must occur. "In quotes": so, one behind the other. With a - before it: must
# not occur. Nothing else means anything, so nothing that is typed is wrong but to ask for
# nothing.

MOST_TERMS: Final = 64
"""How many words and phrases may be asked for at once."""

_TERM: Final = re.compile(r'(-?)(?:"([^"]*)"?|([^\s"]+))')
_Words = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """What must occur and what must not: phrases, of one word or of several."""

    wanted: tuple[_Words, ...]
    unwanted: tuple[_Words, ...] = ()

    def filters(self) -> Row:
        """Return what the query `search_page` of each database takes among its filters."""
        return {
            "match": self._match(),
            "words": self._words(),
            "phrases": [" ".join(words) for words in self.wanted if len(words) > 1],
            "unwanted_phrases": [" ".join(words) for words in self.unwanted if len(words) > 1],
            "around": self.wanted[0][0],
        }

    def _match(self) -> str:
        """Return it as SQLite has it (www.sqlite.org/fts5.html, "Full-text Query Syntax")."""
        expression = " AND ".join(_quoted(words) for words in self.wanted)
        return f"({expression})" + "".join(f" NOT {_quoted(words)}" for words in self.unwanted)

    def _words(self) -> str:
        """Return its words as PostgreSQL has them (its manual, "tsquery"); phrases go apart.

        Positions in a tsvector end at 16,383, so a phrase further behind would not be found by it.
        """
        wanted = [f"'{word}'" for words in self.wanted for word in words]
        unwanted = [f"!'{words[0]}'" for words in self.unwanted if len(words) == 1]
        return " & ".join((*wanted, *unwanted))


def parse_query(text: str) -> SearchQuery:
    """Return what a text asks for; InvalidInput where it asks for nothing, or for too much."""
    wanted: list[_Words] = []
    unwanted: list[_Words] = []
    for minus, quoted, bare in _TERM.findall(text):
        if words := tuple(words_of(quoted or bare)):
            (unwanted if minus else wanted).append(words)
    if not wanted:
        raise InvalidInput("nothing to look for: give a word that must occur")
    if sum(map(len, (*wanted, *unwanted))) > MOST_TERMS:
        raise InvalidInput(f"too much to look for at once: give at most {MOST_TERMS} words")
    return SearchQuery(tuple(wanted), tuple(unwanted))


def _quoted(words: _Words) -> str:
    return f'"{" ".join(words)}"'
