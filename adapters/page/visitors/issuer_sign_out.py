"""Signing out by an issuer: it tells the service who was signed out (Back-Channel Logout 1.0)."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any, Final

from starlette.responses import Response

from onrecord.adapters.page.forms import form_of
from onrecord.adapters.page.visitors.issuer import Issuer, IssuerAway, Logout, NotProven
from onrecord.adapters.page.visitors.issuer_logouts import IssuerLogouts
from onrecord.adapters.page.visitors.sign_in import open_to_all
from onrecord.adapters.page.visitors.visitors import Visitors
from onrecord.adapters.service.model import Empty
from onrecord.adapters.service.problems import Problem, response_of
from onrecord.adapters.service.route import Call, Route
from onrecord.adapters.storage.http.problem_types import ProblemType

LOGOUT: Final = "/sign-out/issuer"
"""The path that an issuer sends its logout tokens to."""

# The standard has one status for all that goes wrong.
_REFUSED: Final = ProblemType("logout-refused", 400, "Nobody was signed out.")

_LOG: Final = logging.getLogger("onrecord.service")


class IssuerSignOut:
    """The answer to an issuer that signs people out."""

    def __init__(self, visitors: Visitors, issuer: Issuer, logouts: IssuerLogouts) -> None:
        """End sessions of these visitors, and keep the logouts."""
        self._visitors = visitors
        self._issuer = issuer
        self._logouts = logouts

    async def sign_out(self, call: Call[Empty, Empty]) -> Response:
        """End the sessions of whom the issuer signed out; there may be none."""
        self._visitors.must_name_this_host(call.request)
        token = (await form_of(call)).get("logout_token", "")
        logout = await self._proven(token)
        if not self._logouts.add(logout):
            raise Problem(_REFUSED, "This logout token was taken before.")
        count = self._visitors.end_sessions_of(logout)
        _LOG.info("the issuer signed somebody out: %d sessions ended", count)
        return Response(status_code=200, headers={"cache-control": "no-store"})

    async def _proven(self, token: str) -> Logout:
        try:
            return await self._issuer.logout(token)
        except (NotProven, IssuerAway) as error:
            _LOG.warning("a logout token signs nobody out: %s", str(error))
            raise Problem(_REFUSED, "The logout token is not taken. The log says why.") from None


def route_of(visitors: Visitors, issuer: Issuer, logouts: IssuerLogouts) -> Route[Any, Any]:
    """Return the route by which an issuer signs these visitors out."""
    answers = IssuerSignOut(visitors, issuer, logouts)
    return replace(
        open_to_all("POST", LOGOUT, "issuerEndSessions", answers.sign_out),
        media_type="text/plain",
        problem=response_of,
    )
