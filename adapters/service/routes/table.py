"""The one table of all routes, and the route that describes them."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from starlette.responses import Response

import onrecord
from onrecord.adapters.service.document import document
from onrecord.adapters.service.model import Empty
from onrecord.adapters.service.route import Call, Route
from onrecord.adapters.service.routes import (
    append,
    conversations,
    documents,
    edits,
    log,
    log_blobs,
    log_erasure,
    log_names,
    messages,
    operations,
    provider_calls,
    requests,
    tails,
    tools,
    upkeep,
    views,
)
from onrecord.domain import jsontext


async def openapi(call: Call[Empty, Empty]) -> Response:
    """Return the OpenAPI document of all routes."""
    del call
    return Response(_document(), media_type="application/json")


@cache
def _document() -> bytes:
    return jsontext.write(document(ROUTES, onrecord.__version__))


ROUTES: Final[tuple[Route[Any, Any], ...]] = (
    *operations.ROUTES,
    *conversations.ROUTES,
    *messages.ROUTES,
    *edits.ROUTES,
    *append.ROUTES,
    *documents.ROUTES,
    *requests.ROUTES,
    *provider_calls.ROUTES,
    *views.ROUTES,
    *tails.ROUTES,
    *upkeep.ROUTES,
    *tools.ROUTES,
    *log.ROUTES,
    *log_names.ROUTES,
    *log_blobs.ROUTES,
    *log_erasure.ROUTES,
    Route(
        *("GET", "/openapi.json", "openapi", "Describe all routes."),
        role=None,
        query=Empty,
        body=Empty,
        answers=openapi,
    ),
)
