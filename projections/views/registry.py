"""The views that there are, by name: the table that everything else goes by; and what a store's views may hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from onrecord.domain.errors import InvalidInput
from onrecord.projections.views.audit import AUDIT
from onrecord.projections.views.conversations import CONVERSATIONS
from onrecord.projections.views.search import SEARCH
from onrecord.projections.views.tool_ledger import TOOL_LEDGER
from onrecord.projections.views.usage import USAGE
from onrecord.projections.views.view import (
    ALL_COLUMNS,
    NO_TEXT,
    NOTHING,
    Changes,
    EventBatch,
    Row,
    View,
)
from onrecord.projections.views.window import WINDOW


def register(views: Iterable[View], table: dict[str, View]) -> dict[str, View]:
    """Add views to a table, and return it; InvalidInput for a name that another view has."""
    for view in views:
        if table.setdefault(view.name, view) is not view:
            raise InvalidInput(f"there is a view `{view.name}` already: give yours another name")
    return table


VIEWS: Final[Mapping[str, View]] = register(
    (AUDIT, CONVERSATIONS, USAGE, SEARCH, TOOL_LEDGER, WINDOW), {}
)
"""Each maintained view. A store's own table begins with these; projections of one's own join it there."""


@dataclass(frozen=True, slots=True)
class Textless:
    """A view in an encrypted store: its rows without what was said; no rows where they would be nothing.

    Its revision is the negative of the view's, so rows with and without text are of different folds.
    """

    view: View

    @property
    def name(self) -> str:
        """Return the view's word."""
        return self.view.name

    @property
    def revision(self) -> int:
        """Return the number of the fold: below 0."""
        return -self.view.revision

    @property
    def strict(self) -> bool:
        """Return whether it stands still at an event that it cannot fold."""
        return self.view.strict

    @property
    def types(self) -> frozenset[str]:
        """Return the stored names of the events that it takes."""
        return self.view.types

    @property
    def texts(self) -> frozenset[str]:
        """Return nothing: no column holds text."""
        return NO_TEXT

    def wanted(self, batch: EventBatch) -> list[Row]:
        """Return the keys of the rows that folding a batch has to know."""
        return [] if self._is_empty else self.view.wanted(batch)

    def fold(self, batch: EventBatch, known: Sequence[Row]) -> Changes:
        """Return what a batch changes, without texts."""
        if self._is_empty:
            return NOTHING
        changes = self.view.fold(batch, known)
        return replace(changes, put=tuple(map(self._without_text, changes.put)))

    @property
    def _is_empty(self) -> bool:
        return self.view.texts == ALL_COLUMNS

    def _without_text(self, row: Row) -> Row:
        return row | dict.fromkeys(row.keys() & self.view.texts)


@dataclass(frozen=True, slots=True)
class TextPolicy:
    """Which views of a store may hold what conversations say: in an encrypted one those named in `allowed`."""

    is_encrypted: bool = False
    allowed: frozenset[str] = frozenset()

    def allows(self, view: View) -> bool:
        """Whether a view may hold all of its columns here."""
        return not self.is_encrypted or view.name in self.allowed or not view.texts

    def view(self, view: View) -> View:
        """Return a maintained view as it is kept here."""
        return view if self.allows(view) else Textless(view)

    def views(self) -> dict[str, View]:
        """Return a new table of the maintained views, as they are kept here."""
        return {name: self.view(view) for name, view in VIEWS.items()}

    def must_allow(self, view: View) -> None:
        """Refuse what a view answers by text, where it may hold none; InvalidInput says how it is allowed."""
        if not self.allows(view):
            raise InvalidInput(
                f"this store is encrypted, and {view.name} may hold no text of conversations: put {view.name} "
                "in ONRECORD_PLAIN_VIEWS to allow it (docs/views.md)"
            )


EVERYTHING: Final = TextPolicy()
"""The policy of a store that is not encrypted: every view holds its text."""
