"""An issuer of OpenID Connect: how it knows the service, where it is asked, and what may go wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol, TypeAlias, cast
from urllib.parse import urlsplit
from uuid import UUID

from onrecord.adapters.page.visitors.pending_logins import PendingLogin
from onrecord.adapters.page.visitors.people import Claims
from onrecord.domain.errors import InvalidInput

SCOPES: Final = ("openid", "email", "profile")
"""What is asked for in any case."""

_NEEDED_ENDPOINTS: Final = ("authorization_endpoint", "token_endpoint", "jwks_uri")

# As `urlsplit` writes a host. In the Host of a request, which service/doors.py looks at, ::1 has brackets.
_LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "::1"})


# Logs show errors by their types. The texts of these two are ours and hold nothing of a token: log `str(error)`.
class IssuerAway(Exception):
    """The issuer does not answer, or not as an issuer does."""


class UserinfoAway(IssuerAway):
    """The issuer proved who somebody is by `claims`, and cannot be asked for what it says beside them."""

    def __init__(self, claims: Claims, cause: str) -> None:
        """Have the claims of the ID token; `cause` is why there are no others."""
        super().__init__(cause)
        self.claims = claims


class NotProven(Exception):
    """What came back does not prove who somebody is."""


class ClientRefused(NotProven):
    """The issuer does not take how the service shows who it is."""


@dataclass(frozen=True, slots=True)
class Client:
    """How the service is known to an issuer. `scopes` are asked for beside those that always are."""

    issuer: str
    id: str
    secret: str = field(repr=False)
    scopes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse an issuer that could not be believed: InvalidInput."""
        if not _is_protected_in_transit(self.issuer):
            raise InvalidInput("an issuer is an URL that begins with https://")

    @property
    def host(self) -> str:
        """The host of the issuer, as people know it."""
        return urlsplit(self.issuer).netloc


SecretPlace: TypeAlias = Literal["form", "header"]
"""Where the secret is sent: in the form, or in the header Authorization (RFC 6749, 2.3.1)."""


@dataclass(frozen=True, slots=True)
class Metadata:
    """Where an issuer is asked; None is for what it does not have.

    `secret_places` are the ways to send the secret, the likelier one first. `names_itself` says that the
    issuer does in callbacks.
    """

    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str | None
    end_session_endpoint: str | None
    secret_places: tuple[SecretPlace, ...]
    names_itself: bool


@dataclass(frozen=True, slots=True)
class Logout:
    """Whom an issuer signed out: a person in all sessions, or those that came of one login there.

    One of `person_id` and `login_id` may be None, and is for any. `id` is another one for each logout.
    """

    id: str
    person_id: UUID | None
    login_id: str | None

    def applies_to(self, person_id: UUID, login_id: str | None) -> bool:
        """Return whether it signs a person out of a session that came of a login.

        None is for a login that the issuer gave no id: it may be the one that is meant.
        """
        if self.person_id is None:
            return login_id is not None and login_id == self.login_id
        is_login = login_id is None or self.login_id in (None, login_id)
        return is_login and person_id == self.person_id


class Issuer(Protocol):
    """Proves who somebody is."""

    @property
    def host(self) -> str:
        """The host of the issuer, as people know it."""
        ...

    @property
    def logout_url(self) -> str | None:
        """Where a browser goes to log out; None where there is no such place, or nobody knows yet."""
        ...

    async def login_url(self, login: PendingLogin) -> str:
        """Return where a browser goes to log in; IssuerAway where nobody knows."""
        ...

    async def claims(self, code: str, login: PendingLogin, sender: str | None) -> Claims:
        """Return what is proven of whoever came back with a code, once.

        `sender` is the issuer that the callback names. NotProven where nothing is proven, IssuerAway where
        the issuer cannot be asked, UserinfoAway where it cannot be asked for more than the ID token.
        """
        ...

    async def logout(self, token: str) -> Logout:
        """Return whom a logout token signs out; NotProven and IssuerAway as `claims` has it."""
        ...


def metadata_of(issuer: str, document: Mapping[str, object]) -> Metadata:
    """Return where an issuer is asked, by its document; IssuerAway where that is another's or has no such.

    Each endpoint has to be reached by TLS, or lie on this machine.
    """
    if document.get("issuer") != issuer:
        raise IssuerAway("its metadata names another issuer")
    needed = [document.get(name) for name in _NEEDED_ENDPOINTS]
    if not all(map(_is_protected_in_transit, needed)):
        raise IssuerAway("its metadata names no endpoints of https")
    authorization, token, keys = map(str, needed)
    return Metadata(
        authorization,
        token,
        keys,
        userinfo_endpoint=_optional(document.get("userinfo_endpoint")),
        end_session_endpoint=_optional(document.get("end_session_endpoint")),
        secret_places=_secret_places(document.get("token_endpoint_auth_methods_supported")),
        names_itself=document.get("authorization_response_iss_parameter_supported") is True,
    )


def _optional(endpoint: object) -> str | None:
    if endpoint is None or _is_protected_in_transit(endpoint):
        return cast("str | None", endpoint)
    raise IssuerAway("its metadata names an endpoint without https")


def _secret_places(methods: object) -> tuple[SecretPlace, ...]:
    """Return where an issuer may take the secret; nothing is said of what it takes of this client."""
    listed = cast("list[object]", methods) if isinstance(methods, list) else []
    if "client_secret_post" not in listed:
        return ("header",)
    return ("form", "header") if "client_secret_basic" in listed else ("form",)


def _is_protected_in_transit(url: object) -> bool:
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
