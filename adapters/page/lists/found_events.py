"""Events that say some words, in the conversations that the other filters of the list let in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from onrecord.adapters.service.view_queries import OverviewQuery, PageQuery
from onrecord.adapters.store import Store
from onrecord.projections.views.search import Hit

_FILTERS: Final = OverviewQuery.model_fields.keys() - PageQuery.model_fields.keys() - {"key"}


def conversation_filters(query: OverviewQuery) -> Mapping[str, Any]:
    """Return the filters of a query that are about conversations, those alone that are asked."""
    filters = {name: getattr(query, name) for name in _FILTERS}
    return {name: value for name, value in filters.items() if value is not None}


def hits_within(store: Store, hits: Iterable[Hit], query: OverviewQuery) -> tuple[Hit, ...]:
    """Return the hits in conversations that a query lets in: a look at each conversation of them."""
    matches, filters = tuple(hits), conversation_filters(query)
    if query.key is not None:
        matches = tuple(hit for hit in matches if hit.key == query.key)
    if not filters:
        return matches
    look = store.views.conversations
    keys = {hit.key for hit in matches if hit.key is not None}
    fitting = {key for key in keys if len(look(**filters, key=key, limit=1))}
    return tuple(hit for hit in matches if hit.key in fitting)
