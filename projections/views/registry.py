"""The views that there are, by name: the one table that everything else goes by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from onrecord.projections.views.audit import AUDIT
from onrecord.projections.views.conversations import CONVERSATIONS
from onrecord.projections.views.search import SEARCH
from onrecord.projections.views.tool_ledger import TOOL_LEDGER
from onrecord.projections.views.usage import USAGE
from onrecord.projections.views.view import View
from onrecord.projections.views.window import WINDOW

VIEWS: Final[Mapping[str, View]] = {
    view.name: view for view in (AUDIT, CONVERSATIONS, USAGE, SEARCH, TOOL_LEDGER, WINDOW)
}
"""Each maintained view."""
