"""Routes of the views: lists, searches, sums and audits, a page at a time."""

from __future__ import annotations

from typing import Any, Final

from pydantic import BaseModel
from starlette.responses import Response

from onrecord.adapters.presentation.view_entries import entry_document
from onrecord.adapters.service.model import Empty
from onrecord.adapters.service.route import Call, Route, answered, reading
from onrecord.adapters.service.view_entries import (
    AuditDocument,
    AuditPage,
    HitEntry,
    HitPage,
    InForceDocument,
    InForcePage,
    OverviewEntry,
    OverviewPage,
    ToolCallDocument,
    ToolCallPage,
    UsageEntry,
    UsagePage,
)
from onrecord.adapters.service.view_queries import (
    AuditQuery,
    ConversationQuery,
    InForceQuery,
    OverviewQuery,
    SearchQuery,
    ToolCallQuery,
    UsageDays,
    UsageQuery,
)
from onrecord.adapters.views.pages import Page


async def conversations(call: Call[OverviewQuery, Empty]) -> Response:
    """Return conversations at a glance."""
    page = await call.store.views.conversations(**_members(call.query))
    entries = [OverviewEntry(**entry_document(each)) for each in page]
    return answered(OverviewPage(entries=entries, **_state(page)))


async def search(call: Call[SearchQuery, Empty]) -> Response:
    """Return events that say something."""
    page = await call.store.views.search(**_of_conversation(call.query))
    entries = [HitEntry(**entry_document(each)) for each in page]
    return answered(HitPage(entries=entries, **_state(page)))


async def usage(call: Call[UsageQuery, Empty]) -> Response:
    """Return the tokens that models used, by day."""
    page = await call.store.views.usage(**_members(call.query))
    entries = [UsageEntry(**entry_document(each)) for each in page]
    return answered(UsagePage(entries=entries, **_state(page)))


async def usage_total(call: Call[UsageDays, Empty]) -> Response:
    """Return the tokens that models used on all days together."""
    page = await call.store.views.usage_total(**_members(call.query))
    entries = [UsageEntry(**entry_document(each)) for each in page]
    return answered(UsagePage(entries=entries, **_state(page)))


async def tool_calls(call: Call[ToolCallQuery, Empty]) -> Response:
    """Return the calls of tools."""
    page = await call.store.views.tool_calls(**_of_conversation(call.query))
    entries = [ToolCallDocument(**entry_document(each)) for each in page]
    return answered(ToolCallPage(entries=entries, **_state(page)))


async def audit(call: Call[AuditQuery, Empty]) -> Response:
    """Return who did what and when."""
    page = await call.store.views.audit(**_of_conversation(call.query))
    entries = [AuditDocument(**entry_document(each)) for each in page]
    return answered(AuditPage(entries=entries, **_state(page)))


async def in_force(call: Call[InForceQuery, Empty]) -> Response:
    """Return which conversations ran under a rule."""
    page = await call.store.views.in_force(**_members(call.query))
    entries = [InForceDocument(**entry_document(each)) for each in page]
    return answered(InForcePage(entries=entries, **_state(page)))


def _members(query: BaseModel) -> dict[str, Any]:
    """Return the members of a query, as the views take them."""
    return {name: getattr(query, name) for name in type(query).model_fields}


def _of_conversation(query: ConversationQuery) -> dict[str, Any]:
    members = _members(query)
    del members["conversation_id"]
    return members | {"conversation": query.which()}


def _state(page: Page[Any]) -> dict[str, Any]:
    return {
        "after": page.after,
        "position": page.position,
        "behind": page.behind,
        "parked": page.parked,
        "stopped": page.stopped,
        "encrypted": list(page.encrypted),
    }


ROUTES: Final[tuple[Route[Any, Any], ...]] = (
    reading(
        *("/v1/conversations", "conversations", "Which conversations are there?"),
        *(conversations, OverviewPage),
        query=OverviewQuery,
    ),
    reading(
        *("/v1/search", "search", "Which events say something?"),
        *(search, HitPage),
        query=SearchQuery,
    ),
    reading(
        *("/v1/usage", "usage", "Which tokens did models use, by day?"),
        *(usage, UsagePage),
        query=UsageQuery,
    ),
    reading(
        *("/v1/usage/total", "usageTotal", "Which tokens did models use in all?"),
        *(usage_total, UsagePage),
        query=UsageDays,
    ),
    reading(
        *("/v1/tool-calls", "toolCalls", "Which calls of tools were there?"),
        *(tool_calls, ToolCallPage),
        query=ToolCallQuery,
    ),
    reading(
        *("/v1/audit", "audit", "Who did what, and when?"),
        *(audit, AuditPage),
        query=AuditQuery,
    ),
    reading(
        *("/v1/in-force", "inForce", "Which conversations ran under a rule?"),
        *(in_force, InForcePage),
        query=InForceQuery,
    ),
)
