"""What models used by day: a plot, and the numbers of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from functools import partial
from typing import Any, Final
from urllib.parse import urlencode

from pydantic import field_validator
from starlette.responses import Response

from onrecord.adapters.asynchronous.store import store_of
from onrecord.adapters.page.answers import rendered
from onrecord.adapters.page.forms import none_if_blank
from onrecord.adapters.page.lists.usage_plot import (
    HEIGHT,
    MOST_DAYS,
    Measure,
    Plot,
    usage_plot,
)
from onrecord.adapters.page.prices import page_prices
from onrecord.adapters.page.routes import get_route
from onrecord.adapters.service.model import Empty
from onrecord.adapters.service.route import Call, Route
from onrecord.adapters.service.view_queries import UsageDays
from onrecord.adapters.store import Store
from onrecord.adapters.views.pages import MOST_ENTRIES, Page
from onrecord.projections.views.usage import ModelUsage, cost_of


class UsageListQuery(UsageDays):
    """Whose usage, on which days, and what the bars show; what a form leaves empty is not asked."""

    bars: Measure = "tokens"
    """Tokens by kind, tokens by model, or dollars by model."""

    _blanks = field_validator("api", "model", "since", "until", mode="before")(none_if_blank)


@dataclass(frozen=True, slots=True)
class UsageLine:
    """What a model used on a day, and what that cost in dollars, where its price is known."""

    used: ModelUsage
    cost: Decimal | None


@dataclass(frozen=True, slots=True)
class UsageTotal:
    """What all lines come to; `unpriced` counts those whose cost is not known."""

    responses: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    reasoning_tokens: int
    cost: Decimal
    unpriced: int


def total_of(lines: Sequence[UsageLine]) -> UsageTotal:
    """Return what lines come to."""
    used = [line.used for line in lines]
    costs = [line.cost for line in lines if line.cost is not None]
    return UsageTotal(
        responses=sum(each.responses for each in used),
        input_tokens=sum(each.input_tokens for each in used),
        cached_tokens=sum(each.cached_tokens for each in used),
        output_tokens=sum(each.output_tokens for each in used),
        reasoning_tokens=sum(each.reasoning_tokens for each in used),
        cost=sum(costs, Decimal()),
        unpriced=len(lines) - len(costs),
    )


@dataclass(frozen=True, slots=True)
class ShownUsage:
    """The usage of some days: `older` is the first of them where there are earlier ones."""

    page: Page[ModelUsage]
    plot: Plot
    lines: tuple[UsageLine, ...]
    older: date | None
    has_prices: bool
    problem: str | None

    @property
    def total(self) -> UsageTotal:
        """Return what the lines come to."""
        return total_of(self.lines)


async def usage(call: Call[UsageListQuery, Empty]) -> Response:
    """Return the page of what models used."""
    query = call.query
    page = await call.steps.run_long(partial(_usage, store_of(call.store), query))
    filters = query.model_dump(mode="json", exclude_defaults=True)
    older = None if page.older is None else urlencode({**filters, "until": page.older.isoformat()})
    return await rendered(
        call,
        "usage.html",
        page=page,
        filters=query,
        height=HEIGHT,
        is_filtered=bool(filters.keys() - {"bars"}),
        older=older,
    )


def whole_days(
    entries: Sequence[ModelUsage], *, has_more: bool
) -> tuple[tuple[ModelUsage, ...], date | None]:
    """Return the entries of the last days, each day whole, and the first day where there are earlier ones."""
    days = sorted({entry.day for entry in entries if entry.day is not None})
    if not days:
        return (), None
    cut = days[1:] if has_more and len(days) > 1 else days
    begin = cut[-1] - timedelta(days=MOST_DAYS - 1)
    kept = tuple(
        each for each in entries if each.day is not None and each.day >= max(begin, cut[0])
    )
    first = min(each.day for each in kept if each.day is not None)
    return kept, first if has_more or first > days[0] else None


def _usage(store: Store, query: UsageListQuery) -> ShownUsage:
    page = store.views.usage(
        api=query.api,
        model=query.model,
        since=query.since,
        until=query.until,
        limit=MOST_ENTRIES,
    )
    prices = page_prices()
    entries, older = whole_days(page.entries, has_more=page.after is not None)

    def cost(entry: ModelUsage) -> Decimal | None:
        return cost_of(entry, prices.prices)

    return ShownUsage(
        page=page,
        plot=usage_plot(entries, query.bars, cost),
        lines=tuple(UsageLine(entry, cost(entry)) for entry in entries),
        older=older,
        has_prices=prices.are_named,
        problem=prices.problem,
    )


ROUTES: Final[tuple[Route[Any, Any], ...]] = (
    get_route("/usage", "pageUsage", "Show what models used by day.", usage, UsageListQuery),
)
