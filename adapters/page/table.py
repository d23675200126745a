"""The table of the page's routes, beside that of the service's."""

from __future__ import annotations

from typing import Any, Final

from onrecord.adapters.page import conversation, conversations, requests, static_files
from onrecord.adapters.service.route import Route

PAGE_ROUTES: Final[tuple[Route[Any, Any], ...]] = (
    *conversations.ROUTES,
    *conversation.ROUTES,
    *requests.ROUTES,
    *static_files.ROUTES,
)
