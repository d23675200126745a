"""The view `usage`: the tokens of a tenant by day, API and model.

Rows are sums, kept by part of the log (two workers never write to the same one) and added up when
they are read. All lines count, and interrupted responses too: each was paid for. The day is that of
`recorded_at`, in UTC. A response that names neither a model nor a count is not counted: so are the
samples beside the first one, whose tokens that has.

Erasing and redacting change no sums: numbers of tokens say nothing of what was said. But what was
erased cannot be counted again, so a rebuild counts what conversations that are forgotten had used
no more.

Bedrock's answers name no model, so that which each of its requests asked is kept until it is
answered, in a row of its own: `request` is empty in all sums.

Answers that items of frameworks tell of count under the framework's name in the place of an API. Where
several items may tell of one answer, what was counted of it is kept in such a row too: it counts once,
with the highest of each count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import lru_cache, reduce
from typing import Annotated, Any, Final, NamedTuple, TypeAlias, cast
from uuid import uuid5

from pydantic import Field

from onrecord.domain.content import Value
from onrecord.domain.errors import InvalidInput
from onrecord.domain.head import MOST_TOKENS
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.log import RecordedEvent
from onrecord.projections.api import Path, UsagePlaces, api_of
from onrecord.projections.apis.capabilities import MODELS, Entry, entries_in, entry_for, read_as
from onrecord.projections.frameworks.framework import ItemUsage
from onrecord.projections.frameworks.registry import framework_of
from onrecord.projections.history.responses import plain_of
from onrecord.projections.members import member, token_count
from onrecord.projections.views.view import NO_TEXT, Changes, EventBatch, Row, storable

# What providers say of tokens beside the two counts that every response has; `Api.usage` of each
# says where. Ollama tells nothing of it. What Anthropic lists as `iterations` (an advisor's, a
# compaction's) is not counted.


class UsageMembers(NamedTuple):
    """Counts of tokens that are part of what was read (`cached`, `cache_writes`) or written.

    `cached` came from a cache, `cache_writes` went into one, `reasoning` was thought. 0 where
    nobody told.
    """

    cached: int = 0
    cache_writes: int = 0
    reasoning: int = 0


_LONGEST: Final = 200
"""Characters of a name: PostgreSQL's indexes take no row of more than 2,704 bytes."""


def usage_members(api: str, envelope: JsonObject) -> UsageMembers:
    """Return what the envelope of a response says of its tokens besides."""
    known = api_of(api)
    places = known.usage if known else UsagePlaces()
    return UsageMembers(*(_first_count(envelope, paths) for paths in places))


def _first_count(envelope: JsonObject, paths: tuple[Path, ...]) -> int:
    """Return the first count at some paths that is not 0; 0 where there is none."""
    for path in paths:
        if count := count_of(reduce(member, path, envelope)):
            return count
    return 0


def count_of(value: object) -> int:
    """Return a count of tokens that can be one, else 0: a server, or an import, may say anything."""
    return token_count(value) or 0


def name_of(text: str) -> str:
    """Return the name of an API or a model as rows have it: storable, of at most 200 characters."""
    return storable(text[:_LONGEST])


_REQUEST: Final = "request.sent"
_ITEM: Final = "item.recorded"


@dataclass(frozen=True, slots=True)
class Usage:
    """The view `usage`: sums by day, API and model, and the requests whose answers name no model."""

    name: str = "usage"
    revision: int = 3
    strict: bool = False
    types: frozenset[str] = frozenset(
        {"request.sent", "response.completed", "response.interrupted", _ITEM}
    )
    texts: frozenset[str] = NO_TEXT

    def wanted(self, batch: EventBatch) -> list[Row]:
        """Return the requests, sent before, whose answers name no model, and the answers of items."""
        events = batch.events
        answers = (_answered(event) for event in events if event.type not in (_REQUEST, _ITEM))
        told = (_place(batch, event, usage) for event in events for usage in _told(event))
        sent = {str(event.event_id) for event in events}
        return [
            {"conversation_id": str(batch.conversation_id), "request": request}
            for request in dict.fromkeys((*answers, *told))
            if request and request not in sent
        ]

    def fold(self, batch: EventBatch, known: Sequence[Row]) -> Changes:
        """Return what is to be added, and the requests that are asked now, or answered."""
        before = {row["request"]: row for row in known}
        requests = dict(before)
        sums: _Sums = {}
        for event in batch.events:
            if event.type == _ITEM:
                _count_item(batch, event, requests, sums)
            elif event.type != _REQUEST:
                _count(batch, event, requests, sums)
            elif _is_nameless(event):
                requests[str(event.event_id)] = _asked(batch, event)
        changed = (row for request, row in requests.items() if row is not before.get(request))
        gone = (request for request, row in before.items() if requests.get(request) is not row)
        return Changes(
            put=(*sums.values(), *changed),
            drop=tuple({"request": request} for request in sorted(gone)),
        )


USAGE: Final = Usage()


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """What a model used on a day, or in all (`day` is None); counts of tokens.

    `input_tokens` include `cached_tokens`, read from a cache, and `cache_write_tokens`, written to
    one; `output_tokens` include `reasoning_tokens`. `model` is None where nobody named it.
    """

    day: date | None
    api: str
    model: str | None
    responses: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cache_write_tokens: int
    reasoning_tokens: int


def model_usage(row: Row) -> ModelUsage:
    """Return what a model used, of a row of a page or of the totals."""
    members: dict[str, Any] = {name: row[name] for name in (*COUNTS, "api")}
    day: str | None = row.get("day")
    return ModelUsage(
        day=None if day is None else date.fromisoformat(day), model=row["model"] or None, **members
    )


_NAMELESS: Final = b'"api":"bedrock-converse"'
_BEGINNING: Final = 256
"""Bytes of a body in which its API stands: bodies are canonical, and only ids come before it."""

COUNTS: Final = (
    *("responses", "input_tokens", "output_tokens"),
    *("cached_tokens", "cache_write_tokens", "reasoning_tokens"),
)
"""The columns that are sums."""

_DAY: Final = 86_400_000_000
_EPOCH: Final = date(1970, 1, 1).toordinal()


def day_of(recorded_at: int) -> str:
    """Return the day, in UTC, by which an event is counted."""
    return _day(recorded_at // _DAY)


def _is_nameless(event: RecordedEvent) -> bool:
    """Whether an event is of an API whose answers name no model."""
    return event.body is not None and _NAMELESS in event.body[:_BEGINNING]


def _answered(event: RecordedEvent) -> str | None:
    """Return the request of an answer that names no model."""
    plain = _plain(event) if _is_nameless(event) else {}
    return None if plain.get("model") else plain.get("request")


def _count(
    batch: EventBatch,
    event: RecordedEvent,
    requests: dict[str, Row],
    sums: _Sums,
) -> None:
    plain = _plain(event)
    counts = (plain.get("input_tokens"), plain.get("output_tokens"))
    model: str = plain.get("model") or ""
    if not model and _is_nameless(event) and plain.get("request") in requests:
        model = requests.pop(plain["request"])["model"]
    if not model and counts == (None, None):
        return
    key = (day_of(event.recorded_at), name_of(plain["api"]), name_of(model))
    members = usage_members(plain["api"], plain.get("envelope", {}))
    _add(sums, _row(batch, key), (1, *map(count_of, counts), *members))


_Sums: TypeAlias = dict[tuple[str, str, str], Row]


def _add(sums: _Sums, empty: Row, counts: Sequence[int]) -> None:
    """Add counts to the sum of a day, an API and a model."""
    row = sums.setdefault((empty["day"], empty["api"], empty["model"]), empty)
    for column, count in zip(COUNTS, counts, strict=True):
        row[column] = min(row[column] + count, MOST_TOKENS)


# What items tell of.


def _count_item(
    batch: EventBatch, event: RecordedEvent, known: dict[str, Row], sums: _Sums
) -> None:
    """Count what the answers of an item took, less what is counted of them already."""
    for usage in _told(event):
        framework = name_of(_plain(event)["framework"])
        empty = _row(batch, (day_of(event.recorded_at), framework, name_of(usage.model)))
        place = _place(batch, event, usage)
        counts = (1, *usage.counts)
        if not place:
            _add(sums, empty, counts)
            continue
        counted = known.get(place, empty)
        before = [counted[column] for column in COUNTS]
        most = [max(pair) for pair in zip(before, counts, strict=True)]
        if most != before:
            _add(sums, empty, [now - then for now, then in zip(most, before, strict=True)])
            of = {"conversation_id": str(batch.conversation_id), "request": place}
            known[place] = {**empty, **of, **dict(zip(COUNTS, most, strict=True))}


def _told(event: RecordedEvent) -> tuple[ItemUsage, ...]:
    """Return what an item tells of answers; what is kept beside its stream tells of none."""
    plain = _plain(event) if event.type == _ITEM else {}
    if not plain or "beside" in plain:
        return ()
    return tuple(framework_of(plain["framework"]).usages(plain["item"]))


def _place(batch: EventBatch, event: RecordedEvent, usage: ItemUsage) -> str:
    """Return where what was counted of an answer is kept; empty where no other item tells of it."""
    if usage.answer is None:
        return ""
    return str(uuid5(batch.conversation_id, f"{_plain(event)['framework']}:{usage.answer}"))


def _asked(batch: EventBatch, event: RecordedEvent) -> Row:
    plain = _plain(event)
    model = name_of(plain.get("model") or "")
    return {
        **_row(batch, (day_of(event.recorded_at), plain["api"], model)),
        "conversation_id": str(batch.conversation_id),
        "request": str(event.event_id),
    }


def _row(batch: EventBatch, key: tuple[str, str, str]) -> Row:
    day, api, model = key
    place = {"tenant": str(batch.tenant), "day": day, "api": api, "model": model}
    return {**place, "conversation_id": None, "request": "", **dict.fromkeys(COUNTS, 0)}


def _plain(event: RecordedEvent) -> JsonObject:
    """Return the members of an event; none of one that is erased, or of a later release."""
    plain = plain_of(event)
    return plain if isinstance(plain, dict) else {}


@lru_cache(maxsize=64)
def _day(number: int) -> str:
    """Return a day by its number since 1970-01-01, as `2026-11-21`."""
    return date.fromordinal(_EPOCH + number).isoformat()


# What tokens cost: by the caller's own prices, for none come with Onrecord; they change too
# often.
#
# A file of prices is TOML, a table a model, in dollars per million tokens:
#
#     [models."claude-sonnet-*"]
#     input = 3
#     output = 15
#     cached_input = 0.30
#     cache_write = 3.75
#
# The entry of a model is found by its name as that of its capabilities is (capabilities.py): an
# id before all patterns, of these the longest that matches; `id`, `pattern` and `aliases` say
# which names an entry is for, where its key does not. Other rates, such as those of long prompts,
# of batches or of a provider's own tools, are not known here.

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
        entry = entry_for(model, self.entries) if model and self.entries else None
        return None if entry is None else _price(entry[1])


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
    costs = (
        *((fresh, price.input), (usage.output_tokens, price.output)),
        *((cached, cached_price), (written, write_price)),
    )
    return sum((count * dollars for count, dollars in costs), Decimal()) / _MILLION


def _price(entry: Entry) -> Price:
    names = ", ".join((*entry.ids, *(pattern.text for pattern in entry.patterns)))
    return read_as(Price, names, entry.values)
