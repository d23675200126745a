"""The views that there are, by name: the one table that everything else goes by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hansard.projections.views.audit import AUDIT
from hansard.projections.views.conversations import CONVERSATIONS
from hansard.projections.views.search import SEARCH
from hansard.projections.views.tool_ledger import TOOL_LEDGER
from hansard.projections.views.usage import USAGE
from hansard.projections.views.view import View
from hansard.projections.views.window import WINDOW

VIEWS: Final[Mapping[str, View]] = {
    view.name: view for view in (AUDIT, CONVERSATIONS, USAGE, SEARCH, TOOL_LEDGER, WINDOW)
}
"""Each maintained view."""
