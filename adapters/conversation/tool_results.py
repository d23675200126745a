"""What a tool gave on its way into the log: its result, and the documents that were found in it."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from onrecord.adapters.conversation.lineage import backwards
from onrecord.adapters.conversation.result_values import GivenResult, Stored, given_result
from onrecord.adapters.conversation.results import Rejected, record_result
from onrecord.adapters.conversation.stream import Stream
from onrecord.adapters.conversation.writing import Done, stored_again
from onrecord.domain import conversation
from onrecord.domain.events import (
    DocumentExtracted,
    ToolCallRecorded,
    ToolResultRecorded,
    ToolsDeclared,
)
from onrecord.domain.header import NO_METADATA
from onrecord.domain.log import Recorded

logger = logging.getLogger("onrecord")

_CALL: Final = "tool_call.recorded"


def give_result(
    talk: Stream,
    call_id: str,
    content: object,
    *,
    is_error: bool = False,
    metadata: Mapping[str, str] = NO_METADATA,
) -> Done | Rejected:
    """Record what a tool gave, and the documents in it; `metadata` goes into the header.

    InvalidInput where no record can hold it: then nothing is stored.
    """
    given = given_result(content)

    def record() -> Done | Rejected:
        result, extracted = stored_result(talk, call_id, given, is_error=is_error)
        done = record_result(talk, result, extracted, metadata=metadata)
        if isinstance(done, Recorded):
            summarise(call_id, extracted)
        return done

    return stored_again(record)


def stored_result(
    talk: Stream, call_id: str, given: GivenResult, *, is_error: bool = False
) -> tuple[ToolResultRecorded, tuple[DocumentExtracted, ...]]:
    """Return what a tool gave as events, its documents stored."""
    is_error = is_error or given.is_error
    conversation.give_result(talk.known_head(), call_id, ())
    kept = given.stored(talk)
    (result,) = conversation.give_result(talk.known_head(), call_id, kept.parts, is_error=is_error)
    return result, _extracted(talk, call_id, kept)


def _extracted(talk: Stream, call_id: str, kept: Stored) -> tuple[DocumentExtracted, ...]:
    if not kept.documents:
        return ()
    name = _called_name(talk, call_id)
    return tuple(
        DocumentExtracted(document=document, call_id=call_id, tool_name=name, path=path)
        for document, path in kept.documents
    )


def _called_name(talk: Stream, call_id: str) -> str | None:
    """Return the caller's own name of the tool that a call is of; None where it is not known.

    Of the calls of an id it is the one that awaits its result, else the last of the conversation,
    or of what that was forked from.
    """
    # What reads calls takes a while to import, and most results hold no document.
    from onrecord.adapters.conversation.calls import awaited_calls
    from onrecord.adapters.conversation.reading import in_force
    from onrecord.projections.history.tool_names import given_names

    head = talk.head()
    if head.version == 0:
        return None
    stretches = talk.lineage(head.version, head)
    awaited = {call.id: call.name for call in awaited_calls(talk.backend, stretches, head)}
    if call_id in awaited:
        return awaited[call_id]
    for recorded in backwards(talk.backend, talk.lineages().whole(head.version)):
        event = recorded.event() if recorded.type == _CALL else None
        if isinstance(event, ToolCallRecorded) and event.call_id == call_id:
            declared = in_force(talk.backend, stretches, "tools")
            tools = declared.event() if declared else None
            names = given_names(tools if isinstance(tools, ToolsDeclared) else None)
            return names.get(event.name, event.name)
    return None


def summarise(call_id: str, extracted: Sequence[DocumentExtracted]) -> None:
    """Log how many documents of which types a result held, if any."""
    if not extracted:
        return
    types = Counter(found.document.media_type for found in extracted)
    logger.info(
        "%d documents were found in the result of call %s: %s",
        len(extracted),
        call_id,
        ", ".join(f"{count} of {media_type}" for media_type, count in sorted(types.items())),
    )
