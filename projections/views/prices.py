"""What tokens cost: by the caller's own prices, for none come with Onrecord; they change too often.

A file of prices is TOML, a table a model, in dollars per million tokens:

    [models."claude-sonnet-*"]
    input = 3
    output = 15
    cached_input = 0.30
    cache_write = 3.75

The entry of a model is found by its name as that of its capabilities is (capabilities.py): an id
before all patterns, of these the longest that matches; `id`, `pattern` and `aliases` say which names
an entry is for, where its key does not. Other rates, such as those of long prompts, of batches or of
a provider's own tools, are not known here.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Final, cast

from pydantic import Field, ValidationError

from onrecord.domain.content import Value
from onrecord.domain.errors import InvalidInput
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.capabilities import entry_for
from onrecord.projections.capability_entries import MODELS, Entry, entries_in
from onrecord.projections.views.usage import ModelUsage

_MILLION: Final = 1_000_000
_WHERE: Final = "prices"

_Dollars = Annotated[Decimal, Field(ge=0, allow_inf_nan=False)]


class Price(Value):
    """Dollars per million tokens of a model.

    What was read from a cache, or written to one, costs as other input does where it has no price.
    """

    input: _Dollars
    output: _Dollars
    cached_input: _Dollars | None = None
    cache_write: _Dollars | None = None


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices by model."""

    entries: tuple[Entry, ...] = ()

    def of(self, model: str | None) -> Price | None:
        """Return the price of a model, by any of its names; None where there is none."""
        found = entry_for(model, self.entries) if model else None
        return None if found is None else _price(found[1])


def prices_in(tables: JsonObject) -> Prices:
    """Return the prices that a file's tables hold.

    InvalidInput, with the entry and the reason, where they have not their shape.
    """
    for name in tables.keys() - {MODELS}:
        raise InvalidInput(f'{name}: prices stand by model, in [{MODELS}."NAME"]')
    models: Any = tables.get(MODELS, {})
    if not isinstance(models, dict):
        raise InvalidInput(f"{MODELS}: is no table")
    for name, plain in cast("JsonObject", models).items():
        if not isinstance(plain, dict):
            raise InvalidInput(f"{MODELS}.{name}: is no table")
    entries = entries_in(_WHERE, {}, tables)
    for entry in entries:
        _price(entry)
    return Prices(entries)


def cost_of(usage: ModelUsage, prices: Prices) -> Decimal | None:
    """Return what a model's tokens cost, in dollars, exactly; None where it has no price."""
    price = prices.of(usage.model)
    if price is None:
        return None
    cached, written = usage.cached_tokens, usage.cache_write_tokens
    # Servers are known that count what came from a cache beside what was read.
    fresh = max(usage.input_tokens - cached - written, 0)
    cached_price = price.input if price.cached_input is None else price.cached_input
    write_price = price.input if price.cache_write is None else price.cache_write
    told = (
        *((fresh, price.input), (usage.output_tokens, price.output)),
        *((cached, cached_price), (written, write_price)),
    )
    return sum((count * dollars for count, dollars in told), Decimal()) / _MILLION


def _price(entry: Entry) -> Price:
    try:
        return Price.model_validate(entry.told)
    except ValidationError as exc:
        first = exc.errors(include_url=False, include_input=False)[0]
    names = ", ".join((*entry.ids, *(pattern.text for pattern in entry.patterns)))
    place = ".".join(map(str, (names, *first["loc"])))
    if first["type"] == "extra_forbidden":
        raise InvalidInput(f"{place}: is not one of {', '.join(Price.model_fields)}")
    raise InvalidInput(f"{place}: {first['msg']}")
