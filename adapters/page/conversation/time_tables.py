"""What took longest, used most or is largest in a conversation, and its totals; pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, Generic, Literal, TypeAlias, TypeVar

from onrecord.adapters.page.conversation.times import CallTime, ResponseTime, Times

By: TypeAlias = Literal["time", "cost", "tokens", "size"]
"""What the tables are sorted by, the most first."""

MOST: Final = 200
"""The most rows of a table."""

EntryT = TypeVar("EntryT", CallTime, ResponseTime)


@dataclass(frozen=True, slots=True)
class Ranking(Generic[EntryT]):
    """The first entries of a table by one of its columns, and how many there are in all."""

    by: By
    entries: tuple[EntryT, ...]
    count: int


def ranked_calls(calls: Iterable[CallTime], by: By) -> Ranking[CallTime]:
    """Return the calls that took most, made the next response read most, or gave most."""
    return _ranking(calls, by, _CALL_VALUES)


def ranked_responses(responses: Iterable[ResponseTime], by: By) -> Ranking[ResponseTime]:
    """Return the responses that took most, cost most, or used most tokens."""
    return _ranking(responses, by, _RESPONSE_VALUES)


_CALL_VALUES: Final[Mapping[By, Callable[[CallTime], Decimal | int | None]]] = {
    "time": lambda call: call.duration,
    "tokens": lambda call: call.tokens,
    "size": lambda call: call.size,
}
_RESPONSE_VALUES: Final[Mapping[By, Callable[[ResponseTime], Decimal | int | None]]] = {
    "time": lambda response: response.duration,
    "cost": lambda response: response.cost,
    "tokens": lambda response: response.tokens,
}


def _ranking(
    entries: Iterable[EntryT],
    by: By,
    values: Mapping[By, Callable[[EntryT], Decimal | int | None]],
) -> Ranking[EntryT]:
    """Sort a table by a column; one that has no such column goes by time."""
    column: By = by if by in values else "time"

    def sort_key(entry: EntryT) -> tuple[bool, Decimal | int, int]:
        value = values[column](entry)
        return value is None, -(value or 0), entry.version

    ordered = sorted(entries, key=sort_key)
    return Ranking(column, tuple(ordered[:MOST]), len(ordered))


@dataclass(frozen=True, slots=True)
class Extremes:
    """The call and the response that took longest, and those that weigh most; None where nothing tells.

    Behind the heaviest call the next response grew most; the dearest response costs most. The call with the longest
    wait waited for a person longest.
    """

    slowest_call: CallTime | None
    longest_wait: CallTime | None
    heaviest_call: CallTime | None
    slowest_response: ResponseTime | None
    dearest_response: ResponseTime | None


def extremes_of(times: Times) -> Extremes:
    """Return what took longest and what weighs most in a conversation."""
    slow, heavy = (ranked_calls(times.calls, by).entries[:1] for by in ("time", "tokens"))
    long, dear = (ranked_responses(times.responses, by).entries[:1] for by in ("time", "cost"))
    waits = (call for call in times.calls if _waited(call))
    return Extremes(
        longest_wait=max(waits, key=_waited, default=None),
        slowest_call=next((call for call in slow if call.duration is not None), None),
        heaviest_call=next((call for call in heavy if call.growth is not None), None),
        slowest_response=next((each for each in long if each.duration is not None), None),
        dearest_response=next((each for each in dear if each.cost is not None), None),
    )


def _waited(call: CallTime) -> int:
    return 0 if call.wait is None else call.wait.total


@dataclass(frozen=True, slots=True)
class Totals:
    """What a conversation took and used in all, side branches and interrupted responses too.

    `elapsed` is the time from its first event to its last, `answering` what all responses took, `calling`
    what all calls took and `waiting` how long they waited for a person, added up; times in microseconds. Providers
    told of the tokens of `with_tokens` responses. `cost` is None where no response has a price; `unpriced` counts the responses
    with tokens that have none.
    """

    responses: int
    with_tokens: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cost: Decimal | None
    unpriced: int
    elapsed: int
    answering: int
    calls: int
    failed: int
    calling: int
    waiting: int


def totals_of(times: Times) -> Totals:
    """Return the totals of a conversation."""
    responses, calls = times.responses, times.calls
    used = [response.usage for response in responses if response.usage is not None]
    costs = [response.cost for response in responses if response.cost is not None]
    return Totals(
        responses=len(responses),
        with_tokens=len(used),
        input_tokens=sum(usage.input_tokens for usage in used),
        output_tokens=sum(usage.output_tokens for usage in used),
        cached_tokens=sum(usage.cached_tokens for usage in used),
        cost=sum(costs, Decimal()) if costs else None,
        unpriced=len(used) - len(costs),
        elapsed=max(0, times.ended - times.began),
        answering=sum(response.duration or 0 for response in responses),
        calls=len(calls),
        failed=sum(call.status == "failed" for call in calls),
        calling=sum(call.duration or 0 for call in calls),
        waiting=sum(map(_waited, calls)),
    )
