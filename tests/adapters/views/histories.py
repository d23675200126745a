"""Anything that a log may hold of a few conversations, as a strategy: for properties of views.

Side branches, adoptions, redactions, rejected and late results, interrupted responses, erased events,
events of another release, texts that no database stores: all of them, in any order. Whether it
makes sense as a conversation is not the question; that a view folds it is.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple
from uuid import UUID, uuid4

from hypothesis import strategies as st
from uuid_utils.compat import uuid7

from onrecord.adapters.storage.memory.memory import Memory
from onrecord.domain.events import Event
from onrecord.domain.log import Append, NewEvent, RecordedEvent
from onrecord.domain.new_events import Stamp, draft
from tests.adapters.views.happenings import (
    beside,
    closings,
    items,
    messages,
    requests,
    results,
    server_tools,
    tool_calls,
    unrecognised,
)
from tests.adapters.views.row_stores import everything
from tests.factories import OCCURRED_AT, TENANT

BEGUN = 1_795_000_000_000_000
"""When the first event of a history is recorded, in microseconds; 2026-11-18."""

_ACTORS = (None, "a" * 32, "b" * 32)


class Happening(NamedTuple):
    """What happens next: in which conversation, by whom, how long after what was before."""

    conversation: int
    event: Event | NewEvent
    actor: str | None
    later: int


happenings = st.builds(
    Happening,
    st.integers(0, 2),
    st.one_of(
        *(messages, messages, tool_calls(), results(), server_tools(), closings()),
        *(beside(), beside(), beside(), items(), items(), unrecognised),
    ),
    st.sampled_from(_ACTORS),
    st.sampled_from([0, 1_000_000, 86_400_000_000]),
)

_asked = st.tuples(requests(), closings(), st.integers(0, 3))


@st.composite
def histories(draw: st.DrawFn, *, erasing: bool = True) -> list[RecordedEvent]:
    """All events of a log that a few conversations made, some of them forgotten since.

    A response to a request may come at once, or after what happens elsewhere in between.
    """
    told = draw(st.lists(happenings, min_size=1, max_size=14))
    for sent, closing, later in draw(st.lists(_asked, max_size=3)):
        conversation, at = draw(st.integers(0, 2)), draw(st.integers(0, len(told)))
        event = draft(sent, _stamp(UUID(int=conversation), None))
        answering = closing.model_copy(update={"request": event.event_id})
        told.insert(at, Happening(conversation, event, None, 0))
        told.insert(min(at + 1 + later, len(told)), Happening(conversation, answering, None, 0))
    forgotten = draw(st.sampled_from([None, None, 0])) if erasing else None
    return recorded(told, forgotten)


def recorded(told: Iterable[Happening], forgotten: int | None = None) -> list[RecordedEvent]:
    """What a log holds of this, one after the other; a conversation of it was forgotten at last."""
    log, ids = Memory(), [uuid4() for _ in range(3)]
    moments = [BEGUN]
    for happening in told:
        conversation_id = ids[happening.conversation]
        log.append([append_of(happening, conversation_id)])
        moments.append(moments[-1] + happening.later)
    if forgotten is not None:
        log.forget(ids[forgotten])
    return [event._replace(recorded_at=moments[event.position]) for event in everything(log)]


def append_of(happening: Happening, conversation_id: UUID) -> Append:
    """What a happening appends to its conversation."""
    event = happening.event
    if not isinstance(event, NewEvent):
        event = draft(event, _stamp(conversation_id, happening.actor))
    return Append(TENANT, conversation_id, (event,))


def _stamp(conversation_id: UUID, actor: str | None) -> Stamp:
    return Stamp(
        event_id=uuid7(),
        occurred_at=OCCURRED_AT,
        salt=secrets.token_bytes(16),
        tenant=TENANT,
        conversation_id=conversation_id,
        actor=actor,
    )


def pieces(history: Sequence[RecordedEvent]) -> st.SearchStrategy[list[int]]:
    """Sizes by which a history may be cut into steps: give them to `in_pieces`."""
    return st.lists(st.integers(1, 5), max_size=len(history))


Folded = Callable[[Sequence[Sequence[RecordedEvent]]], object]
"""What rows come of folding a history step by step; each call begins with no rows."""


def check_steps(
    history: Sequence[RecordedEvent], steps: Sequence[Sequence[RecordedEvent]], folded: Folded
) -> None:
    """Hold a view to its promise: however a history is cut into steps, its rows are the same."""
    at_once = folded([history])
    assert folded(steps) == at_once
    assert folded([[event] for event in history]) == at_once
