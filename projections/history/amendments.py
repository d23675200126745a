"""What the model is told otherwise than it was recorded: redacted, summed up, or in another order."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple, TypeAlias
from uuid import UUID

from onrecord.domain import events, jsontext
from onrecord.domain.admission import refers_back
from onrecord.domain.content import Document
from onrecord.domain.documents import reference_to
from onrecord.domain.encoding import Erased, Unrecognised, name_of, read_stored
from onrecord.domain.events import Event
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.log import Told
from onrecord.projections.history.history import Note
from onrecord.projections.history.responses import (
    Item,
    Place,
    event_of,
    place_of,
    plain_of,
    plain_of_event,
    seen_by,
)

SUMMARY: Final = "Summary of the conversation so far:\n\n"
"""Stands before the caller's own summary: bare, a model takes it for something the user says."""

_SUMMARY: Final = "history.compacted"
_DOCUMENT: Final = "document.extracted"
_ADOPTION: Final = "line.adopted"

AMENDS: Final = frozenset({"content.redacted", _SUMMARY})
"""Events that say how others are told."""

_STAYS: Final = frozenset({"instructions.set", "tools.declared"})


class Compaction(NamedTuple):
    """A summary that stands for all up to version `until` of its conversation."""

    item: Item
    until: int


class Amended(NamedTuple):
    """What events say of how others are told: which are redacted, and where the history begins."""

    redactions: set[Place]
    compaction: Compaction | None = None


def amended(items: Sequence[Item]) -> Amended:
    """Return what events in order of version say of each other."""
    redactions: set[Place] = set()
    summaries: list[Compaction] = []
    for item in items:
        if isinstance(item, Told) and item.type not in AMENDS:
            continue
        event = event_of(item)
        if isinstance(event, Erased | Unrecognised) or not refers_back(event, place_of(item)[1]):
            continue
        if isinstance(event, events.ContentRedacted):
            redactions.add((place_of(item)[0], event.version))
        elif isinstance(event, events.HistoryCompacted) and event.line is None:
            summaries.append(Compaction(item, event.until))
    if redactions:
        redactions.update(_pictures_in(items, redactions))
    valid = [summary for summary in summaries if place_of(summary.item) not in redactions]
    return Amended(redactions, _last(items, valid) if valid else None)


def _pictures_in(items: Sequence[Item], redactions: set[Place]) -> list[Place]:
    """Return the places of the pictures that stand in redacted events: they come right behind."""
    places: list[Place] = []
    is_hidden = False
    for item in items:
        if _name(item) != _DOCUMENT:
            is_hidden = place_of(item) in redactions
        elif is_hidden:
            places.append(place_of(item))
    return places


def as_compacted(items: Sequence[Item], compaction: Compaction) -> list[Item]:
    """Return events with the summary before all others; without those that it stands for.

    What set instructions and tools stays, and stands before it.
    """
    own, _ = place_of(compaction.item)
    conversations = _conversations(items)
    earlier = set(conversations[: conversations.index(own)])
    before: list[Item] = []
    after: list[Item] = []
    for item in items:
        conversation, version = place_of(item)
        if _name(item) == _SUMMARY:
            continue
        if conversation in earlier or (conversation == own and version <= compaction.until):
            before += [item] if _name(item) in _STAYS else []
        else:
            after.append(item)
    return [*before, compaction.item, *after]


class Presence:
    """Which versions of each conversation are among events, to tell how many are not.

    `compaction` is the summary that counts, if there is one. The events may go on.
    """

    def __init__(self, compaction: Compaction | None = None) -> None:
        """Begin with no events."""
        self._compaction = compaction
        self._begun: dict[UUID | None, int] | None = None
        self._versions: dict[UUID | None, set[int]] = {}
        self._adoptions: list[Item] = []
        self._count = 0

    def left_out(self, items: Sequence[Item]) -> int:
        """Return how many versions are missing before the last one of each conversation.

        `items` are those of the last time, and what came since. Those of which the main branch was
        given up, or that stayed on a side branch then, do not count, nor those that a summary stands for.
        """
        if not items:
            return 0
        (first, begin), (last, end) = place_of(items[0]), place_of(items[-1])
        if first == last and begin == 1 and end == len(items):
            return 0
        if self._begun is None:
            self._begun = _begun(items, self._compaction)
        self._take(items)
        begun = self._begun
        missing = sum(
            max(present) - start - (sum(map(start.__lt__, present)) if start else len(present))
            for conversation, present in self._versions.items()
            for start in [begun.get(conversation, 0)]
        )
        return missing - sum(_given_up(item, self._versions, begun) for item in self._adoptions)

    def leave_out(self, gone: Collection[Item], items: Sequence[Item]) -> None:
        """Go on as if some of all events so far, `items`, had not been among them."""
        self._take(items)
        for conversation, version in map(place_of, gone):
            self._versions[conversation].discard(version)
        self._count -= len(gone)

    def _take(self, items: Sequence[Item]) -> None:
        # Ids are dear to hash, and the events of a conversation mostly follow each other.
        known: object = self
        present = set[int]()
        for item in islice(items, self._count, None):
            if isinstance(item, Told):
                conversation, version, name = item.conversation_id, item.version, item.type
            else:
                conversation, version, name = None, item[0], name_of(item[1])
            if conversation is not known:
                known, present = conversation, self._versions.setdefault(conversation, set())
            present.add(version)
            if name == _ADOPTION:
                self._adoptions.append(item)
        self._count = len(items)


def _begun(items: Sequence[Item], compaction: Compaction | None) -> dict[UUID | None, int]:
    """Return the version behind which each conversation is told, where that is not its first."""
    if compaction is None:
        return {}
    own, _ = place_of(compaction.item)
    conversations = _conversations(items)
    earlier = conversations[: conversations.index(own)]
    last = {conversation: version for conversation, version in map(place_of, items)}
    return {own: compaction.until, **{conversation: last[conversation] for conversation in earlier}}


def _given_up(
    item: Item, versions: dict[UUID | None, set[int]], begun: dict[UUID | None, int]
) -> int:
    """Return how many events a promotion left behind, of those that are missing."""
    event = event_of(item)
    conversation, version = place_of(item)
    if not isinstance(event, events.LineAdopted) or not refers_back(event, version):
        return 0
    first = max(event.after, begun.get(conversation, 0)) + 1
    return sum(between not in versions[conversation] for between in range(first, version))


def _last(items: Sequence[Item], summaries: list[Compaction]) -> Compaction:
    """Return the summary that counts: a fork's own rather than its origin's, the last of these."""
    conversations = _conversations(items)

    def order(summary: Compaction) -> tuple[int, int]:
        conversation, version = place_of(summary.item)
        return conversations.index(conversation), version

    return max(summaries, key=order)


def _conversations(items: Sequence[Item]) -> list[UUID | None]:
    """Return the conversations of events, those that others were forked from first."""
    return list(dict.fromkeys(place_of(item)[0] for item in items))


def _name(item: Item) -> str:
    return item.type if isinstance(item, Told) else name_of(item[1])


# Documents that were taken out of results: those whose own events were redacted.

_TAKEN_OUT: Final = '{"document":"redacted"}'
"""Stands in the text of a result for a document that was taken out of it."""

_RESULT: Final = "tool_result.recorded"


def taken_out(items: Iterable[Item], redacted: set[Place]) -> Mapping[Place, list[JsonObject]]:
    """Return the documents that were taken out of each result, by its place.

    The events of a result's documents come right behind it.
    """
    documents: dict[Place, list[JsonObject]] = {}
    result: Place | None = None
    for item in items:
        name, place = _name(item), place_of(item)
        if name == _RESULT:
            result = place
        elif name == _DOCUMENT and result is not None and place in redacted:
            plain = plain_of(item) if isinstance(item, Told) else plain_of_event(item[1])
            if isinstance(plain, dict) and "path" in plain:
                documents.setdefault(result, []).append(plain["document"])
    return documents


def without(content: JsonObject, documents: Iterable[JsonObject]) -> JsonObject:
    """Return a result in neutral form without some documents, and without what refers to them."""
    if content["kind"] != "tool_result":
        return content
    gone = list(documents)
    names = [_reference(document) for document in gone]
    parts = [_without(part, names) for part in content.get("content", ()) if part not in gone]
    return {**content, "content": parts}


def _without(part: JsonObject, references: Iterable[str]) -> JsonObject:
    if part["kind"] != "text":
        return part
    text: str = part["text"]
    for reference in references:
        text = text.replace(reference, _TAKEN_OUT)
    return {**part, "text": text}


def _reference(document: JsonObject) -> str:
    described: Any = {name: value for name, value in document.items() if name != "kind"}
    return jsontext.write(reference_to(read_stored(Document.model_validate, described))).decode()


# What a request had seen: the events of a main branch in the order in which the model knew them.
#
# A request may go out when more has been recorded than its messages reflect (`RequestSent.seen`).
# What the caller said in between, results among it, the model learns after the response.


def as_seen(items: Sequence[Item]) -> tuple[list[Item], tuple[Note, ...]]:
    """Return events in the order in which requests saw them, and notes on those left out.

    What was said before a request that had not seen it comes right after it: it was said while the
    request was out. What a response said then was superseded unseen, and is left out.
    """
    ordered: list[Item] = []
    notes: list[Note] = []
    for item in items:
        late: list[Item] = []
        if unseen := _unseen(item, ordered):
            late = [each for each in unseen if _is_said(event_of(each))]
            superseded = [each for each in unseen if _is_answered(event_of(each))]
            away = {id(each) for each in (*late, *superseded)}
            ordered = [each for each in ordered if id(each) not in away]
            notes += map(_note, superseded)
        ordered += [item, *late]
    return ordered, tuple(notes)


def _unseen(request: Item, before: Sequence[Item]) -> list[Item]:
    """Return what was recorded before a request that had not seen it."""
    seen = seen_by(request)
    if seen is None:
        return []
    conversation, _ = place_of(request)
    places = map(place_of, before)
    unseen = [
        item
        for item, (own, version) in zip(before, places, strict=True)
        if own == conversation and version > seen
    ]
    # A window may begin amid what a request had not seen: then nothing is before it.
    return unseen if len(unseen) < len(before) else []


def says_something(event: Event) -> bool:
    """Return whether an event is part of what the model knows: said to it, or by it."""
    return _is_said(event) or _is_answered(event)


def _is_said(event: Event | Unrecognised | Erased) -> bool:
    """Whether the caller says something to the model: a prompt, a note, a result, a document."""
    match event:
        case events.MessageRecorded():
            return event.line is None and event.role != "assistant"
        case (
            events.ToolResultRecorded()
            | events.SignalReceived()
            | events.DocumentExtracted(api=None)
        ):
            return event.line is None
        case _:
            return False


_Answered: TypeAlias = (
    events.AnswerPart
    | events.DocumentExtracted
    | events.ResponseCompleted
    | events.ResponseInterrupted
)


def _is_answered(event: Event | Unrecognised | Erased) -> bool:
    return isinstance(event, _Answered) and event.line is None and not _is_said(event)


def _note(item: Item) -> Note:
    why = "the request that went on had not seen it"
    return Note("left out", "unseen", place_of(item)[1], why)
