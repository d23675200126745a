"""Prices that the environment names, for the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from onrecord.adapters.settings import prices_given
from onrecord.domain.errors import InvalidInput
from onrecord.projections.views.usage import Prices


@dataclass(frozen=True, slots=True)
class PagePrices:
    """What tokens cost; `state` says whether a file names it, or cannot be read."""

    prices: Prices
    state: Literal["named", "none", "unreadable"]


_NONE: Final = PagePrices(Prices(), "none")
_UNREADABLE: Final = PagePrices(Prices(), "unreadable")


def page_prices() -> PagePrices:
    """Return the prices of `$ONRECORD_PRICES`; a file that cannot be read costs no page."""
    try:
        prices = prices_given(None)
    except InvalidInput:
        return _UNREADABLE
    return PagePrices(prices, "named") if prices.entries else _NONE
