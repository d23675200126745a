"""Two requests of a conversation, read to be compared: one of them as it was sent, where it was."""

from __future__ import annotations

from functools import partial

from onrecord.adapters.conversation.conversation import Conversation, stream_of
from onrecord.adapters.conversation.history_queries import (
    event_at,
    recipe_content,
    request_content,
)
from onrecord.adapters.page.requests.comparison import ComparisonView, Side, comparison_view
from onrecord.adapters.page.requests.request_reading import Wish
from onrecord.adapters.page.requests.sent_requests import requests_sent
from onrecord.projections.matching.request_diff import compare


def read_comparison(
    conversation: Conversation, before: Wish, after: Wish, *, is_as_sent: bool
) -> ComparisonView:
    """Return how two requests differ.

    `is_as_sent`: where a request was sent at the version of the one before, it is that one, under the
    options it was sent with, whichever its API.
    """
    one = (_as_sent(conversation, before) if is_as_sent else None) or _side(conversation, before)
    other = _side(conversation, after)
    read = partial(event_at, stream_of(conversation))
    diff = compare(after.api, one.content, other.content, read)
    return comparison_view(diff, one, other)


def _side(conversation: Conversation, wish: Wish) -> Side:
    _, content = request_content(conversation, wish.at, wish.api, wish.window)
    return Side(content.version, wish.api, is_as_sent=False, content=content)


def _as_sent(conversation: Conversation, wish: Wish) -> Side | None:
    """Return the request that was sent at a version; None where none was, or a program made it."""
    for sent in requests_sent(conversation, wish.at, 1):
        if sent.version != wish.at:
            return None
        if sent.recipe is None:
            return _side(conversation, Wish(sent.api, wish.at))
        _, content = recipe_content(conversation, sent.recipe)
        return Side(sent.version, sent.api, is_as_sent=True, content=content)
    return None
