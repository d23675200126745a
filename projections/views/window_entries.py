"""The rows of the window of one conversation, as events add to them.

The log numbers the exchanges of the main line, so the first prompt of a number opens it. Those of a
side line count once that is adopted, by the same rule (domain/head.py): a prompt opens an exchange
unless calls of its line are open. So rows that are no entries keep the open calls of lines, and what
amended the main line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from onrecord.domain.head import MOST_TOKENS
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.log import RecordedEvent
from onrecord.projections.views.texts import documents_in, indexed, said
from onrecord.projections.views.view import Passage, Row, storable
from onrecord.projections.views.window_line import (
    Amended,
    amended_in,
    changed_from,
    is_shown,
    stated,
)

MOST_CHARACTERS: Final = 2000
"""How much of a prompt and of an answer is told."""

PROMPTS: Final = frozenset({"message.recorded", "signal.received"})
"""The events that may open an exchange."""

MAIN: Final = 0
"""The version of the row that keeps what amended the main line: no event has it."""

_ON_A_SIDE_LINE: Final = b'{"line":"'
_ID: Final = 36


def line_of(event: RecordedEvent) -> str | None:
    """Return the side line of an event; None for the main line, and for what was erased.

    Bodies are canonical (docs/format.md): what is on a side line begins so.
    """
    body = event.body
    if body is None or not body.startswith(_ON_A_SIDE_LINE):
        return None
    begin = len(_ON_A_SIDE_LINE)
    return body[begin : begin + _ID].decode()


class WindowEntries:
    """Takes in events in order, and then says what becomes of the rows."""

    def __init__(self, passage: Passage, known: Sequence[Row]) -> None:
        """Begin with what is known of the passage's conversation."""
        self._passage = passage
        self._entries: dict[int, Row] = {}
        self._redacted: list[int] = []
        self._states: dict[int, Row] = {}
        self._opened = {row["exchange"] for row in known if row["version"] > MAIN}
        lines = {row["line"]: row for row in known if row["version"] < MAIN}
        self._lines: dict[str, Row] = lines
        main = next((row["state"] for row in known if row["version"] == MAIN), None)
        self._before = Amended() if main is None else amended_in(main)
        self._amended = self._before

    def take(self, event: RecordedEvent, told: JsonObject) -> None:
        """Take in the next event, whose members are `told`."""
        _TAKEN[event.type](self, event, told)

    def put(self) -> Iterator[Row]:
        """Yield new rows, and one without a version that says what becomes of earlier ones."""
        if self._amended != self._before:
            yield from self._retold()
        yield from self._entries.values()
        yield from self._states.values()
        if self._redacted and self._amended == self._before:
            yield {**self._of(), "redacted": self._redacted}

    def message(self, event: RecordedEvent, told: JsonObject) -> None:
        """Add a message: a prompt, a part of an answer, a note."""
        role, content = told["role"], told["content"]
        entry = self._entry(event, told, role)
        entry["messages"], entry["text"] = 1, _text(content) if role != "system" else None
        if role == "user":
            entry["documents"] = documents_in(content)
            entry["opens"] = self._opens(event, told)
        elif role == "assistant":
            entry["speech"] = told.get("response") or str(event.version)

    def signal(self, event: RecordedEvent, told: JsonObject) -> None:
        """Add a signal: it prompts, unless it interrupts."""
        content = told.get("content", ())
        entry = self._entry(event, told, "outside")
        entry["messages"], entry["text"] = 1, _text(content)
        entry["documents"] = documents_in(content)
        if not told.get("interrupts", False):
            entry["opens"] = self._opens(event, told)

    def call(self, event: RecordedEvent, told: JsonObject) -> None:
        """Add a call of one of the caller's tools; its line waits for it."""
        self.server_call(event, told)
        if told.get("awaited", True):
            self._wait(event, told, lambda calls: {*calls, indexed(told["call_id"])})

    def server_call(self, event: RecordedEvent, told: JsonObject) -> None:
        """Add a call of a tool that the provider runs."""
        self._entry(event, told, "assistant")["tool_calls"] = 1

    def result(self, event: RecordedEvent, told: JsonObject) -> None:
        """Note that a line waits for a call no more."""
        self._wait(event, told, lambda calls: calls - {indexed(told["call_id"])})

    def request(self, event: RecordedEvent, told: JsonObject) -> None:
        """Note that a line waits for no call: a request went out."""
        self._wait(event, told, lambda _: set())

    def document(self, event: RecordedEvent, told: JsonObject) -> None:
        """Add a document that was found."""
        self._entry(event, told, "record")["documents"] = 1

    def close(self, event: RecordedEvent, told: JsonObject) -> None:
        """Add what a response took."""
        entry = self._entry(event, told, "record")
        entry["input_tokens"] = _count(told.get("input_tokens"))
        entry["output_tokens"] = _count(told.get("output_tokens"))

    def adopt(self, event: RecordedEvent, told: JsonObject) -> None:
        """Let the main line go on from an earlier place."""
        if "line" not in told:
            self._amended = self._amended.adopt(event.version, told)

    def compact(self, event: RecordedEvent, told: JsonObject) -> None:
        """Let a summary stand for a beginning."""
        if "line" not in told:
            self._amended = self._amended.compact(event.version, told["until"])

    def redact(self, event: RecordedEvent, told: JsonObject) -> None:
        """Take away the text of an event, or a summary."""
        version: int = told["version"]
        if not MAIN < version < event.version:
            return
        self._amended = self._amended.redact(version)
        if version in self._entries:
            self._entries[version]["text"] = None
        else:
            self._redacted.append(version)

    def _retold(self) -> Iterator[Row]:
        """Tell the rows that are there, and those to come, whether the main line has them."""
        shown, before = self._amended.shown(), self._before.shown()
        for entry in self._entries.values():
            entry["shown"] = is_shown(shown, entry["version"], entry["line"])
        changed = changed_from(before, shown)
        told = [list(stretch) for stretch in shown if changed and stretch.until >= changed]
        yield {**self._of(), "redacted": self._redacted, "changed": changed, "stretches": told}
        yield {**self._of(), "version": MAIN, "state": stated(self._amended)}

    def _entry(self, event: RecordedEvent, told: JsonObject, role: str) -> Row:
        line = told.get("line")
        entry = {
            **self._of(),
            "line": line,
            "version": event.version,
            "exchange": event.exchange,
            "recorded_at": event.recorded_at,
            "role": role,
            "shown": line is None,
        }
        self._entries[event.version] = entry
        return entry

    def _opens(self, event: RecordedEvent, told: JsonObject) -> bool:
        line = told.get("line")
        if line is not None:
            return not self._calls(line)
        is_first = event.exchange > 0 and event.exchange not in self._opened
        self._opened.add(event.exchange)
        return is_first

    def _calls(self, line: str) -> set[str]:
        return set(self._lines[line]["state"]) if line in self._lines else set()

    def _wait(
        self, event: RecordedEvent, told: JsonObject, change: Callable[[set[str]], set[str]]
    ) -> None:
        """Change the calls that a side line waits for."""
        line = told.get("line")
        if line is None:
            return
        before = self._calls(line)
        calls = change(before)
        if calls != before:
            row = self._lines.get(line) or {**self._of(), "line": line, "version": -event.version}
            self._lines[line] = self._states[row["version"]] = {**row, "state": sorted(calls)}

    def _of(self) -> Row:
        return {
            "tenant": str(self._passage.tenant),
            "conversation_id": str(self._passage.conversation_id),
        }


def _text(content: Sequence[JsonObject]) -> str | None:
    return storable(said(content)[:MOST_CHARACTERS]) or None


def _count(tokens: Any) -> int:
    """Return a count that can be one, as the head does."""
    return tokens if isinstance(tokens, int) and 0 <= tokens <= MOST_TOKENS else 0


_TAKEN: Final[Mapping[str, Callable[[WindowEntries, RecordedEvent, JsonObject], None]]] = {
    "message.recorded": WindowEntries.message,
    "signal.received": WindowEntries.signal,
    "document.extracted": WindowEntries.document,
    "tool_call.recorded": WindowEntries.call,
    "server_tool_call.recorded": WindowEntries.server_call,
    "tool_result.recorded": WindowEntries.result,
    "request.sent": WindowEntries.request,
    "response.completed": WindowEntries.close,
    "response.interrupted": WindowEntries.close,
    "line.adopted": WindowEntries.adopt,
    "history.compacted": WindowEntries.compact,
    "content.redacted": WindowEntries.redact,
}
