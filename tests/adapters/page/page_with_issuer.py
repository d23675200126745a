"""A page that people sign in to by an issuer of the tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

import urllib3

from onrecord.adapters.page.visitors.issuer import Client
from onrecord.adapters.page.visitors.issuer_sign_in import IssuerSignIn
from onrecord.adapters.page.visitors.openid import OpenIdIssuer
from onrecord.adapters.page.visitors.pending_logins import PendingLogins
from onrecord.adapters.page.visitors.roles import role_rule
from onrecord.adapters.page.visitors.sessions import Sessions
from onrecord.adapters.service.access import Keyring
from tests.adapters.page.local_issuer import CLIENT, SECRET, LocalIssuer
from tests.adapters.page.test_sessions import Clock
from tests.adapters.service.keys import Keys
from tests.adapters.service.served import Served, served

RULES = ("read:email=ada@example.org", "read:groups=auditors", "operate:groups=the operators")


class NoKeys(Keys):
    """A keyring from which no key was ever issued."""

    def is_used(self) -> bool:
        return False


@dataclass(frozen=True)
class Page:
    """A page, the issuer whose accounts it lets in, and the clock of both sessions and logins."""

    service: Served
    issuer: LocalIssuer
    clock: Clock

    def get(
        self, path: str, cookie: str = "", headers: Mapping[str, str] | None = None
    ) -> urllib3.BaseHTTPResponse:
        return self.service.ask("GET", path, headers={"cookie": cookie, **(headers or {})})

    def start_login(self, place: str = "/", **headers: str) -> tuple[str, str]:
        """The cookie of a login, and where the issuer sends the browser back to."""
        started = self.get(f"/sign-in/issuer?next={quote(place)}", headers=headers)
        assert started.status == 303, started.data
        at_issuer = self.service.pool.request("GET", started.headers["location"], redirect=False)
        back = urlsplit(at_issuer.headers["location"])
        return cookies_of(started)["onrecord-login"], f"{back.path}?{back.query}"

    def sign_in(self, place: str = "/") -> urllib3.BaseHTTPResponse:
        cookie, back = self.start_login(place)
        return self.get(back, cookie)


def served_by(
    issuer: LocalIssuer, clock: Clock, store: str = "memory://", keyring: Keyring | None = None
) -> Any:
    by_issuer = IssuerSignIn(
        OpenIdIssuer(Client(issuer.url, CLIENT, SECRET), elapsed=clock),
        [role_rule(rule) for rule in RULES],
        PendingLogins(clock),
    )
    return served(store, keyring=keyring or Keys(), sessions=Sessions(clock), issuer=by_issuer)


def cookies_of(answer: urllib3.BaseHTTPResponse) -> dict[str, str]:
    """The cookies that an answer gives, by the end of their names."""
    pairs = [each.partition(";")[0] for each in answer.headers.getlist("set-cookie")]
    return {pair.partition("=")[0].removeprefix("__Host-"): pair for pair in pairs}


def begins_nothing(answer: urllib3.BaseHTTPResponse, status: int) -> bool:
    return answer.status == status and "onrecord" not in cookies_of(answer)
