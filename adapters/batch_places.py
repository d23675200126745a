"""Where batches are recorded: conversations that are named by their ids tell it, to any process."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final, NamedTuple
from uuid import UUID

from onrecord.adapters.journal import Journal
from onrecord.adapters.journals import Journals
from onrecord.adapters.writing import append_first
from onrecord.domain.events import AnnotationAdded

logger = logging.getLogger("onrecord")

_IN: Final = "conversation"
_OF: Final = "batch"
_FROM: Final = "requests"


class BatchName(NamedTuple):
    """What a batch is known by, and what its requests are: its id too, or that of their file."""

    batch_id: str
    requests_id: str


def has_requests(journals: Journals, requests_id: str) -> bool:
    """Whether the requests of a batch are recorded, or were."""
    return journals.find(key_of(requests_id)) is not None


def keep_file(journals: Journals, file: str, name: BatchName) -> bool:
    """Say in the conversation that is named by a file of results whose they are; raises nothing.

    Only of a batch whose requests are recorded, and once. Returns whether it was said now.
    """
    try:
        named = journals.find(key_of(name.requests_id))
        place = None if named is None else place_in(named)
        if place is not None and journals.find(key_of(file)) is None:
            labels = {_IN: str(place), _OF: name.batch_id, _FROM: name.requests_id}
            _label(journals, file, labels)
            return True
    except Exception:
        logger.critical(
            "which batch a file of results is of could not be noted: they are recorded through a "
            "client alone that is asked for the batch before",
            exc_info=True,
        )
    return False


def batch_of(journals: Journals, file: str) -> BatchName | None:
    """Return the batch that a file has the results of; None where nobody said so."""
    named = journals.find(key_of(file))
    labels: Mapping[str, str] = {} if named is None else _labels_in(named)
    if _OF not in labels or _FROM not in labels:
        return None
    return BatchName(labels[_OF], labels[_FROM])


def keep_place(journals: Journals, journal: Journal, requests_id: str) -> None:
    """Say in the conversation that is named by a batch where its requests are; raises nothing."""
    try:
        _label(journals, requests_id, {_IN: str(journal.talk.conversation_id)})
    except Exception:
        logger.critical(
            "where a batch is recorded could not be noted: its results are found through a client "
            "alone that is recorded for the same conversation",
            exc_info=True,
        )


def place_in(named: Journal) -> UUID | None:
    """Return the conversation that has the requests of a batch, as that named by it says."""
    place = _labels_in(named).get(_IN)
    return None if place is None else UUID(place)


def _label(journals: Journals, name: str, labels: dict[str, str]) -> None:
    talk = journals.keyed(key_of(name)).talk
    append_first(talk, (talk.draft(AnnotationAdded(labels=labels)),), None)


def _labels_in(named: Journal) -> Mapping[str, str]:
    """Return what the conversation that is named by a batch, or a file, says of it."""
    for recorded in named.talk.backend.read(named.talk.conversation_id):
        event = recorded.event()
        if isinstance(event, AnnotationAdded) and _is_id(event.labels.get(_IN)):
            return event.labels
    return {}


def _is_id(label: str | None) -> bool:
    """Whether a label is an id: anybody may annotate a conversation of this name."""
    try:
        UUID(label or "")
    except ValueError:
        return False
    return True


def key_of(name: str) -> str:
    """Return the key of the conversation that is named by a batch, or a file."""
    return f"batch/{name}"
