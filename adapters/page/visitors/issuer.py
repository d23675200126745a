"""An issuer of OpenID Connect: how it knows the service, where it is asked, and what may go wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol
from urllib.parse import urlsplit

from onrecord.adapters.page.visitors.pending_logins import PendingLogin
from onrecord.adapters.page.visitors.roles import Claims
from onrecord.domain.errors import InvalidInput

SCOPES: Final = ("openid", "email", "profile")
"""What is asked for in any case."""

_LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "::1"})


class IssuerAway(Exception):
    """The issuer does not answer, or not as an issuer does."""


class NotProven(Exception):
    """What came back does not prove who somebody is."""


@dataclass(frozen=True, slots=True)
class Client:
    """How the service is known to an issuer. `scopes` are asked for beside those that always are."""

    issuer: str
    id: str
    secret: str = field(repr=False)
    scopes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse an issuer that could not be believed: InvalidInput."""
        if not _is_private(self.issuer):
            raise InvalidInput("an issuer is an URL that begins with https://")

    @property
    def host(self) -> str:
        """The host of the issuer, as people know it."""
        return urlsplit(self.issuer).netloc


@dataclass(frozen=True, slots=True)
class Metadata:
    """Where an issuer is asked. `takes_secret_in_form` says how, `names_itself` that it does in callbacks."""

    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    takes_secret_in_form: bool
    names_itself: bool


class Issuer(Protocol):
    """Proves who somebody is."""

    @property
    def host(self) -> str:
        """The host of the issuer, as people know it."""
        ...

    async def login_url(self, login: PendingLogin) -> str:
        """Return where a browser goes to log in; IssuerAway where nobody knows."""
        ...

    async def claims(self, code: str, login: PendingLogin, sender: str | None) -> Claims:
        """Return what is proven of whoever came back with a code, once.

        `sender` is the issuer that the callback names. NotProven where nothing is proven, IssuerAway where
        the issuer cannot be asked.
        """
        ...


def metadata_of(issuer: str, document: Mapping[str, object]) -> Metadata:
    """Return where an issuer is asked, by its document; IssuerAway where that is another's or has no such.

    The URL of each endpoint has to be one that nobody listens at.
    """
    if document.get("issuer") != issuer:
        raise IssuerAway("its metadata names another issuer")
    authorization, token, keys = (
        document.get(name) for name in ("authorization_endpoint", "token_endpoint", "jwks_uri")
    )
    if not (_is_private(authorization) and _is_private(token) and _is_private(keys)):
        raise IssuerAway("its metadata names no endpoints of https")
    methods = document.get("token_endpoint_auth_methods_supported")
    return Metadata(
        str(authorization),
        str(token),
        str(keys),
        takes_secret_in_form=isinstance(methods, list) and "client_secret_post" in methods,
        names_itself=document.get("authorization_response_iss_parameter_supported") is True,
    )


def _is_private(url: object) -> bool:
    """Whether nobody else can read what is sent to a URL: by TLS, or within this machine."""
    if not isinstance(url, str):
        return False
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        return False
    return (parts.scheme == "https" and bool(host)) or (
        parts.scheme == "http" and host in _LOOPBACK_NAMES
    )
