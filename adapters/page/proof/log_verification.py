"""The verification of the whole log with its seals, for those who operate the service for all tenants."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from starlette.responses import Response

from onrecord.adapters.asynchronous.store import store_of
from onrecord.adapters.page.answers import rendered
from onrecord.adapters.page.proof.verification import (
    ShownVerification,
    Verifications,
    shown_verification,
)
from onrecord.adapters.page.routes import form_route
from onrecord.adapters.service.model import Empty
from onrecord.adapters.service.route import Call, Route
from onrecord.adapters.service.routes.upkeep import must_serve_all_tenants
from onrecord.adapters.store import Store, backend_of


async def log_verification(call: Call[Empty, Empty], verifications: Verifications) -> Response:
    """Return the page that says whether the whole log holds."""
    must_serve_all_tenants(call.access)
    done = await verifications.run(call, partial(_verification, store_of(call.store)))
    response = await rendered(call, "log_verification.html", verification=done)
    response.headers["cache-control"] = "no-store"
    return response


def routes_of(verifications: Verifications) -> tuple[Route[Any, Any], ...]:
    """Return the route that verifies the whole log."""
    verify = partial(log_verification, verifications=verifications)
    path, summary = "/operations/verification", "Verify the whole log."
    return (
        replace(form_route("operate", path, "pageLogVerification", summary, verify), is_long=True),
    )


def _verification(store: Store) -> ShownVerification:
    return shown_verification(store.verify(), backend_of(store).clock())
