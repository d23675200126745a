"""Prices that the environment names, for the page."""

from __future__ import annotations

from dataclasses import dataclass

from onrecord.adapters.settings import prices_given
from onrecord.domain.errors import InvalidInput
from onrecord.projections.views.usage import Prices


@dataclass(frozen=True, slots=True)
class PagePrices:
    """What tokens cost; `problem` says what is wrong with the file that names it."""

    prices: Prices
    problem: str | None = None

    @property
    def are_named(self) -> bool:
        """Return whether some model has a price."""
        return bool(self.prices.entries)


def page_prices() -> PagePrices:
    """Return the prices of `$ONRECORD_PRICES`; a file that cannot be read costs no page."""
    try:
        return PagePrices(prices_given(None))
    except InvalidInput as error:
        return PagePrices(Prices(), str(error))
