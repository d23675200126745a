"""Signing in by an issuer: the browser goes there with a login of its own, and comes back with a code."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from pydantic import ConfigDict, Field
from starlette.responses import RedirectResponse, Response

from onrecord.adapters.page.visitors.cookies import (
    cookie_of,
    delete_cookie,
    is_secure,
    set_cookie,
)
from onrecord.adapters.page.visitors.issuer import Issuer, IssuerAway, NotProven, UserinfoAway
from onrecord.adapters.page.visitors.issuer_logouts import IssuerLogouts
from onrecord.adapters.page.visitors.pending_logins import (
    LONGEST_SECONDS,
    PendingLogin,
    PendingLogins,
)
from onrecord.adapters.page.visitors.people import (
    Claims,
    has_verified_email,
    login_id_of,
    person_id,
    person_name,
)
from onrecord.adapters.page.visitors.roles import RoleRule, role_of
from onrecord.adapters.page.visitors.sign_in import SignInQuery, open_to_all
from onrecord.adapters.page.visitors.visitors import MOST_STRANGERS, SIGN_IN, Visitors, own_path
from onrecord.adapters.service.access import Access
from onrecord.adapters.service.doors import is_of_another_page
from onrecord.adapters.service.model import Empty, Model
from onrecord.adapters.service.problems import FORBIDDEN, Problem
from onrecord.adapters.service.quotas import Quota
from onrecord.adapters.service.route import Call, Route
from onrecord.adapters.storage.http.problem_types import ProblemType
from onrecord.domain.errors import InvalidContent

CALLBACK: Final = f"{SIGN_IN}/callback"
"""The path that an issuer sends browsers back to."""

_LOGIN: Final = f"{SIGN_IN}/issuer"
_COOKIE: Final = "onrecord-login"
_NO_STORE: Final = {"cache-control": "no-store", "referrer-policy": "no-referrer"}

_NOT_STARTED: Final = ProblemType("login-not-started", 400, "This login was not started here.")
_NOT_PROVEN: Final = ProblemType("login-not-proven", 403, "The issuer did not say who you are.")
_NO_ROLE: Final = ProblemType("no-role", 403, "You have no access to this service.")
_AWAY: Final = ProblemType("issuer-away", 503, "The issuer cannot be asked now.", 5)

_LOG: Final = logging.getLogger("onrecord.service")


class CallbackQuery(Model):
    """What a browser comes back with. Issuers may send more, which is not looked at."""

    model_config = ConfigDict(extra="ignore", frozen=True, hide_input_in_errors=True)

    state: str = Field("", max_length=256)
    """The state of the login."""
    code: str = Field("", max_length=8_192)
    """What the tokens are got for."""
    iss: str | None = Field(None, max_length=2_048)
    """The issuer that sent it (RFC 9207)."""


class IssuerSignIn:
    """The answers of signing in by an issuer. A person has the role that the rules give, else none."""

    def __init__(
        self, issuer: Issuer, rules: Sequence[RoleRule], logins: PendingLogins | None = None
    ) -> None:
        """Let in by these rules those whom an issuer names.

        Strangers may ask, so the issuer is asked for few at once.
        """
        self.issuer: Final = issuer
        self.logouts: Final = IssuerLogouts()
        self._rules = tuple(rules)
        self._logins = logins or PendingLogins()
        self._open = Quota(MOST_STRANGERS)

    async def start_login(self, call: Call[SignInQuery, Empty], visitors: Visitors) -> Response:
        """Send the browser to the issuer, with a login that only this browser can finish."""
        visitors.must_name_this_host(call.request)
        if is_of_another_page(call.request):
            raise Problem(FORBIDDEN, "a page of this service asks for this")
        request, path = call.request, own_path(call.query.next)
        scheme = "https" if is_secure(request) else "http"
        self._open.enter(None)
        try:
            id_, login = self._logins.start(f"{scheme}://{request.headers['host']}{CALLBACK}", path)
            response = RedirectResponse(await self.issuer.login_url(login), 303, _NO_STORE)
        except IssuerAway as error:
            raise _away(error) from None
        finally:
            self._open.leave(None)
        set_cookie(request, response, _COOKIE, id_, LONGEST_SECONDS)
        return response

    async def finish_login(self, call: Call[CallbackQuery, Empty], visitors: Visitors) -> Response:
        """Begin a session of whoever comes back from the issuer, and send them on."""
        request = call.request
        visitors.must_name_this_host(request)
        login = self._logins.take(cookie_of(request, _COOKIE), call.query.state)
        if login is None:
            raise Problem(
                _NOT_STARTED,
                f"Start once more at {SIGN_IN}, in this browser, and finish within ten minutes.",
            )
        latest = self.logouts.latest_id
        claims = await self._claims(call.query, login)
        person, login_id = self._person(call, claims), login_id_of(claims)
        if self.logouts.was_signed_out(person_id(claims), login_id, after=latest):
            raise Problem(_NOT_PROVEN, "It signed you out in the meantime.")
        response = RedirectResponse(login.next_path, 303, _NO_STORE)
        delete_cookie(request, response, _COOKIE)
        visitors.sign_in_person(person, login_id, request, response)
        return response

    async def _claims(self, query: CallbackQuery, login: PendingLogin) -> Claims:
        if not query.code:
            raise Problem(_NOT_PROVEN, "It sent you back without a code: you or it said no.")
        self._open.enter(None)
        try:
            return await self.issuer.claims(query.code, login, query.iss)
        except NotProven as error:
            _LOG.warning("a login proves nobody: %s", str(error))
            raise Problem(_NOT_PROVEN, "What it sent is not taken. The log says why.") from None
        except UserinfoAway as error:
            # A name that is no email could be an email in the userinfo: it would change from login to login.
            if not has_verified_email(error.claims) or role_of(error.claims, self._rules) is None:
                raise _away(error) from None
            _LOG.warning(
                "only the ID token of a login counts, without the userinfo: %s", str(error)
            )
            return error.claims
        except IssuerAway as error:
            raise _away(error) from None
        finally:
            self._open.leave(None)

    def _person(self, call: Call[Any, Any], claims: Claims) -> Access:
        """Return what a person may do in the tenant of the service; Problem where that is nothing."""
        role = role_of(claims, self._rules)
        if role is None:
            raise Problem(
                _NO_ROLE, "The issuer knows you, but nobody gave you a role here. Ask who runs it."
            )
        try:
            name = person_name(claims)
        except InvalidContent:
            raise Problem(_NOT_PROVEN, "It gave you no name that can be recorded.") from None
        return Access(call.tenant, role, name, person_id=person_id(claims))


def routes_of(issuer: IssuerSignIn, visitors: Visitors) -> tuple[Route[Any, Any], ...]:
    """Return the routes by which these visitors sign in by an issuer."""

    async def start(call: Call[Any, Any]) -> Response:
        return await issuer.start_login(call, visitors)

    async def finish(call: Call[Any, Any]) -> Response:
        return await issuer.finish_login(call, visitors)

    return (
        replace(open_to_all("GET", _LOGIN, "pageStartLogin", start), query=SignInQuery),
        replace(open_to_all("GET", CALLBACK, "pageFinishLogin", finish), query=CallbackQuery),
    )


def _away(error: IssuerAway) -> Problem:
    _LOG.warning("the issuer of logins cannot be asked: %s", str(error))
    return Problem(_AWAY, "Try again later, or sign in with a key.")
