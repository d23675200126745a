"""What the log says is redacted and a view has not folded yet: no answer of the view quotes it.

Only the conversations of an answer's own rows are looked at, and only where the view is behind, or where one
of them is parked. What a redacted event said is gone from a row as if the view had folded that.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final
from uuid import UUID

from onrecord.adapters.views.ports import PageRows
from onrecord.domain.events import ContentRedacted
from onrecord.domain.log import Log, RecordedEvent
from onrecord.projections.views.audit import AUDIT
from onrecord.projections.views.audit_facts import NOT_TOLD
from onrecord.projections.views.conversations import CONVERSATIONS
from onrecord.projections.views.search import RESULTS, SEARCH
from onrecord.projections.views.tool_call_rows import ALL_GONE, RESULT_GONE
from onrecord.projections.views.tool_ledger import TOOL_LEDGER
from onrecord.projections.views.view import Row, View
from onrecord.projections.views.window import WINDOW

Versions = Collection[int]

_A_PAGE: Final = 256
_OF_CONTENT: Final = frozenset(("name", "arguments_digest"))
"""Filters that find a call by what it says."""

_OF_EVENT: Final = frozenset(("model", "tool", "outcome", "document", "sha256"))
"""Filters that find an entry of the audit by what its event says."""


def conversations_quoted(view: View, rows: Iterable[Row]) -> list[UUID]:
    """Return the conversations of the rows of a page; none where the view quotes nothing."""
    if view.name not in _HIDDEN:
        return []
    return [UUID(each) for each in dict.fromkeys(row["conversation_id"] for row in rows)]


def redactions_behind(log: Log, conversation_id: UUID, position: int) -> Iterator[RecordedEvent]:
    """Yield the redactions of a conversation behind a position of its shard, the last one first."""
    until = log.head(conversation_id).amended
    while until:
        page = log.pointed(conversation_id, "amended", until, _A_PAGE)
        late = [event for event in page if event.position > position]
        yield from late
        until = late[-1].version - 1 if len(late) == _A_PAGE else 0


def versions_redacted(redactions: Iterable[RecordedEvent]) -> Mapping[str, frozenset[int]]:
    """Return which versions are redacted, by their conversations."""
    versions = dict[str, frozenset[int]]()
    for recorded in redactions:
        event, of = recorded.event(), str(recorded.conversation_id)
        if isinstance(event, ContentRedacted) and event.version < recorded.version:
            versions[of] = versions.get(of, frozenset()) | {event.version}
    return versions


def without_redacted(view: View, filters: Row, page: PageRows, size: int) -> Sequence[Row]:
    """Return the first rows of a page without what is redacted by now."""
    rows = page.rows[:size]
    if not page.redacted:
        return rows
    hide = _HIDDEN[view.name]
    of = (page.redacted.get(row["conversation_id"]) for row in rows)
    shown = (hide(row, each, filters) if each else row for row, each in zip(rows, of, strict=True))
    return [row for row in shown if row is not None]


def _hit(row: Row, redacted: Versions, _filters: Row) -> Row | None:
    """Return a hit; results of tools are left out, for they may name a document that was redacted."""
    return None if row["version"] in redacted or row["type"] in RESULTS else row


def _call(row: Row, redacted: Versions, filters: Row) -> Row | None:
    if row["version"] in redacted:
        return None if _OF_CONTENT & filters.keys() else row | ALL_GONE
    first = row["result_version"]
    # The events of a result's documents come right behind it, and its text names them.
    if first is not None and _are_any(redacted, first, first + row["documents"]):
        return row | RESULT_GONE
    return row


def _conversation(row: Row, redacted: Versions, _filters: Row) -> Row:
    return row | {"title": None} if row["title_version"] in redacted else row


def _exchange(row: Row, redacted: Versions, _filters: Row) -> Row:
    """Return an exchange; a row says not which event of it gave the answer, so any takes it away."""
    first = row["first_version"]
    prompt = None if first in redacted else row["prompt"]
    has_more = _are_any(redacted, first + 1, row["last_version"])
    return row | {"prompt": prompt, "answer": None if has_more else row["answer"]}


def _entry(row: Row, redacted: Versions, filters: Row) -> Row | None:
    """Return an entry of the audit, or a conversation that ran under a rule.

    A label may be what was redacted, and a conversation under a rule counts events that may be: with these
    filters nothing of such a conversation is found.
    """
    is_conversation = "version" not in row
    if "label" in filters or (is_conversation and _OF_EVENT & filters.keys()):
        return None
    if is_conversation or row["version"] not in redacted:
        return row
    return None if _OF_EVENT & filters.keys() else row | NOT_TOLD


def _are_any(versions: Versions, first: int, last: int) -> bool:
    return any(first <= version <= last for version in versions)


_HIDDEN: Final[Mapping[str, Callable[[Row, Versions, Row], Row | None]]] = {
    AUDIT.name: _entry,
    SEARCH.name: _hit,
    TOOL_LEDGER.name: _call,
    CONVERSATIONS.name: _conversation,
    WINDOW.name: _exchange,
}
