"""How long the responses and the tool calls of a conversation took, and what they used; pure."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final, NamedTuple
from uuid import UUID

from onrecord.adapters.page.conversation.waits import ASKED, DECIDED, Wait, Waits
from onrecord.domain.encoding import Erased, Unrecognised
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.log import RecordedEvent
from onrecord.domain.new_events import blobs_of
from onrecord.projections.history.responses import plain_of
from onrecord.projections.views.tool_call_rows import NAMES, LedgerRows
from onrecord.projections.views.tool_ledger import (
    TOOL_LEDGER,
    Kind,
    Status,
    ToolCallEntry,
    ledger_call_of,
)
from onrecord.projections.views.usage import ModelUsage, Prices, cost_of, count_of, usage_members
from onrecord.projections.views.view import EventBatch

_LATE: Final = 60_000_000
"""An event that was recorded more than a minute after it happened was brought here later."""

_REQUEST: Final = "request.sent"
_OF_CALLS: Final = frozenset(
    {
        *("tool_call.recorded", "tool_result.recorded", "item.recorded"),
        *("server_tool_call.recorded", "server_tool_result.recorded"),
    }
)
_RESULTS: Final = frozenset({"tool_result.recorded", "server_tool_result.recorded"})
_ENDS: Final = frozenset({"response.completed", "response.interrupted"})
_NOBODY: Final = UUID(int=0)
_REFERENCE: Final = b'"size":'
"""Each reference to a blob has one."""


@dataclass(frozen=True, slots=True)
class ResponseTime:
    """A response: when its request was sent, when its end was recorded, and what it used.

    `version` is that of its end, `request` that of its request. `began` is None where the request is
    not known, `usage` where nobody told of tokens, `cost` also where the model has no price. `ending`
    is the stop reason, or why it was interrupted.
    """

    version: int
    request: int | None
    exchange: int
    line: UUID | None
    began: int | None
    ended: int
    model: str | None
    ending: str | None
    is_whole: bool
    usage: ModelUsage | None
    cost: Decimal | None

    @property
    def first_version(self) -> int:
        """Return the version of its first event."""
        return self.version if self.request is None else self.request

    @property
    def duration(self) -> int | None:
        """Return the time from its request to its end, in microseconds."""
        return duration_of(self.began, self.ended)

    @property
    def tokens(self) -> int | None:
        """Return how many tokens went in and out."""
        return None if self.usage is None else self.usage.input_tokens + self.usage.output_tokens


class Growth(NamedTuple):
    """By how many tokens the next response read more than the one that made a call.

    `calls` is how many calls had their results in between, this one too.
    """

    tokens: int
    calls: int


@dataclass(frozen=True, slots=True)
class CallTime:
    """A call of a tool: when it was recorded, when its result was, and how large that is.

    `size` are the bytes of the result's event and of what that refers to; None without a result, and
    where an event holds several things. `wait` is how long a person was waited for, if one was asked.
    """

    version: int
    exchange: int
    line: UUID | None
    began: int
    ended: int | None
    name: str | None
    kind: Kind
    status: Status
    response: UUID | None
    result_version: int | None
    size: int | None
    wait: Wait | None = None
    growth: Growth | None = None

    @property
    def first_version(self) -> int:
        """Return the version of its first event."""
        return self.version

    @property
    def duration(self) -> int | None:
        """Return the time from the call, or the last decision about it, to its result, in microseconds."""
        return duration_of(self.began if self.wait is None else self.wait.ended_at, self.ended)

    @property
    def tokens(self) -> int | None:
        """Return by how many tokens the next response read more."""
        return None if self.growth is None else self.growth.tokens


@dataclass(frozen=True, slots=True)
class Times:
    """The responses and the calls of a conversation, in order, and when it began and last moved.

    `is_later` says that the first event was recorded later than it happened: an import brought it.
    """

    is_later: bool
    began: int
    ended: int
    responses: tuple[ResponseTime, ...]
    calls: tuple[CallTime, ...]


def duration_of(began: int | None, ended: int | None) -> int | None:
    """Return the time from one to the other; None where one is not known, or where both are the same.

    What was recorded at one go says nothing of how long it took, and clocks may be set back.
    """
    if began is None or ended is None or ended <= began:
        return None
    return ended - began


def times_of(recorded: Iterable[RecordedEvent], prices: Prices) -> Times:
    """Return how long what a conversation's events tell of took; what was erased tells nothing."""
    fold = _Fold(prices)
    for event in recorded:
        fold.take(event)
    return fold.times()


def times_by_version(times: Times) -> Mapping[int, CallTime | ResponseTime]:
    """Return the calls and the responses by their versions, but not the several of one event."""
    entries: list[CallTime | ResponseTime] = [*times.calls, *times.responses]
    several = Counter(each.version for each in entries)
    return {each.version: each for each in entries if several[each.version] == 1}


class _CallEvent(NamedTuple):
    """When an event was, in microseconds, in which exchange, and how many bytes it has."""

    at: int
    exchange: int
    size: int


class _Request(NamedTuple):
    version: int
    at: int
    model: str | None


class _Fold:
    """Takes in events in order and keeps what the times are made of."""

    def __init__(self, prices: Prices) -> None:
        self._prices = prices
        self._ledger = LedgerRows(EventBatch(_NOBODY, _NOBODY, ()), (), keeps_texts=False)
        self._call_events: dict[int, _CallEvent] = {}
        self._requests: dict[str | None, _Request] = {}
        self._waits = Waits()
        self._responses: dict[str, ResponseTime] = {}
        self._first: RecordedEvent | None = None
        self._last: RecordedEvent | None = None
        self._is_later = False

    def take(self, event: RecordedEvent) -> None:
        if self._first is None:
            # An import brings a conversation from its first event on; headers are slow to read.
            self._first = event
            self._is_later = _is_late(event, event.client_header().occurred_at)
        self._last = event
        members = self._ledger.take(event) if event.type in TOOL_LEDGER.types else None
        if event.type in _OF_CALLS:
            self._call_events[event.version] = _CallEvent(
                self._time_of(event), event.exchange, _size(event)
            )
        elif event.type in (ASKED, DECIDED):
            self._waits.take(_members(event), self._time_of(event))
        elif event.type == _REQUEST:
            model = _members(event).get("model")
            request = _Request(event.version, self._time_of(event), model)
            self._requests[str(event.event_id)] = request
        elif event.type in _ENDS and members is not None:
            self._end(event, members)

    def times(self) -> Times:
        if self._first is None or self._last is None:
            return Times(is_later=False, began=0, ended=0, responses=(), calls=())
        responses = list(self._responses.values())
        rows = self._ledger.calls.changed.values()
        entries = [ledger_call_of(row) for row in rows if row["version"] != NAMES]
        calls = [self._call(entry) for entry in entries]
        return Times(
            began=self._time_of(self._first),
            ended=self._time_of(self._last),
            responses=tuple(responses),
            calls=tuple(_with_growth(calls, self._responses)),
            is_later=self._is_later,
        )

    def _time_of(self, event: RecordedEvent) -> int:
        """Return when an event was: by the log's clock, or by its writer's where an import brought it."""
        if not self._is_later:
            return event.recorded_at
        occurred_at = event.client_header().occurred_at
        return occurred_at if _is_late(event, occurred_at) else event.recorded_at

    def _end(self, event: RecordedEvent, members: JsonObject) -> None:
        request = self._requests.get(members.get("request"))
        requested_model = request.model if request else None
        model = members.get("model") or requested_model
        usage = _usage(members, model)
        line = members.get("line")
        self._responses[members["response"]] = ResponseTime(
            version=event.version,
            request=request.version if request else None,
            exchange=event.exchange,
            line=UUID(line) if line else None,
            began=request.at if request else None,
            ended=self._time_of(event),
            model=model,
            ending=members.get("stop_reason") or members.get("reason"),
            is_whole=event.type == "response.completed",
            usage=usage,
            cost=cost_of(usage, self._prices) if usage else None,
        )

    def _call(self, entry: ToolCallEntry) -> CallTime:
        call = self._call_events[entry.version]
        result_version = entry.result_version
        result = None
        if result_version is not None and result_version != entry.version:
            result = self._call_events[result_version]
        ended = result.at if result else None
        return CallTime(
            version=entry.version,
            exchange=call.exchange,
            line=entry.line,
            began=call.at,
            ended=ended,
            name=entry.name,
            kind=entry.kind,
            status=entry.status,
            response=entry.response,
            result_version=result_version,
            size=result.size if result and result.size else None,
            wait=self._waits.wait_for(entry.version, ended),
        )


def _is_late(event: RecordedEvent, occurred_at: int) -> bool:
    return event.recorded_at - occurred_at > _LATE


def _members(event: RecordedEvent) -> JsonObject:
    plain = plain_of(event)
    return plain if isinstance(plain, dict) else {}


def _usage(members: JsonObject, model: str | None) -> ModelUsage | None:
    """Return what a response used; None where nobody told."""
    counts = (members.get("input_tokens"), members.get("output_tokens"))
    if counts == (None, None):
        return None
    api: str = members["api"]
    usage = usage_members(api, members.get("envelope", {}))
    return ModelUsage(
        day=None,
        api=api,
        model=model,
        responses=1,
        input_tokens=count_of(counts[0]),
        output_tokens=count_of(counts[1]),
        cached_tokens=usage.cached,
        cache_write_tokens=usage.cache_writes,
        reasoning_tokens=usage.reasoning,
    )


def _size(event: RecordedEvent) -> int:
    """Return the bytes of a result; 0 of other events, and of items, which may hold several."""
    if event.type not in _RESULTS or event.body is None:
        return 0
    if _REFERENCE not in event.body:
        return len(event.body)
    happened = event.event()
    blobs = () if isinstance(happened, Unrecognised | Erased) else blobs_of(happened)
    return len(event.body) + sum(blob.size for blob in blobs)


def _with_growth(
    calls: Sequence[CallTime], responses: Mapping[str, ResponseTime]
) -> Iterator[CallTime]:
    """Yield calls with the tokens by which the next response read more."""
    by_line: defaultdict[UUID | None, list[ResponseTime]] = defaultdict(list)
    for response in responses.values():
        by_line[response.line].append(response)
    for each in by_line.values():
        each.sort(key=_first_version)
    following = [_following(call, by_line[call.line]) for call in calls]
    rounds = Counter(
        (call.response, later.version)
        for call, later in zip(calls, following, strict=True)
        if later is not None
    )
    for call, later in zip(calls, following, strict=True):
        before = responses.get(str(call.response))
        more = None if later is None or before is None else _more(before, later)
        if more is None or later is None:
            yield call
        else:
            growth = Growth(more, rounds[call.response, later.version])
            yield replace(call, growth=growth)


def _following(call: CallTime, responses: Sequence[ResponseTime]) -> ResponseTime | None:
    """Return the first response whose request was sent after a call's result."""
    if call.result_version is None:
        return None
    index = bisect_right(responses, call.result_version, key=_first_version)
    return responses[index] if index < len(responses) else None


def _more(before: ResponseTime, later: ResponseTime) -> int | None:
    """Return how many tokens more a response read; None where they cannot be compared."""
    if before.usage is None or later.usage is None or before.model != later.model:
        return None
    more = later.usage.input_tokens - before.usage.input_tokens
    return more if more > 0 and before.usage.input_tokens else None


def _first_version(response: ResponseTime) -> int:
    return response.first_version
