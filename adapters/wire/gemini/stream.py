"""What Gemini answers, put together from the chunks of a stream: each has the shape of a response.

The parts of a candidate's chunks follow each other; of all other members the last one stays
(ai.google.dev, "Generating content", `streamGenerateContent`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final, cast

from onrecord.adapters.wire.answer import Anomaly, Answer, Interruption, Loss, named
from onrecord.adapters.wire.api import error_kind
from onrecord.adapters.wire.gemini.answers import (
    Candidate,
    GrowingContent,
    block_reason,
    completed,
    envelopes_of,
    finish_reason,
)
from onrecord.adapters.wire.gemini.parts import API
from onrecord.adapters.wire.stream_reader import Decoder, broken_off, index_or
from onrecord.domain.errors import MalformedJson
from onrecord.domain.jsontext import JsonObject, read_bounded, read_bounded_object
from onrecord.projections.members import list_of, nonempty_text, objects

_CANDIDATES: Final = "candidates"
_COUNTS: Final = "usageMetadata"
"""Of all that was read and written so far; what it counts by changes on the way."""

_COUNTED: Final = re.compile(r"(TokenCount|Details|trafficType|serviceTier)$")
_APART: Final = frozenset({_CANDIDATES, "error"})
_CONTENT: Final = frozenset({"content"})


class _Growing:
    """A candidate that grows."""

    __slots__ = ("content", "members")

    def __init__(self) -> None:
        self.content = GrowingContent()
        self.members: JsonObject = {}

    def candidate(self) -> Candidate:
        parts = self.content.value()
        return Candidate(parts, self.members, self.content.is_amid_call)


class Chunks:
    """Takes chunks in; nothing in them makes it raise.

    `error` is what the service said went wrong amid them.
    """

    __slots__ = ("_anomalies", "_envelope", "_growing", "_noted", "error")

    def __init__(self) -> None:
        """Begin with nothing."""
        self._envelope: JsonObject = {}
        self._growing: dict[int, _Growing] = {}
        self._anomalies: list[Anomaly] = []
        self._noted: set[str] = set()
        self.error: Any = None

    @property
    def is_over(self) -> bool:
        """Whether all said why they finished; more may follow where a gateway says so too early."""
        if not self._growing:
            return block_reason(self._envelope) is not None
        return all(finish_reason(one.members) for one in self._growing.values())

    def take(self, chunk: JsonObject, raw: bytes = b"") -> None:
        """Take the next chunk in; `raw` is what to keep of it where it is not understood."""
        error = chunk.get("error")
        if error is not None and self.error is not None:
            self.note("an error after an error", raw)
        self.error = error if self.error is None else self.error
        if _CANDIDATES in chunk:
            self._envelope.setdefault(_CANDIDATES, [])
            self._add(chunk[_CANDIDATES], raw)
        self._replace(self._envelope, chunk, _APART, raw)

    def note(self, what: str, raw: bytes = b"") -> None:
        """Note what the API's rules do not know: the first time is enough."""
        if what not in self._noted:
            self._noted.add(what)
            self._anomalies.append(Anomaly(what, raw))

    def answer(self, interruption: Interruption | None, detail: str | None) -> Answer:
        """Return what the chunks said; `interruption` is why they are not all, if they are not."""
        candidates = [self._growing[index].candidate() for index in sorted(self._growing)]
        if self.error is not None:
            interruption, detail = "error", error_kind(self.error)
        envelope = dict(self._envelope)
        if _CANDIDATES in envelope:
            envelope[_CANDIDATES] = envelopes_of(candidates)
        answer = Answer(
            api=API,
            envelope=envelope,
            interruption=interruption,
            detail=detail,
            error=self.error,
            anomalies=tuple(self._anomalies),
        )
        return completed(answer, candidates)

    def _add(self, candidates: Any, raw: bytes) -> None:
        """Take candidates in; one without an index is at its place in the list."""
        listed = list_of(candidates)
        if not isinstance(candidates, list | None):
            self.note("candidates that are no list", raw)
        for place, value in enumerate(listed):
            if not isinstance(value, dict):
                self.note("a candidate that is no object", raw)
                continue
            candidate = cast("JsonObject", value)
            index = index_or(candidate.get("index"), place)
            growing = self._growing.get(index)
            if growing is None:
                growing = self._growing[index] = _Growing()
            growing.content.add(candidate.get("content"))
            if growing.content.odd:
                self._note_odd(growing.content.odd, raw)
            self._replace(growing.members, candidate, _CONTENT, raw)

    def _note_odd(self, names: set[str], raw: bytes) -> None:
        for name in sorted(names):
            self.note(f"a content with an odd {named(name)}", raw)

    def _replace(
        self, known_members: JsonObject, members: JsonObject, apart: frozenset[str], raw: bytes
    ) -> None:
        """Let the last value of each member stay; note where that says less than the one before."""
        for name, value in members.items():
            if name in apart:
                continue
            known = known_members.get(name)
            # Most members of a chunk are as the last one had them.
            both = (_uncounted(value), _uncounted(known)) if name == _COUNTS else (value, known)
            is_grown = known == value or _includes(*both)
            if not is_grown:
                self.note(f"more than one value of {named(name)}", raw)
            if is_grown or value not in (None, "", [], {}):
                known_members[name] = value


def _uncounted(usage: Any) -> Any:
    """Return what the counts of a chunk say beside numbers of tokens."""
    if not isinstance(usage, dict):
        return usage
    members = cast("JsonObject", usage)
    others = {name: value for name, value in members.items() if not _COUNTED.search(name)}
    details = {
        name: [rest for entry in objects(value) if (rest := _beside_counts(entry))]
        for name, value in members.items()
        if name.endswith("Details")
    }
    return {**others, **{name: entries for name, entries in details.items() if entries}}


def _beside_counts(entry: JsonObject) -> JsonObject:
    return {name: value for name, value in entry.items() if name not in ("modality", "tokenCount")}


def _includes(value: Any, earlier: Any) -> bool:
    """Whether a value says all that an earlier one did; a number may be a count that grew."""
    match earlier:
        case None | "":
            return True
        case dict():
            members = cast("JsonObject", earlier)
            return isinstance(value, dict) and all(
                name in value and _includes(value[name], member_value)
                for name, member_value in members.items()
            )
        case list():
            return isinstance(value, list) and _goes_on(
                cast("list[Any]", value), cast("list[Any]", earlier)
            )
        case int() | float():
            return isinstance(value, int | float)
        case _:
            return bool(value == earlier)


def _goes_on(values: list[Any], earlier: list[Any]) -> bool:
    both = zip(values, earlier, strict=False)
    return len(values) >= len(earlier) and all(_includes(value, before) for value, before in both)


# The answers of Gemini's API, read from the bytes of a JSON body.
#
# `streamGenerateContent` without `alt=sse` gives a list of chunks (ai.google.dev, "Stream").

SILENT: Final = "a candidate without a finish reason"
NOTHING: Final = "an answer of no candidate"


def read_body(body: bytes, loss: Loss = "malformed", detail: str | None = None) -> Answer:
    """Return what a whole JSON body said; `loss` is why, if it is not whole.

    Never raises: a body that cannot be read is an answer without blocks that says so.
    """
    try:
        value: Any = read_bounded(body)
    except MalformedJson as exc:
        return Answer(api=API, interruption=loss, detail=detail or str(exc))
    listed = cast("list[Any]", value) if isinstance(value, list) else [value]
    if not listed or not all(isinstance(chunk, dict) for chunk in listed):
        return Answer(api=API, interruption="malformed", detail="expected a JSON object")
    chunks = Chunks()
    for chunk in cast("list[JsonObject]", listed):
        chunks.take(chunk)
    return ended(chunks)


def ended(chunks: Chunks) -> Answer:
    """Return what chunks said of which the last has come."""
    answer = chunks.answer(None, None)
    if answer.error is not None or chunks.is_over:
        return answer
    if not answer.envelope.get("candidates"):
        return chunks.answer("malformed", NOTHING)
    chunks.note(SILENT)
    return chunks.answer(None, None)


# A streamed answer of Gemini's API, put together from its server-sent events.
#
# Nothing in such a stream says where it ends: its last chunk is the one that nothing follows. All
# candidates have said why they finished then. An error amid it may come as plain JSON, in lines
# that are no event (google-genai 3.4.0, `_api_client.py`, `_iter_response_stream`).

_DATA: Final = b"data:"


class ContentStream:
    """Reads one streamed response, chunk by chunk; nothing that arrives makes it raise."""

    __slots__ = ("_broken", "_chunks", "_decoder", "_events", "_since")

    def __init__(self) -> None:
        """Begin a response."""
        self._decoder = Decoder()
        self._chunks = Chunks()
        self._since: list[bytes] = []
        self._events = 0
        self._broken: str | None = None

    def feed(self, chunk: bytes) -> bool:
        """Take the next bytes in; return whether the response is over, which an error tells alone."""
        events = self._decoder.feed(chunk)
        if events:
            self._since = []
        self._since.append(chunk)
        for event in events:
            self._take(event.data)
        self._events += len(events)
        return self._chunks.error is not None

    @property
    def endings(self) -> int:
        """How many chunks came so far, once all candidates have said why they finished."""
        return self._events if self._broken is None and self._chunks.is_over else 0

    def finish(self, loss: Loss = "cut", detail: str | None = None) -> Answer:
        """Return what the response said; `loss` is why, if it did not say why it finished."""
        self._look_for_error()
        if self._broken is not None:
            return self._chunks.answer("malformed", self._broken)
        if self._chunks.error is not None:
            return self._chunks.answer(None, None)
        tail = self._decoder.tail.strip()
        if not self._chunks.is_over:
            return self._chunks.answer(loss, detail or broken_off("event", tail))
        if tail:
            self._chunks.note("the last event broke off", tail)
        if self._decoder.stray:
            self._chunks.note("a line that is no field of an event", self._decoder.stray)
        return ended(self._chunks)

    def _take(self, data: bytes) -> None:
        try:
            chunk = read_bounded_object(data)
        except MalformedJson as exc:
            self._chunks.note("an event that cannot be read", data)
            self._broken = self._broken or f"an event cannot be read: {exc}"
            return
        if self._broken is None:
            self._chunks.take(chunk, data)
        else:
            self._chunks.note("an event after one that cannot be read", data)

    def _look_for_error(self) -> None:
        """Look for an error that came in lines of its own, behind the last event."""
        error = _stray(b"".join(self._since))
        if error is not None and self._chunks.error is None:
            self._chunks.take(error)


def _stray(received: bytes) -> JsonObject | None:
    """Return the JSON of an error that stands behind the last event, and the last line of data."""
    text = received.replace(b"\r\n", b"\n").replace(b"\r", b"\n").strip()
    lines = text.rpartition(b"\n\n")[2].split(b"\n")
    data = [place for place, line in enumerate(lines) if line.startswith(_DATA)]
    behind = b"\n".join(lines[data[-1] + 1 if data else 0 :])
    if not behind.startswith((b"{", b"[")):
        return None
    try:
        error = read_bounded_object(behind.removeprefix(b"[").removesuffix(b"]"))
    except MalformedJson:
        return None
    return error if "error" in error else None


def answers_among(chunks: Sequence[JsonObject]) -> int:
    """Return how many responses chunks are of: another begins under another name, behind an end."""
    count, last, is_over = 0, None, True
    for chunk in chunks:
        name, candidates = nonempty_text(chunk.get("responseId")), objects(chunk.get(_CANDIDATES))
        if candidates and is_over and (not count or name != last):
            count += 1
        if candidates:
            last, is_over = name, all(map(finish_reason, candidates))
    return count
