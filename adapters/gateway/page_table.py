"""The table of the page's routes, beside that of the service's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from onrecord.adapters.page import file_routes
from onrecord.adapters.page.approvals import routes as approvals
from onrecord.adapters.page.conversation import (
    conversation,
    event_page,
    live,
    time_pages,
    word_search,
)
from onrecord.adapters.page.lists import audit, conversations, operations, usage
from onrecord.adapters.page.proof import log_verification, proof
from onrecord.adapters.page.proof.verification import Verifications
from onrecord.adapters.page.requests import requests
from onrecord.adapters.page.share import routes as sharing
from onrecord.adapters.page.visitors import issuer_sign_in, issuer_sign_out, sign_in
from onrecord.adapters.page.visitors.issuer_sign_in import IssuerSignIn
from onrecord.adapters.page.visitors.visitors import Visitors, problem_or_sign_in
from onrecord.adapters.service.route import Route

PAGE_ROUTES: Final[tuple[Route[Any, Any], ...]] = (
    *conversations.ROUTES,
    *audit.ROUTES,
    *usage.ROUTES,
    *operations.ROUTES,
    *conversation.ROUTES,
    *time_pages.ROUTES,
    *word_search.ROUTES,
    *event_page.ROUTES,
    *sharing.ROUTES,
    *live.ROUTES,
    *approvals.ROUTES,
    *requests.ROUTES,
    *file_routes.ROUTES,
)
"""Routes that need a key, and files that anybody may have."""


def page_routes(
    visitors: Visitors, verifications: Verifications, issuer: IssuerSignIn | None = None
) -> tuple[Route[Any, Any], ...]:
    """Return all routes of the page, for these visitors, who may sign in by keys or by an issuer."""
    verifying = (*proof.routes_of(verifications), *log_verification.routes_of(verifications))
    bounded = (*verifying, *sharing.routes_of())
    guarded = (
        replace(route, access=visitors.access, problem=problem_or_sign_in)
        for route in (*PAGE_ROUTES, *bounded)
    )
    if issuer is None:
        return (*guarded, *sign_in.routes_of(visitors))
    return (
        *guarded,
        *sign_in.routes_of(visitors, issuer.issuer),
        *issuer_sign_in.routes_of(issuer, visitors),
        issuer_sign_out.route_of(visitors, issuer.issuer, issuer.logouts),
    )
