"""Who may look at the page: people with a session, programs with a key, and this machine without one."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from onrecord.adapters.page.answers import problem_page
from onrecord.adapters.page.visitors.cookies import cookie_of, delete_cookie, set_cookie
from onrecord.adapters.page.visitors.issuer import Logout
from onrecord.adapters.page.visitors.sessions import Sessions, Visitor
from onrecord.adapters.service.access import Access
from onrecord.adapters.service.doors import Door
from onrecord.adapters.service.problems import FORBIDDEN, UNAUTHENTICATED, Problem

SIGN_IN: Final = "/sign-in"
"""The path where people sign in."""

MOST_STRANGERS: Final = 16
"""How many requests of strangers are answered at the same time: of keys, of logins and of logouts each."""

_COOKIE: Final = "onrecord"
_LONGEST_PATH: Final = 4_096
_SAFE_METHODS: Final = frozenset({"GET", "HEAD"})


class SignInNeeded(Problem):
    """Whoever asks for a `path` of the page may see it after signing in."""

    def __init__(self, problem: Problem, path: str) -> None:
        """Tell of the problem with the key, and where the person was going."""
        super().__init__(problem.type, problem.detail)
        self.path = path


class Visitors:
    """Lets people in to the page. The routes under `/v1` take no session."""

    def __init__(self, door: Door, sessions: Sessions) -> None:
        """Let in by these sessions who the door lets in by their keys, and people whom an issuer named."""
        self._door = door
        self._sessions = sessions

    async def access(self, request: Request) -> Access:
        """Return what whoever asks for a page may do; Problem where that is nothing."""
        if request.method not in _SAFE_METHODS:
            must_be_own_page(request)
        if "authorization" in request.headers:
            return await self._door.access(request)
        id_ = cookie_of(request, _COOKIE)
        visitor = self._sessions.visitor(id_, is_used=not _is_by_itself(request))
        if isinstance(visitor, Access):
            self.must_name_this_host(request)
            return visitor
        try:
            return await self._door.access_by(visitor, request)
        except Problem as problem:
            if problem.type is not UNAUTHENTICATED:
                raise
            self._sessions.end(id_)
            if not _is_shown_whole(request):
                raise
            raise SignInNeeded(problem, _path_of(request)) from None

    def must_name_this_host(self, request: Request) -> None:
        """Raise Problem where the service does not answer to the Host that a request names."""
        self._door.must_name_this_host(request)

    async def is_open_to(self, request: Request) -> bool:
        """Return whether whoever asks sees the page without a key."""
        return await self._door.is_open_to(request)

    async def sign_in(self, token: str, request: Request, response: Response) -> None:
        """Begin a session with a key, and answer with its cookie; Problem where the key gives nothing."""
        await self._door.access_by(token, request)
        self._begin_session(token, request, response)

    def sign_in_person(
        self, person: Access, login_id: str | None, request: Request, response: Response
    ) -> None:
        """Begin a session of a person whom an issuer named, and answer with its cookie.

        `login_id` is the issuer's id of the login, None for none.
        """
        self._begin_session(person, request, response, login_id)

    def sign_out(self, request: Request, response: Response) -> Visitor | None:
        """End the session that a browser has, and take its cookie back; return whom it stood for."""
        must_be_own_page(request)
        delete_cookie(request, response, _COOKIE)
        return self._sessions.end(cookie_of(request, _COOKIE))

    def end_sessions_of(self, logout: Logout) -> int:
        """End the sessions of whom an issuer signed out; return how many there were."""
        return self._sessions.end_matching(logout)

    def _begin_session(
        self, visitor: Visitor, request: Request, response: Response, login_id: str | None = None
    ) -> None:
        """Begin a session in place of the one that the browser had.

        An id that somebody else put there lets nobody in.
        """
        self._sessions.end(cookie_of(request, _COOKIE))
        set_cookie(request, response, _COOKIE, self._sessions.begin(visitor, login_id))


def problem_or_sign_in(problem: Problem, instance: str) -> Response:
    """Return the page that tells of a problem, or the way to sign in."""
    if isinstance(problem, SignInNeeded):
        return RedirectResponse(f"{SIGN_IN}?next={quote(problem.path, safe='/')}", 303)
    return problem_page(problem, instance)


def own_path(text: str) -> str:
    r"""Return a path of this site with its query, and the page's first one for anything else.

    Browsers read `//host` and `/\host` as another site, and drop tabs and line ends first.
    """
    is_plain = text.isascii() and text.isprintable() and " " not in text and "\\" not in text
    is_path = text.startswith("/") and not text.startswith("//")
    is_own = is_plain and is_path and len(text) <= _LONGEST_PATH
    return text if is_own else "/"


def must_be_own_page(request: Request) -> None:
    """Raise Problem where a request that changes something does not come from a page of this site.

    Browsers say where it comes from (Fetch Metadata, 2.1). Those that do not name the origin.
    """
    site = request.headers.get("sec-fetch-site")
    if site is None:
        origin = request.headers.get("origin", "")
        is_own = origin.partition("://")[2] == request.headers.get("host")
    else:
        is_own = site == "same-origin"
    if not is_own:
        raise Problem(FORBIDDEN, "a page of this service asks for this, over TLS or on its machine")


def _is_by_itself(request: Request) -> bool:
    """Whether a page follows what goes on: it does so by itself, whoever sits before it."""
    is_stream = request.headers.get("accept") == "text/event-stream"
    return is_stream or request.scope["path"].endswith(("/changes", "/totals"))


def _is_shown_whole(request: Request) -> bool:
    """Whether a browser shows the answer as a page of its own, and no script takes it."""
    return (
        request.method == "GET" and request.headers.get("sec-fetch-dest", "document") == "document"
    )


def _path_of(request: Request) -> str:
    path, query = request.scope["path"], request.scope["query_string"].decode("latin-1")
    return own_path(f"{path}?{query}" if query else path)
