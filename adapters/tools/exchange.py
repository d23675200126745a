"""The exchange that is open: what was said since the last prompt, from the last event back."""

from __future__ import annotations

from collections.abc import Iterator

from onrecord.adapters.conversation.conversation import Talk
from onrecord.adapters.conversation.lineage import Compaction, amendments, backwards
from onrecord.domain.events import Event
from onrecord.domain.log import RecordedEvent
from onrecord.domain.registry import Erased, Unrecognised


def open_exchange(talk: Talk) -> Iterator[Event]:
    """Yield what models are told of the open exchange, and what they were asked, last first.

    That is nothing that was redacted, that a summary stands for, or that is on a line of its own.
    """
    head = talk.head()
    if not head.version:
        return
    stretches = talk.stream.lineage(head.version, head)
    found = amendments(talk.backend, stretches)
    lines = {None, *(stretch.line for stretch in stretches)}
    for recorded in backwards(talk.backend, stretches):
        if recorded.exchange < head.exchange or _is_summarised(recorded, found.compaction):
            return
        if (recorded.conversation_id, recorded.version) in found.redacted:
            continue
        event = recorded.event()
        if not isinstance(event, Erased | Unrecognised) and event.line in lines:
            yield event


def _is_summarised(recorded: RecordedEvent, compaction: Compaction | None) -> bool:
    if compaction is None or compaction.recorded.conversation_id != recorded.conversation_id:
        return False
    return recorded.version <= compaction.event.until
