"""The views that there are, by name: the table that everything else goes by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from onrecord.domain.errors import InvalidInput
from onrecord.projections.views.audit import AUDIT
from onrecord.projections.views.conversations import CONVERSATIONS
from onrecord.projections.views.search import SEARCH
from onrecord.projections.views.tool_ledger import TOOL_LEDGER
from onrecord.projections.views.usage import USAGE
from onrecord.projections.views.view import View
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
