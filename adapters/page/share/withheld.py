"""What a copy leaves out because it was redacted, by the rules of the file to share; pure."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import replace

from onrecord.adapters.page.conversation.events import ShownEvent, ShownRow
from onrecord.adapters.page.share.hiding import (
    REASONS,
    Nature,
    Reason,
    Redactions,
    kind_of_hidden,
    reason_of_record,
)


def withheld(
    events: Iterable[ShownEvent], natures: Mapping[int, Nature], redactions: Redactions
) -> dict[int, str]:
    """Return in words why a copy leaves events out, by their versions; what was erased is in no event."""
    reason_texts = dict[int, str]()
    for event in events:
        reasons = _reasons(event, natures.get(event.version, Nature()), redactions)
        for reason in reasons:
            reason_texts.setdefault(event.version, REASONS[reason])
    return reason_texts


def withheld_bodies(types: Mapping[int, str], rows: Container[int]) -> dict[int, str]:
    """Return in words why the bodies of events stay out where something was redacted, by their versions.

    `types` are those of events, `rows` the versions that have a row. A request has the words of others
    in its body, where a program made it. What an event without a row holds, nobody has looked through.
    """
    return {
        version: REASONS["repeats"]
        for version, type_ in types.items()
        if type_ == "request.sent" or version not in rows
    }


def without_withheld(
    events: Iterable[ShownEvent], reasons: Mapping[int, str]
) -> tuple[ShownEvent, ...]:
    """Return events, in place of the text of those that are left out why it is not there."""
    return tuple(
        _emptied(each, reasons[each.version]) if each.version in reasons else each
        for each in events
    )


def _reasons(event: ShownEvent, nature: Nature, redactions: Redactions) -> Iterator[Reason]:
    for row in event.rows:
        reason = reason_of_record(row.row, nature, redactions)
        if reason is not None and reason != "erased":
            yield reason


def _emptied(event: ShownEvent, reason: str) -> ShownEvent:
    return replace(
        event, rows=tuple(_without_text(each, reason) for each in event.rows), documents=()
    )


def _without_text(shown: ShownRow, reason: str) -> ShownRow:
    row = replace(shown.row, kind=kind_of_hidden(shown.row), text="")
    return replace(shown, row=row, name=None, text=f"[{reason}]", glimpse=None, detail=None, cut=0)
