"""The view `usage`: the tokens of a tenant by day, API and model.

Rows are sums, kept by part of the log (two workers never write to the same one) and added up when
they are read. All lines count, and interrupted responses too: each was paid for. The day is that of
`recorded_at`, in UTC. A response that names neither a model nor a count is not counted: so are the
samples beside the first one, whose tokens that has.

Erasing and redacting change no sums: numbers of tokens say nothing of what was said. But what was
erased cannot be counted again, so a rebuild counts what conversations that are forgotten had used
no more.

Bedrock's answers name no model, so that which each of its requests asked is kept until it is
answered, in a row of its own: `request` is empty in all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Any, Final

from onrecord.domain.head import MOST_TOKENS
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.log import RecordedEvent
from onrecord.projections.plain import plain_of
from onrecord.projections.views.usage_members import count_of, name_of, usage_members
from onrecord.projections.views.view import Changes, Passage, Row


@dataclass(frozen=True, slots=True)
class Usage:
    """The view `usage`: sums by day, API and model, and the requests whose answers name no model."""

    name: str = "usage"
    revision: int = 1
    strict: bool = False
    types: frozenset[str] = frozenset(
        {"request.sent", "response.completed", "response.interrupted"}
    )

    def wanted(self, passage: Passage) -> list[Row]:
        """Return the requests, sent before, whose answers name no model."""
        answers = (_answered(event) for event in passage.events if event.type != _REQUEST)
        sent = {str(event.event_id) for event in passage.events}
        return [
            {"conversation_id": str(passage.conversation_id), "request": request}
            for request in dict.fromkeys(answers)
            if request is not None and request not in sent
        ]

    def fold(self, passage: Passage, known: Sequence[Row]) -> Changes:
        """Return what is to be added, and the requests that are asked now, or answered."""
        asked = {row["request"]: row for row in known}
        before = set(asked)
        sums: dict[tuple[str, str, str], Row] = {}
        for event in passage.events:
            if event.type != _REQUEST:
                _count(passage, event, asked, sums)
            elif _is_nameless(event):
                asked[str(event.event_id)] = _asked(passage, event)
        open_requests = (row for request, row in asked.items() if request not in before)
        answered = tuple({"request": request} for request in sorted(before - set(asked)))
        return Changes(put=(*sums.values(), *open_requests), drop=answered)


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
    told: dict[str, Any] = {name: row[name] for name in (*COUNTS, "api")}
    day: str | None = row.get("day")
    return ModelUsage(
        day=None if day is None else date.fromisoformat(day), model=row["model"] or None, **told
    )


_REQUEST: Final = "request.sent"
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
    passage: Passage,
    event: RecordedEvent,
    asked: dict[str, Row],
    sums: dict[tuple[str, str, str], Row],
) -> None:
    """Add what a response used."""
    plain = _plain(event)
    counts = (plain.get("input_tokens"), plain.get("output_tokens"))
    model: str = plain.get("model") or ""
    if not model and _is_nameless(event) and plain.get("request") in asked:
        model = asked.pop(plain["request"])["model"]
    if not model and counts == (None, None):
        return
    key = (day_of(event.recorded_at), name_of(plain["api"]), name_of(model))
    row = sums.get(key) or sums.setdefault(key, _row(passage, key))
    members = usage_members(plain["api"], plain.get("envelope", {}))
    for column, count in zip(COUNTS, (1, *map(count_of, counts), *members), strict=True):
        row[column] = min(row[column] + count, MOST_TOKENS)


def _asked(passage: Passage, event: RecordedEvent) -> Row:
    plain = _plain(event)
    model = name_of(plain.get("model") or "")
    return {
        **_row(passage, (day_of(event.recorded_at), plain["api"], model)),
        "conversation_id": str(passage.conversation_id),
        "request": str(event.event_id),
    }


def _row(passage: Passage, key: tuple[str, str, str]) -> Row:
    day, api, model = key
    place = {"tenant": str(passage.tenant), "day": day, "api": api, "model": model}
    return {**place, "conversation_id": None, "request": "", **dict.fromkeys(COUNTS, 0)}


def _plain(event: RecordedEvent) -> JsonObject:
    """Return the members of an event; none of one that is erased, or of a later release."""
    plain = plain_of(event)
    return plain if isinstance(plain, dict) else {}


@lru_cache(maxsize=64)
def _day(number: int) -> str:
    """Return a day by its number since 1970-01-01, as `2026-11-21`."""
    return date.fromordinal(_EPOCH + number).isoformat()
