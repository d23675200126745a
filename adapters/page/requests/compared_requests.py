"""Two requests of a conversation, read to be compared: one that was sent, as it was sent."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from onrecord.adapters.conversation.conversation import Conversation, stream_of
from onrecord.adapters.conversation.history_queries import documents_held, event_at
from onrecord.adapters.page.requests.comparison import (
    ComparisonView,
    Documents,
    Side,
    comparison_view,
)
from onrecord.adapters.page.requests.document_view import document_view, sources_of
from onrecord.adapters.page.requests.request_reading import (
    LOOKED_THROUGH,
    Wish,
    content_of,
    ending,
    length_of,
    redacted_later,
)
from onrecord.adapters.page.requests.sent_requests import request_at
from onrecord.adapters.page.requests.shown_request import AS_SENT, Choice, plan
from onrecord.adapters.streams.event_reading import read_through
from onrecord.adapters.streams.lineage import amendments
from onrecord.domain.log import RecordedEvent
from onrecord.projections.history.responses import Place
from onrecord.projections.matching.request_diff import RequestContent, compare


def read_comparison(
    conversation: Conversation, before: Wish, after: Wish, *, is_as_sent: bool
) -> ComparisonView:
    """Return how two requests differ.

    `is_as_sent`: where a request was sent at the version of the one before, it is that one, under the
    options it was sent with, whichever its API. So is the one after if its API is `sent`.
    """
    is_sent = before.api == AS_SENT or (is_as_sent and _was_sent(conversation, before.at))
    one = _as_sent(conversation, before) if is_sent else _side(conversation, before)
    other = _as_sent(conversation, after) if after.api == AS_SENT else _side(conversation, after)
    read = partial(event_at, stream_of(conversation))
    diff = compare(other.api, one.content, other.content, read)
    documents = _documents(conversation, one.content, other.content)
    until = max(one.content.version, other.content.version)
    return comparison_view(diff, one, other, documents, _redacted_behind(conversation, until))


def _redacted_behind(conversation: Conversation, version: int) -> dict[Place, int]:
    """Return the versions that redacted events of a conversation, or of its origins, behind a version."""
    stream = stream_of(conversation)
    applied = amendments(stream.backend, stream.lineage(version)).redacted
    return redacted_later(stream.backend, stream.lineages().whole(version), applied)


def _was_sent(conversation: Conversation, version: int | None) -> bool:
    sent = None if version is None else request_at(conversation, version)
    return sent is not None and not sent.is_aside


def _side(conversation: Conversation, wish: Wish) -> Side:
    _, content = content_of(conversation, wish)
    return Side(wish.at or content.version, wish.api, is_as_sent=False, content=content)


def _as_sent(conversation: Conversation, wish: Wish) -> Side:
    """Return the request that was sent at a version, or else one that is made as the last one was."""
    at = conversation.head().version if wish.at is None else wish.at
    planned = plan(conversation, Choice(at))
    return replace(_side(conversation, planned.wish), is_as_sent=planned.is_as_sent)


def _documents(conversation: Conversation, one: RequestContent, other: RequestContent) -> Documents:
    """Return where each document of the last events is in two requests."""
    stream = stream_of(conversation)
    until = max(one.version, other.version)
    whole, main = stream.lineages().whole(until), stream.lineage(until)
    looked_through = ending(whole, LOOKED_THROUGH)
    recorded: dict[Place, RecordedEvent] = {
        (event.conversation_id, event.version): event
        for event in read_through(stream.backend, looked_through)
    }
    before, after = (
        partial(document_view, sources=sources_of(recorded, content.blocks()), content=content)
        for content in (one, other)
    )
    last = ending(main, LOOKED_THROUGH)
    return Documents(
        pairs=tuple((before(each), after(each)) for each in documents_held(stream.backend, last)),
        not_looked_through=length_of(main) - length_of(last),
    )
