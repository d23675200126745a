"""The rows that a view keeps, compared with those that its events come to.

What is told of a difference names the view, its columns and numbers of rows, and nothing of what the
rows say.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple
from uuid import UUID

from onrecord.domain.errors import counted
from onrecord.domain.head import MOST_TOKENS
from onrecord.projections.verification.verification import Fault
from onrecord.projections.views.usage import COUNTS
from onrecord.projections.views.view import Row

Kind = Literal["missing", "surplus", "different"]
"""How a row is not what the events come to."""

_SUM_KEY: Final = ("generation", "tenant", "day", "api", "model", "request")

_KINDS: Final[tuple[Kind, ...]] = ("missing", "surplus", "different")


class Difference(NamedTuple):
    """A row that is not what the events come to; `columns` are those in which it differs."""

    kind: Kind
    version: int
    columns: tuple[str, ...] = ()


class UsageDay(NamedTuple):
    """The sums of a tenant on a day."""

    tenant: str
    day: str


@dataclass(frozen=True, slots=True)
class Erasures:
    """What was erased, as far as sums of tokens go: those keep what cannot be counted again.

    `responses` are how many responses are erased, by the sums in which they may be counted.
    `since` are the conversations that were erased while the sums were compared.
    """

    responses: Mapping[UsageDay, int] = field(default_factory=dict[UsageDay, int])
    since: Collection[str] = ()


def differences(expected: Iterable[Row], actual: Iterable[Row]) -> Iterator[Difference]:
    """Yield how the rows of a conversation differ; both come in order of version, and of ordinal."""
    left, right = iter(expected), iter(actual)
    expected_row, kept_row = next(left, None), next(right, None)
    while expected_row is not None or kept_row is not None:
        if kept_row is None or (
            expected_row is not None and _place(expected_row) < _place(kept_row)
        ):
            assert expected_row is not None
            yield Difference("missing", expected_row["version"])
            expected_row = next(left, None)
        elif expected_row is None or _place(kept_row) < _place(expected_row):
            yield Difference("surplus", kept_row["version"])
            kept_row = next(right, None)
        else:
            if columns := _other_columns(expected_row, kept_row):
                yield Difference("different", expected_row["version"], columns)
            expected_row, kept_row = next(left, None), next(right, None)


def _place(row: Row) -> tuple[int, int]:
    return row["version"], row.get("ordinal", 0)


def row_faults(
    view: str, conversation_id: UUID, all_differences: Iterable[Difference]
) -> list[Fault]:
    """Return a fault for each kind of difference, at the first version that has it."""
    first: dict[Kind, int] = {}
    counts: dict[Kind, int] = dict.fromkeys(_KINDS, 0)
    columns: set[str] = set()
    for difference in all_differences:
        first.setdefault(difference.kind, difference.version)
        counts[difference.kind] += 1
        columns.update(difference.columns)
    return [
        Fault(conversation_id, max(first[kind], 0), _told(view, kind, counts[kind], columns))
        for kind in _KINDS
        if kind in first
    ]


def sum_faults(expected: Iterable[Row], actual: Iterable[Row], erasures: Erasures) -> list[Fault]:
    """Return how the rows of `usage` differ from what can still be counted.

    Sums are kept by part of the log, in whichever a worker was, and added up as reading does.
    """
    left, right = _added_up(expected), _added_up(actual)
    counts: dict[Kind, int] = dict.fromkeys(_KINDS, 0)
    columns: set[str] = set()
    for key in left.keys() | right.keys():
        difference = _sum_difference(left.get(key), right.get(key), erasures)
        if difference is not None:
            counts[difference.kind] += 1
            columns.update(difference.columns)
    return [
        Fault(None, 0, _told("usage", kind, count, columns))
        for kind, count in counts.items()
        if count
    ]


def _added_up(rows: Iterable[Row]) -> dict[tuple[object, ...], Row]:
    sums: dict[tuple[object, ...], Row] = {}
    for row in rows:
        key = tuple(row[column] for column in _SUM_KEY)
        before = sums.get(key)
        if before is None:
            sums[key] = {name: row[name] for name in row if name not in ("shard", "part")}
            continue
        for count in COUNTS:
            before[count] = min(before[count] + row[count], MOST_TOKENS)
        if row["conversation_id"] != before["conversation_id"]:
            before["conversation_id"] = "several"
    return sums


def _sum_difference(
    expected: Row | None, actual: Row | None, erasures: Erasures
) -> Difference | None:
    if actual is None:
        return Difference("missing", 0)
    if actual["request"]:
        if expected is None:
            is_erased = actual["conversation_id"] in erasures.since
            return None if is_erased else Difference("surplus", 0)
        return _if_any(_other_columns(expected, actual))
    erased = erasures.responses.get(UsageDay(actual["tenant"], actual["day"]), 0)
    if expected is None:
        if not erased:
            return Difference("surplus", 0)
        expected = {**actual, "conversation_id": None, **dict.fromkeys(COUNTS, 0)}
    other = _other_columns(expected, actual)
    return _if_any(
        tuple(name for name in other if not erased or not _may_be(name, expected, actual, erased))
    )


def _may_be(name: str, expected: Row, actual: Row, erased: int) -> bool:
    """Return whether a count may be what it is, so many responses being erased since."""
    if name not in COUNTS:
        return False
    most = expected[name] + erased if name == "responses" else MOST_TOKENS
    return bool(expected[name] <= actual[name] <= most)


def _if_any(columns: tuple[str, ...]) -> Difference | None:
    return Difference("different", 0, columns) if columns else None


def _other_columns(expected: Row, actual: Row) -> tuple[str, ...]:
    """Return in which columns a kept row differs.

    One that the fold has no value of is an index of its database: the row says True if it holds.
    """
    return tuple(name for name, value in actual.items() if value != expected.get(name, True))


def _told(view: str, kind: Kind, count: int, columns: Collection[str]) -> str:
    rows = f"{counted(count, 'row')} {'is' if count == 1 else 'are'}"
    match kind:
        case "missing":
            return f"view {view}: {rows} missing"
        case "surplus":
            return f"view {view}: {rows} there that the events do not come to"
        case "different":
            which = ", ".join(sorted(columns))
            return f"view {view}: {rows} not what the events come to, in {which}"
