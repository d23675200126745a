"""The rows of the window of one conversation, as events add to them.

The log numbers the exchanges of the main branch, so the first prompt of a number opens it. Those of a
side branch count once that is adopted, by the same rule (domain/head.py): a prompt opens an exchange
unless calls of its line are open. So rows that are no entries keep the open calls of lines, and what
amended the main branch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from onrecord.domain.admission import refers_back
from onrecord.domain.events import HistoryCompacted, LineAdopted
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.log import RecordedEvent
from onrecord.projections.views.item_summary import item_summary
from onrecord.projections.views.texts import documents_in, indexed, said
from onrecord.projections.views.usage import count_of
from onrecord.projections.views.view import EventBatch, Row, storable
from onrecord.projections.views.window_segments import (
    FOR_EVER,
    ITEMS,
    Segment,
    changed_from,
    is_shown,
    removed_ranges,
    up_to,
    without,
)

# Which events of a conversation its main branch is made of, told from what amends it alone.
#
# The rules are those by which a conversation is read (adapters/streams/lineage.py): an adoption goes
# on from an earlier place; a summary stands for a beginning as long as the main branch begins with
# what it stands for.


class Adoption(NamedTuple):
    """A `LineAdopted` at a version."""

    version: int
    adopted: str | None
    begun: int | None
    after: int
    as_of: int


class Compaction(NamedTuple):
    """A `HistoryCompacted` at a version."""

    version: int
    until: int
    is_redacted: bool = False


@dataclass(frozen=True, slots=True)
class Amended:
    """What amended a conversation so far, in order of version; `items` are those that a session holds."""

    adoptions: tuple[Adoption, ...] = ()
    compactions: tuple[Compaction, ...] = ()
    items: tuple[Segment, ...] = (Segment(0, FOR_EVER, ITEMS),)

    def adopt(self, version: int, members: Row) -> Amended:
        """Return it with an adoption, of these members; itself where that names no past."""
        event = LineAdopted.model_validate(members)
        if not refers_back(event, version):
            return self
        adopted = None if event.adopted is None else str(event.adopted)
        as_of = event.as_of or event.after
        adoption = Adoption(version, adopted, event.begun, event.after, as_of)
        return replace(self, adoptions=(*self.adoptions, adoption))

    def compact(self, version: int, until: int) -> Amended:
        """Return it with a summary of what was said up to a version; itself where that is to come."""
        if not refers_back(HistoryCompacted(summary="", until=until), version):
            return self
        compaction = Compaction(version, until)
        return replace(self, compactions=(*self.compactions, compaction))

    def redact(self, version: int) -> Amended:
        """Return it without the summary at a version; itself if there is none."""
        if all(compaction.version != version for compaction in self.compactions):
            return self
        compactions = (
            each._replace(is_redacted=True) if each.version == version else each
            for each in self.compactions
        )
        return replace(self, compactions=tuple(compactions))

    def shown(self) -> tuple[Segment, ...]:
        """Return what the main branch is made of by now, behind what a summary stands for."""
        line = self._line(FOR_EVER)
        until = self._summarised(line)
        return tuple(
            segment._replace(after=max(segment.after, until))
            for segment in (*line, *self.items)
            if segment.until > until
        )

    def _line(self, as_of: int) -> tuple[Segment, ...]:
        """Return what the main branch was made of at a version."""
        segments: list[Segment] = []
        cut = as_of
        while adoption := self._last_adoption(as_of):
            if cut >= adoption.version:
                segments.append(Segment(adoption.version - 1, cut))
                cut = adoption.version - 1
            if adoption.begun is not None and cut >= adoption.begun:
                segments.append(Segment(adoption.begun - 1, cut, adoption.adopted))
            cut, as_of = min(cut, adoption.after), adoption.as_of
        return (Segment(0, cut), *reversed(segments))

    def _last_adoption(self, as_of: int) -> Adoption | None:
        return next((each for each in reversed(self.adoptions) if each.version <= as_of), None)

    def _summarised(self, line: tuple[Segment, ...]) -> int:
        """Return the version up to which a summary stands for the main branch; 0 if none does."""
        for version, until, is_redacted in reversed(self.compactions):
            is_on_line = any(segment.has(version, None) for segment in line)
            if is_redacted:
                continue
            if is_on_line or up_to(self._line(version), until) == up_to(line, until):
                return until
        return 0


def amended_in(state: Any) -> Amended:
    """Return what `stated` gave, read again."""
    return Amended(
        tuple(Adoption(*row) for row in state["adoptions"]),
        tuple(Compaction(*row) for row in state["compactions"]),
        tuple(Segment(*row) for row in state["items"]),
    )


def stated(amended: Amended) -> Row:
    """Return it as JSON."""
    return {
        "adoptions": [list(amendment) for amendment in amended.adoptions],
        "compactions": [list(amendment) for amendment in amended.compactions],
        "items": [list(segment) for segment in amended.items],
    }


MOST_CHARACTERS: Final = 2000
"""How much of a prompt and of an answer is told."""

PROMPTS: Final = frozenset({"message.recorded", "signal.received"})
"""The events that may open an exchange."""

MAIN: Final = 0
"""The version of the row that keeps what amended the main branch: no event has it."""

_ON_A_SIDE_LINE: Final = b'{"line":"'
_ID: Final = 36


def line_of(event: RecordedEvent) -> str | None:
    """Return the side branch of an event; None for the main branch, and for what was erased.

    Bodies are canonical (docs/format.md): what is on a side branch begins so.
    """
    body = event.body
    if body is None or not body.startswith(_ON_A_SIDE_LINE):
        return None
    begin = len(_ON_A_SIDE_LINE)
    return body[begin : begin + _ID].decode()


class WindowEntries:
    """Takes in events in order, and then says what becomes of the rows."""

    def __init__(self, batch: EventBatch, known: Sequence[Row]) -> None:
        """Begin with what is known of the batch's conversation."""
        self._batch = batch
        self._entries: dict[int, Row] = {}
        self._redacted: list[int] = []
        self._states: dict[int, Row] = {}
        self._opened = {row["exchange"] for row in known if row["version"] > MAIN}
        lines = {row["line"]: row for row in known if row["version"] < MAIN}
        self._lines: dict[str, Row] = lines
        main = next((row["state"] for row in known if row["version"] == MAIN), None)
        self._before = Amended() if main is None else amended_in(main)
        self._amended = self._before

    def take(self, event: RecordedEvent, members: JsonObject) -> None:
        """Take in the next event, of these members."""
        _TAKEN[event.type](self, event, members)

    def put(self) -> Iterator[Row]:
        """Yield new rows, and one without a version that says what becomes of earlier ones."""
        if self._amended != self._before:
            yield from self._retold()
        yield from self._entries.values()
        yield from self._states.values()
        if self._redacted and self._amended == self._before:
            yield {**self._of(), "redacted": self._redacted}

    def message(self, event: RecordedEvent, members: JsonObject) -> None:
        """Add a message: a prompt, a part of an answer, a note."""
        role, content = members["role"], members["content"]
        entry = self._entry(event, role, members.get("line"))
        entry["messages"], entry["text"] = 1, _text(content) if role != "system" else None
        if role == "user":
            entry["documents"] = documents_in(content)
            entry["opens"] = self._opens(event, members)
        elif role == "assistant":
            entry["speech"] = members.get("response") or str(event.version)

    def signal(self, event: RecordedEvent, members: JsonObject) -> None:
        """Add a signal: it prompts, unless it interrupts."""
        content = members.get("content", ())
        entry = self._entry(event, "outside", members.get("line"))
        entry["messages"], entry["text"] = 1, _text(content)
        entry["documents"] = documents_in(content)
        if not members.get("interrupts", False):
            entry["opens"] = self._opens(event, members)

    def call(self, event: RecordedEvent, members: JsonObject) -> None:
        """Add a call of one of the caller's tools; its line waits for it."""
        self.server_call(event, members)
        if members.get("awaited", True):
            self._wait(event, members, lambda calls: {*calls, indexed(members["call_id"])})

    def server_call(self, event: RecordedEvent, members: JsonObject) -> None:
        """Add a call of a tool that the provider runs."""
        self._entry(event, "assistant", members.get("line"))["tool_calls"] = 1

    def result(self, event: RecordedEvent, members: JsonObject) -> None:
        """Note that a line waits for a call no more."""
        self._wait(event, members, lambda calls: calls - {indexed(members["call_id"])})

    def request(self, event: RecordedEvent, members: JsonObject) -> None:
        """Note that a line waits for no call: a request went out."""
        self._wait(event, members, lambda _: set())

    def document(self, event: RecordedEvent, members: JsonObject) -> None:
        """Add a document that was found."""
        self._entry(event, "record", members.get("line"))["documents"] = 1

    def close(self, event: RecordedEvent, members: JsonObject) -> None:
        """Add what a response took."""
        entry = self._entry(event, "record", members.get("line"))
        entry["input_tokens"] = count_of(members.get("input_tokens"))
        entry["output_tokens"] = count_of(members.get("output_tokens"))

    def adopt(self, event: RecordedEvent, members: JsonObject) -> None:
        """Let the main branch go on from an earlier place."""
        if "line" not in members:
            self._amended = self._amended.adopt(event.version, members)

    def compact(self, event: RecordedEvent, members: JsonObject) -> None:
        """Let a summary stand for a beginning."""
        if "line" not in members:
            self._amended = self._amended.compact(event.version, members["until"])

    def item(self, event: RecordedEvent, members: JsonObject) -> None:
        """Add what an item of the session's main stream says."""
        columns = _item_columns(members)
        if columns is not None:
            entry = self._entry(event, columns["role"], ITEMS)
            entry |= columns | {"shown": True, "text": _shown(columns["text"])}
            entry["speech"] = str(event.version) if entry["role"] == "assistant" else None

    def leave(self, event: RecordedEvent, members: JsonObject) -> None:
        """Take out items that the session holds no more."""
        for after, until in removed_ranges(event.type, event.version, members):
            items = without(self._amended.items, after, until)
            self._amended = replace(self._amended, items=items)

    def redact(self, event: RecordedEvent, members: JsonObject) -> None:
        """Take away the text of an event, or a summary."""
        version: int = members["version"]
        if not MAIN < version < event.version:
            return
        self._amended = self._amended.redact(version)
        if version in self._entries:
            self._entries[version]["text"] = None
        else:
            self._redacted.append(version)

    def _retold(self) -> Iterator[Row]:
        """Tell the rows that are there, and those to come, whether the main branch has them."""
        shown, before = self._amended.shown(), self._before.shown()
        for entry in self._entries.values():
            entry["shown"] = is_shown(shown, entry["version"], entry["line"])
        changed = changed_from(before, shown)
        segments = [list(segment) for segment in shown if changed and segment.until >= changed]
        yield {**self._of(), "redacted": self._redacted, "changed": changed, "segments": segments}
        yield {**self._of(), "version": MAIN, "state": stated(self._amended)}

    def _entry(self, event: RecordedEvent, role: str, line: str | None) -> Row:
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

    def _opens(self, event: RecordedEvent, members: JsonObject) -> bool:
        line = members.get("line")
        if line is not None:
            return not self._calls(line)
        is_first = event.exchange > 0 and event.exchange not in self._opened
        self._opened.add(event.exchange)
        return is_first

    def _calls(self, line: str) -> set[str]:
        return set(self._lines[line]["state"]) if line in self._lines else set()

    def _wait(
        self, event: RecordedEvent, members: JsonObject, change: Callable[[set[str]], set[str]]
    ) -> None:
        """Change the calls that a side branch waits for."""
        line = members.get("line")
        if line is None:
            return
        before = self._calls(line)
        calls = change(before)
        if calls != before:
            row = self._lines.get(line) or {**self._of(), "line": line, "version": -event.version}
            self._lines[line] = self._states[row["version"]] = {**row, "state": sorted(calls)}

    def _of(self) -> Row:
        return {
            "tenant": str(self._batch.tenant),
            "conversation_id": str(self._batch.conversation_id),
        }


def _item_columns(members: JsonObject) -> Row | None:
    """Return what an entry says of an item, with all of its text; None where it is no entry.

    Where several speak in an item it is the user's, and a prompt.
    """
    summary = item_summary(members)
    calls = summary.tool_calls + summary.server_tool_calls
    if "stream" in members or not (summary.texts or calls):
        return None
    texts = summary.texts
    role = next((each for each in ("user", "assistant", "system") if each in texts), "assistant")
    return {
        "role": role,
        "opens": role == "user",
        "messages": len(texts),
        "tool_calls": calls,
        "documents": summary.documents,
        "text": "" if role == "system" else texts.get(role, ""),
    }


def _text(content: Sequence[JsonObject]) -> str | None:
    return _shown(said(content))


def _shown(text: str) -> str | None:
    return storable(text[:MOST_CHARACTERS]) or None


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
    "item.recorded": WindowEntries.item,
    "item.withdrawn": WindowEntries.leave,
    "items.replaced": WindowEntries.leave,
    "stream.cleared": WindowEntries.leave,
}
