"""What is told otherwise than it happened, or not: redactions, compactions, versions not given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple
from uuid import UUID

from onrecord.domain import events, jsontext
from onrecord.domain.admission import refers_back
from onrecord.domain.content import Document
from onrecord.domain.documents import reference_to
from onrecord.domain.encoding import Erased, Unrecognised, name_of
from onrecord.domain.events import HistoryCompacted, InstructionsSet, ToolsDeclared
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.log import Told
from onrecord.projections.history.responses import Item, Place, event_of, plain_of, plain_of_event

SUMMARY: Final = "Summary of the conversation so far:\n\n"
"""Stands before the caller's own summary: bare, a model takes it for something the user says."""

AMENDS: Final = frozenset({"content.redacted", "history.compacted"})
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
        if isinstance(event, Erased | Unrecognised) or not refers_back(event, _place(item)[1]):
            continue
        if isinstance(event, events.ContentRedacted):
            redactions.add((_place(item)[0], event.version))
        elif isinstance(event, HistoryCompacted) and event.line is None:
            summaries.append(Compaction(item, event.until))
    if redactions:
        redactions.update(_pictures_in(items, redactions))
    valid = [summary for summary in summaries if _place(summary.item) not in redactions]
    return Amended(redactions, _last(items, valid) if valid else None)


def _pictures_in(items: Sequence[Item], redactions: set[Place]) -> list[Place]:
    """Return the places of the pictures that stand in redacted events: they come right behind."""
    places: list[Place] = []
    is_hidden = False
    for item in items:
        if not _is_picture(item):
            is_hidden = _place(item) in redactions
        elif is_hidden:
            places.append(_place(item))
    return places


def as_compacted(items: Sequence[Item], compaction: Compaction) -> list[Item]:
    """Return events with the summary before all others; without those that it stands for.

    What set instructions and tools stays, and stands before it.
    """
    own, _ = _place(compaction.item)
    conversations = _conversations(items)
    earlier = set(conversations[: conversations.index(own)])
    before: list[Item] = []
    after: list[Item] = []
    for item in items:
        conversation, version = _place(item)
        if item is compaction.item or _is_superseded(item):
            continue
        if conversation in earlier or (conversation == own and version <= compaction.until):
            before += [item] if _stays(item) else []
        else:
            after.append(item)
    return [*before, compaction.item, *after]


def left_out(items: Sequence[Item], compaction: Compaction | None = None) -> int:
    """Return how many versions are missing before the last one of each conversation.

    Those of which the main branch was given up, or that stayed on a side branch then, do not count, nor
    those that a summary stands for.
    """
    if not items:
        return 0
    (first, begin), (last, end) = _place(items[0]), _place(items[-1])
    if first == last and begin == 1 and end == len(items):
        return 0
    versions: dict[UUID | None, set[int]] = {}
    # Ids are dear to hash, and the events of a conversation mostly follow each other.
    of, present = first, versions.setdefault(first, set())
    for conversation, version in map(_place, items):
        if conversation is not of:
            of, present = conversation, versions.setdefault(conversation, set())
        present.add(version)
    begun = _begun(items, compaction)
    missing = sum(
        max(present) - start - sum(version > start for version in present)
        for conversation, present in versions.items()
        for start in [begun.get(conversation, 0)]
    )
    return missing - sum(_given_up(item, versions, begun) for item in items if _is_promotion(item))


def _begun(items: Sequence[Item], compaction: Compaction | None) -> dict[UUID | None, int]:
    """Return the version behind which each conversation is told, where that is not its first."""
    if compaction is None:
        return {}
    own, _ = _place(compaction.item)
    conversations = _conversations(items)
    earlier = conversations[: conversations.index(own)]
    last = {conversation: version for conversation, version in map(_place, items)}
    return {own: compaction.until, **{conversation: last[conversation] for conversation in earlier}}


def _given_up(
    item: Item, versions: dict[UUID | None, set[int]], begun: dict[UUID | None, int]
) -> int:
    """Return how many events a promotion left behind, of those that are missing."""
    event = event_of(item)
    conversation, version = _place(item)
    if not isinstance(event, events.LineAdopted) or not refers_back(event, version):
        return 0
    first = max(event.after, begun.get(conversation, 0)) + 1
    return sum(between not in versions[conversation] for between in range(first, version))


def _last(items: Sequence[Item], summaries: list[Compaction]) -> Compaction:
    """Return the summary that counts: a fork's own rather than its origin's, the last of these."""
    conversations = _conversations(items)

    def order(summary: Compaction) -> tuple[int, int]:
        conversation, version = _place(summary.item)
        return conversations.index(conversation), version

    return max(summaries, key=order)


def _conversations(items: Sequence[Item]) -> list[UUID | None]:
    """Return the conversations of events, those that others were forked from first."""
    return list(dict.fromkeys(_place(item)[0] for item in items))


def _stays(item: Item) -> bool:
    if isinstance(item, Told):
        return item.type in _STAYS
    return isinstance(item[1], InstructionsSet | ToolsDeclared)


def _is_superseded(item: Item) -> bool:
    """Whether an event is a summary; only one is told."""
    if isinstance(item, Told):
        return item.type == "history.compacted"
    return isinstance(item[1], HistoryCompacted)


def _is_picture(item: Item) -> bool:
    if isinstance(item, Told):
        return item.type == "document.extracted"
    return isinstance(item[1], events.DocumentExtracted)


def _is_promotion(item: Item) -> bool:
    if isinstance(item, Told):
        return item.type == "line.adopted"
    return isinstance(item[1], events.LineAdopted)


def _place(item: Item) -> Place:
    return (item.conversation_id, item.version) if isinstance(item, Told) else (None, item[0])


# Documents that were taken out of results: those whose own events were redacted.

_TAKEN_OUT: Final = '{"document":"redacted"}'
"""Stands in the text of a result for a document that was taken out of it."""

_RESULT: Final = "tool_result.recorded"
_DOCUMENT: Final = "document.extracted"


def taken_out(items: Iterable[Item], redacted: set[Place]) -> Mapping[Place, list[JsonObject]]:
    """Return the documents that were taken out of each result, by its place.

    The events of a result's documents come right behind it.
    """
    documents: dict[Place, list[JsonObject]] = {}
    result: Place | None = None
    for item in items:
        name, place = _named(item)
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
    return jsontext.write(reference_to(Document.model_validate(described))).decode()


def _named(item: Item) -> tuple[str, Place]:
    if isinstance(item, Told):
        return item.type, (item.conversation_id, item.version)
    version, event = item
    return name_of(event), (None, version)
