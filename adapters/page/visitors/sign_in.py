"""Signing in with a key, and out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, Literal

from pydantic import Field
from starlette.responses import RedirectResponse, Response

from onrecord.adapters.page.answers import problem_page, rendered
from onrecord.adapters.page.forms import form_of
from onrecord.adapters.page.visitors.issuer import Issuer
from onrecord.adapters.page.visitors.visitors import (
    MOST_STRANGERS,
    SIGN_IN,
    Visitors,
    must_be_own_page,
    own_path,
)
from onrecord.adapters.service.access import Access
from onrecord.adapters.service.model import Empty, Model
from onrecord.adapters.service.problems import (
    UNAUTHENTICATED,
    Problem,
    headers_of,
)
from onrecord.adapters.service.quotas import Quota
from onrecord.adapters.service.route import Call, Route


class SignInQuery(Model):
    """Where whoever signs in goes on."""

    next: str = Field("/", max_length=8_192)
    """A path of this site."""
    signed_out: bool = False
    """Whether a person comes from signing out, who came by the issuer."""


class SignIn:
    """The answers of signing in and out."""

    def __init__(self, visitors: Visitors, issuer: Issuer | None) -> None:
        """Let these visitors in, by a key or by an issuer.

        Strangers may ask, so few are looked at once. To guess a key of 256 random bits is hopeless at
        any rate, and the keyring looks for none in the log that is merely made up.
        """
        self._visitors = visitors
        self._issuer = issuer
        self._open = Quota(MOST_STRANGERS)

    async def form(self, call: Call[SignInQuery, Empty]) -> Response:
        """Return the page where a key is given."""
        is_out, path = call.query.signed_out, own_path(call.query.next)
        return await self._form(call, path, is_wrong=False, is_signed_out=is_out)

    async def sign_in(self, call: Call[Empty, Empty]) -> Response:
        """Begin a session, and send whoever signed in on; the form once more where the key is wrong."""
        must_be_own_page(call.request)
        # The form comes as slowly as its sender likes: only keys that are looked for are counted.
        fields = await form_of(call)
        self._open.enter(None)
        try:
            return await self._session_or_form(call, fields)
        finally:
            self._open.leave(None)

    async def sign_out(self, call: Call[Empty, Empty]) -> Response:
        """End the session, and return to the form."""
        response = RedirectResponse(SIGN_IN, 303, {"clear-site-data": '"cache"'})
        if isinstance(self._visitors.sign_out(call.request, response), Access):
            response.headers["location"] = f"{SIGN_IN}?signed_out=true"
        return response

    async def _session_or_form(
        self, call: Call[Empty, Empty], fields: Mapping[str, str]
    ) -> Response:
        path = own_path(fields.get("next", "/"))
        response: Response = RedirectResponse(path, 303, {"cache-control": "no-store"})
        try:
            await self._visitors.sign_in(fields.get("key", "").strip(), call.request, response)
        except Problem as problem:
            if problem.type is not UNAUTHENTICATED:
                raise
            response = await self._form(call, path, is_wrong=True)
            response.status_code = problem.type.status
            response.headers.update(headers_of(problem))
        return response

    async def _form(
        self, call: Call[Any, Any], path: str, *, is_wrong: bool, is_signed_out: bool = False
    ) -> Response:
        return await rendered(
            call,
            "sign_in.html",
            next=path,
            is_wrong=is_wrong,
            is_signed_out=is_signed_out,
            issuer=self._issuer,
            is_open=await self._visitors.is_open_to(call.request),
        )


def routes_of(visitors: Visitors, issuer: Issuer | None = None) -> tuple[Route[Any, Any], ...]:
    """Return the routes by which these visitors sign in and out; `issuer` is who else lets them in."""
    answers = SignIn(visitors, issuer)
    return (
        replace(open_to_all("GET", SIGN_IN, "pageSignIn", answers.form), query=SignInQuery),
        open_to_all("POST", SIGN_IN, "pageBeginSession", answers.sign_in),
        open_to_all("POST", "/sign-out", "pageEndSession", answers.sign_out),
    )


def open_to_all(
    method: Literal["GET", "POST"],
    path: str,
    name: str,
    answers: Callable[[Call[Any, Any]], Awaitable[Response]],
) -> Route[Any, Any]:
    """Return a route that anybody may ask."""
    return Route(
        *(method, path, name, "Sign in or out."),
        role=None,
        query=Empty,
        body=Empty,
        answers=answers,
        media_type="text/html",
        problem=problem_page,
    )
