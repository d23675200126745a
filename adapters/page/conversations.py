"""The list of conversations, the one that moved last first."""

from __future__ import annotations

from typing import Any, Final

from starlette.responses import Response

from onrecord.adapters.page.answers import shown
from onrecord.adapters.page.routes import paged
from onrecord.adapters.service.model import Empty
from onrecord.adapters.service.route import Call, Route
from onrecord.adapters.service.view_queries import OverviewQuery


async def conversations(call: Call[OverviewQuery, Empty]) -> Response:
    """Return the page that lists conversations."""
    members = {name: getattr(call.query, name) for name in OverviewQuery.model_fields}
    page = await call.store.views.conversations(**members)
    return shown(call, "conversations.html", page=page, entries=tuple(page))


ROUTES: Final[tuple[Route[Any, Any], ...]] = (
    paged("/", "pageConversations", "List conversations.", conversations, OverviewQuery),
)
