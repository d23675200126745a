"""What the tokens of an issuer prove: who somebody is, and who was signed out, by Authlib and joserfc."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, Protocol, cast

from authlib.oidc.core import CodeIDToken  # type: ignore[import-untyped]
from joserfc import jws, jwt
from joserfc.errors import JoseError
from joserfc.jwk import JWKRegistry, Key, KeySet
from joserfc.jws import JWSRegistry

from onrecord.adapters.page.visitors.issuer import Client, IssuerAway, Logout, NotProven
from onrecord.adapters.page.visitors.people import Claims, person_id

_ALGORITHMS: Final = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512"),
)
"""Signatures by a private key of the issuer. Not `none`, and none by a secret that the service knows too."""

_REGISTRY: Final = JWSRegistry(algorithms=_ALGORITHMS, strict_check_header=False)

_LEEWAY: Final = 60
"""How many seconds the clocks of the issuer and of the service may differ."""

_LOGOUT: Final = "http://schemas.openid.net/event/backchannel-logout"
"""The event that a token says who was signed out by."""

_LOGOUT_SECONDS: Final = 600
"""How old a logout token is at most. Older drafts gave it no end."""

_EMAIL: Final = frozenset(("email", "email_verified"))
"""The claims that are taken from one document."""

_UNSOUND: Final = (JoseError, ValueError, TypeError, KeyError, AttributeError, RecursionError)
"""What is raised for tokens, keys and claims that are not as they should be."""


class _Checked(Protocol):
    """Claims that Authlib checks, as far as they are typed."""

    def validate(self, now: int, leeway: int) -> None: ...


def proven_claims(
    answer: Mapping[str, object],
    keys: KeySet,
    client: Client,
    nonce: str,
    now: int,
) -> Claims:
    """Return the claims of the ID token in an answer, if one of the issuer's keys signed it.

    NotProven where it did not, or the token is another issuer's, another client's, another login's, or
    expired.
    """
    token = answer.get("id_token")
    if not isinstance(token, str):
        raise NotProven("there is no ID token")
    options = {
        "iss": {"essential": True, "value": client.issuer},
        "aud": {"essential": True, "value": client.id},
        "sub": {"essential": True},
    }
    params = {"nonce": nonce, "client_id": client.id, "access_token": answer.get("access_token")}
    signed = _signed(token, keys)
    try:
        claims = cast("_Checked", CodeIDToken(signed.claims, signed.header, options, params))
        claims.validate(now, _LEEWAY)
    except _UNSOUND as error:
        raise _not_proven(error) from None
    return signed.claims


def claims_with(claims: Claims, userinfo: Claims) -> Claims:
    """Return the claims of an ID token and those that the userinfo has beside them.

    NotProven where these are of somebody else (OpenID Connect Core, 5.3.2).
    """
    if userinfo.get("sub") != claims["sub"]:
        raise NotProven("the userinfo is of somebody else")
    # That one document says "verified" says nothing of an email in the other one.
    email = _email_of(claims) or _email_of(userinfo)
    rest = {name: value for name, value in {**userinfo, **claims}.items() if name not in _EMAIL}
    return {**rest, **email}


def _email_of(document: Claims) -> Claims:
    """Return the email of a document and whether it is verified; nothing where it lacks one of both."""
    return {name: document[name] for name in _EMAIL} if document.keys() >= _EMAIL else {}


def key_id_of_logout(token: str, client: Client, now: int) -> str | None:
    """Return the id of the key that a token says it is signed by; None where it says none.

    NotProven where it would be no logout token for this client even if it were signed: anybody can send
    one, and to look costs nothing.
    """
    try:
        unproven = jws.extract_compact(token.encode(), registry=_REGISTRY)
        header, claims = unproven.headers(), json.loads(unproven.payload)
        if header.get("alg") not in _ALGORITHMS:
            raise NotProven("the token is signed in no way that counts")
        if not isinstance(claims, dict):
            raise NotProven("the token has no claims")
        _checked_logout(cast("Claims", claims), client, now)
    except _UNSOUND as error:
        raise _not_proven(error) from None
    return _text(header, "kid")


def proven_logout(token: str, keys: KeySet, client: Client, now: int) -> Logout:
    """Return whom a logout token signs out, if one of the issuer's keys signed it.

    NotProven where it did not, or the token is another issuer's, another client's, old, or no logout token
    (OpenID Connect Back-Channel Logout 1.0, 2.6).
    """
    return _checked_logout(_signed(token, keys).claims, client, now)


def _checked_logout(claims: Claims, client: Client, now: int) -> Logout:
    rules = jwt.JWTClaimsRegistry(
        now,
        _LEEWAY,
        iss={"essential": True, "value": client.issuer},
        aud={"essential": True, "value": client.id},
        iat={"essential": True},
    )
    try:
        rules.validate(dict(claims))
    except _UNSOUND as error:
        raise _not_proven(error) from None
    return _logout_of(claims, now)


def _logout_of(claims: Claims, now: int) -> Logout:
    events, issued = claims.get("events"), claims["iat"]
    if not isinstance(events, dict):
        raise NotProven("it is no logout token")
    if not isinstance(cast("dict[str, object]", events).get(_LOGOUT), dict):
        raise NotProven("it is no logout token")
    # An ID token has one: neither is taken for the other.
    if "nonce" in claims:
        raise NotProven("a logout token has no nonce")
    if not isinstance(issued, int | float) or now - issued > _LOGOUT_SECONDS + _LEEWAY:
        raise NotProven("the logout token is old")
    id_, sub, login_id = (_text(claims, name) for name in ("jti", "sub", "sid"))
    if id_ is None or (sub is None and login_id is None):
        raise NotProven("the logout token names nobody, or not itself")
    return Logout(id_, None if sub is None else person_id(claims), login_id)


def key_set(document: Mapping[str, object]) -> KeySet:
    """Return the keys of a document that are understood; the others are ignored (RFC 7517, 5)."""
    entries = document.get("keys")
    if not isinstance(entries, list):
        raise IssuerAway("its keys are no list")
    keys = map(_key, cast("list[object]", entries))
    return KeySet([key for key in keys if key is not None])


def _key(entry: object) -> Key | None:
    if not isinstance(entry, dict):
        return None
    try:
        key = JWKRegistry.import_key(cast("dict[str, Any]", entry))
        key.ensure_kid()
    except _UNSOUND:
        return None
    return key


def _text(claims: Claims, name: str) -> str | None:
    value = claims.get(name)
    if value is None or (isinstance(value, str) and value):
        return value
    raise NotProven(f"{name} is no text")


def _signed(token: str, keys: KeySet) -> jwt.Token:
    """Return a token that one of these keys signed; NotProven where none did."""
    try:
        return jwt.decode(token, keys, registry=_REGISTRY)
    except _UNSOUND as error:
        raise _not_proven(error) from None


def _not_proven(error: Exception) -> NotProven:
    return NotProven(f"{type(error).__name__} {getattr(error, 'claim', '')}".strip())
