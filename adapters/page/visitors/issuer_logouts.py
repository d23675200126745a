"""Whom the issuer signed out: it says so itself, and their sessions end (Back-Channel Logout 1.0)."""

from __future__ import annotations

import logging
from itertools import takewhile
from typing import Final
from uuid import UUID

from starlette.responses import Response

from onrecord.adapters.caches.newest import Newest
from onrecord.adapters.page.forms import form_of
from onrecord.adapters.page.visitors.issuer import Issuer, IssuerAway, Logout, NotProven
from onrecord.adapters.page.visitors.visitors import MOST_STRANGERS, Visitors
from onrecord.adapters.service.model import Empty
from onrecord.adapters.service.problems import Problem
from onrecord.adapters.service.quotas import Quota
from onrecord.adapters.service.route import Call
from onrecord.adapters.storage.http.problem_types import ProblemType

LOGOUT: Final = "/sign-out/issuer"
"""The path that an issuer sends its logout tokens to."""

_MOST: Final = 4_096
"""How many logouts are known at most, so that none counts twice; of more the oldest goes."""

# The standard has one status for all that goes wrong.
_REFUSED: Final = ProblemType("logout-refused", 400, "Nobody was signed out.")

_LOG: Final = logging.getLogger("onrecord.service")


class IssuerLogouts:
    """The logouts that an issuer told of, in the memory of the process. For the thread of the event loop."""

    def __init__(self, issuer: Issuer) -> None:
        """Have been told of none yet.

        Strangers may ask, so few are looked at once; logins have room of their own.
        """
        self._issuer = issuer
        self._open = Quota(MOST_STRANGERS)
        self._logouts: Newest[str, Logout] = Newest(_MOST)

    @property
    def latest_id(self) -> str | None:
        """The id of the latest logout; None where there was none."""
        return next(reversed(self._logouts), None)

    def was_signed_out(self, person_id: UUID, login_id: str | None, *, after: str | None) -> bool:
        """Return whether a person was signed out of a login by a logout after the one with an id."""
        since = takewhile(lambda id_: id_ != after, reversed(self._logouts))
        return any(self._logouts[id_].applies_to(person_id, login_id) for id_ in since)

    async def sign_out(self, call: Call[Empty, Empty], visitors: Visitors) -> Response:
        """End the sessions of whom the issuer signed out; there may be none."""
        visitors.must_name_this_host(call.request)
        token = (await form_of(call)).get("logout_token", "")
        logout = await self._proven(token)
        if logout.id in self._logouts:
            raise Problem(_REFUSED, "This logout token was taken before.")
        self._logouts[logout.id] = logout
        _LOG.info(
            "the issuer signed somebody out: %d sessions ended", visitors.end_sessions_of(logout)
        )
        return Response(status_code=200, headers={"cache-control": "no-store"})

    async def _proven(self, token: str) -> Logout:
        self._open.enter(None)
        try:
            return await self._issuer.logout(token)
        except (NotProven, IssuerAway) as error:
            _LOG.warning("a logout token signs nobody out: %s", error)
            raise Problem(_REFUSED, "The logout token is not taken. The log says why.") from None
        finally:
            self._open.leave(None)
