"""Which call of the tool ledger a result is of.

It is told as everywhere (projections/rounds.py, projections/server_tools.py): by the version that it
names; else it is of the last call of its id, on its own line if there is one, and of several in one
response the first that has no result. A provider's tool may give an id that no call has: then it is
of the last call of that tool that waits.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from onrecord.domain.jsontext import JsonObject
from onrecord.projections.views.texts import indexed
from onrecord.projections.views.view import Row

NAMES: Final = 0
"""The version of the row that keeps names: no event has it."""

TOOL: Final = "tool"
SERVER_TOOL: Final = "server tool"


class LedgerCalls:
    """The rows that a fold knows of; `changed` are those that it changed, by version."""

    def __init__(self, known: Sequence[Row]) -> None:
        """Begin with what is known."""
        self.changed: dict[int, Row] = {}
        self._rows: dict[int, Row] = {}
        self._of_id: defaultdict[str, set[int]] = defaultdict(set)
        self._of_response: defaultdict[str | None, set[int]] = defaultdict(set)
        self._waiting: set[int] = set()
        for row in known:
            self._note(row)

    def put(self, row: Row) -> None:
        """Change a row, or add one."""
        self.changed[row["version"]] = row
        self._note(row)

    def at(self, version: int) -> Row | None:
        """Return the row of a version."""
        return self._rows.get(version)

    def of_response(self, response: str) -> list[Row]:
        """Return the calls that a response made."""
        return [self._rows[version] for version in self._of_response.get(response, ())]

    def answered(self, told: JsonObject) -> Row | None:
        """Return the call that a result of the caller's tools is of."""
        if "call" in told:
            return None if told["call"] == NAMES else self._rows.get(told["call"])
        line = told.get("line")
        calls = [self._rows[version] for version in self._of_id.get(indexed(told["call_id"]), ())]
        last = _last(row for row in calls if row["line"] == line) or _last(calls)
        if last is None or last["response"] is None:
            return last
        alike = (row for row in calls if row["response"] == last["response"])
        open_ = (row for row in alike if row["result_version"] is None)
        return min(open_, key=_version, default=last)

    def waiting(self, call_id: str, name: str, line: str | None) -> Row | None:
        """Return the call of a provider's tool that a result with this id and name is of."""
        calls = [self._rows[version] for version in self._waiting]
        waiting = [row for row in calls if row["line"] == line]
        same_id = _last(row for row in waiting if row["call_id"] == call_id)
        return same_id or _last(row for row in waiting if row["name"] == name)

    def last_result(self, version: int) -> Row | None:
        """Return the row with the last result that was recorded up to a version."""
        answered = [row for row in self._rows.values() if row["result_version"] is not None]
        before = (row for row in answered if row["result_version"] <= version)
        return max(before, key=_result_version, default=None)

    def _note(self, row: Row) -> None:
        version: int = row["version"]
        is_new = version not in self._rows
        self._rows[version] = row
        if version == NAMES:
            return
        if row["kind"] == SERVER_TOOL:
            (self._waiting.add if row["status"] == "open" else self._waiting.discard)(version)
        elif is_new and row["result_version"] != version:  # Else it is a result without a call.
            self._of_id[row["call_id"]].add(version)
        if is_new and row["response"] is not None:
            self._of_response[row["response"]].add(version)


def _last(rows: Iterable[Row]) -> Row | None:
    return max(rows, key=_version, default=None)


def _version(row: Row) -> int:
    version: int = row["version"]
    return version


def _result_version(row: Row) -> int:
    version: int = row["result_version"]
    return version
