"""The page of what a conversation's responses and calls took, and its totals."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal

from starlette.responses import Response

from onrecord.adapters.asynchronous.store import store_of
from onrecord.adapters.page.answers import rendered
from onrecord.adapters.page.conversation.conversation import named_by
from onrecord.adapters.page.conversation.time_tables import (
    By,
    Extremes,
    Ranking,
    Totals,
    extremes_of,
    ranked_calls,
    ranked_responses,
    totals_of,
)
from onrecord.adapters.page.conversation.times import CallTime, ResponseTime, Times, times_of
from onrecord.adapters.page.conversation.waterfall import Waterfall, waterfall_of
from onrecord.adapters.page.prices import PagePrices, page_prices
from onrecord.adapters.page.routes import get_route
from onrecord.adapters.presentation.conversations import NamedConversation
from onrecord.adapters.service.model import Empty
from onrecord.adapters.service.route import Call, Route
from onrecord.adapters.service.routes.conversations import At
from onrecord.adapters.store import Store, backend_of


class TimesQuery(At):
    """From which version on the bars are shown, and what the tables are sorted by."""

    by: Literal["time", "cost", "tokens", "size"] = "time"
    """What the tables are sorted by, the most first; a table without it goes by time."""


@dataclass(frozen=True, slots=True)
class ShownTimes:
    """A conversation's totals, what took and cost most in it, a stretch of its bars, and its tables."""

    totals: Totals
    extremes: Extremes
    is_later: bool
    waterfall: Waterfall
    calls: Ranking[CallTime]
    responses: Ranking[ResponseTime]


async def times(call: Call[TimesQuery, Empty]) -> Response:
    """Return the page of what the responses and the calls of a conversation took."""
    conversation, conversation_times, prices = await call.steps.run_long(
        partial(_times, store_of(call.store), call.path["key"])
    )
    page = shown_times(conversation_times, call.query.by, call.query.at or 1)
    return await rendered(
        *(call, "times.html"),
        name=str(conversation),
        key=conversation.key,
        page=page,
        prices=prices,
        at=call.query.at,
        by=call.query.by,
    )


async def totals(call: Call[Empty, Empty]) -> Response:
    """Return the fragment of a conversation's totals."""
    conversation, conversation_times, prices = await call.steps.run_long(
        partial(_times, store_of(call.store), call.path["key"])
    )
    return await rendered(
        *(call, "_totals.html"),
        name=str(conversation),
        totals=totals_of(conversation_times),
        prices=prices,
    )


def shown_times(times: Times, by: By, at: int) -> ShownTimes:
    """Return what the page shows of times: tables by a column, and the bars from a version on."""
    return ShownTimes(
        totals=totals_of(times),
        extremes=extremes_of(times),
        is_later=times.is_later,
        waterfall=waterfall_of(times, at),
        calls=ranked_calls(times.calls, by),
        responses=ranked_responses(times.responses, by),
    )


def _times(store: Store, name: str) -> tuple[NamedConversation, Times, PagePrices]:
    conversation, prices = named_by(store, name), page_prices()
    recorded = backend_of(store).read(conversation.conversation_id, until=conversation.head.version)
    return conversation, times_of(recorded, prices.prices), prices


ROUTES: Final[tuple[Route[Any, Any], ...]] = (
    get_route(
        *("/c/{key}/times", "pageTimes", "What took long, and what cost most?"),
        *(times, TimesQuery),
    ),
    get_route("/c/{key}/totals", "pageTotals", "What did a conversation take in all?", totals),
)
