"""The code flow of OpenID Connect, with PKCE and a nonce, and the check of ID tokens, by Authlib."""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import Callable, Mapping
from typing import Final, Protocol, cast
from urllib.parse import quote

from authlib.oauth2.rfc6749.parameters import prepare_grant_uri  # type: ignore[import-untyped]
from authlib.oauth2.rfc7636 import create_s256_code_challenge  # type: ignore[import-untyped]
from authlib.oidc.core import CodeIDToken  # type: ignore[import-untyped]
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet, KeySetSerialization
from joserfc.jws import JWSRegistry

from onrecord.adapters.page.visitors.issuer import (
    SCOPES,
    Client,
    Metadata,
    NotProven,
    metadata_of,
)
from onrecord.adapters.page.visitors.issuer_http import IssuerHttp
from onrecord.adapters.page.visitors.pending_logins import PendingLogin
from onrecord.adapters.page.visitors.roles import Claims

_ALGORITHMS: Final = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512"),
)
"""Signatures by a private key of the issuer. Not `none`, and none by a secret that the service knows too."""

_LEEWAY: Final = 60
"""How many seconds the clocks of the issuer and of the service may differ."""

_KNOWN_FOR: Final = 3_600.0
"""How many seconds the endpoints of the issuer are kept. Its keys are asked for at each login."""


class _Checked(Protocol):
    """Claims that Authlib checks, as far as they are typed."""

    def validate(self, now: int, leeway: int) -> None: ...


class OpenIdIssuer:
    """Sends people to an issuer, and believes what its ID tokens prove."""

    def __init__(
        self,
        client: Client,
        http: IssuerHttp | None = None,
        *,
        now: Callable[[], float] = time.time,
        elapsed: Callable[[], float] = time.monotonic,
    ) -> None:
        """Be known to the issuer as this client; `now` is in seconds since 1970-01-01 UTC."""
        self._client = client
        self._http = http or IssuerHttp()
        self._now = now
        self._elapsed = elapsed
        self._looking = asyncio.Lock()
        self._known: Metadata | None = None
        self._known_until = 0.0

    @property
    def host(self) -> str:
        """The host of the issuer, as people know it."""
        return self._client.host

    async def login_url(self, login: PendingLogin) -> str:
        """Return where a browser goes to log in; IssuerAway where nobody knows."""
        metadata = await self._metadata()
        return cast(
            "str",
            prepare_grant_uri(
                metadata.authorization_endpoint,
                self._client.id,
                "code",
                redirect_uri=login.redirect_uri,
                scope=" ".join(dict.fromkeys((*SCOPES, *self._client.scopes))),
                state=login.state,
                nonce=login.nonce,
                code_challenge=cast("str", create_s256_code_challenge(login.verifier)),
                code_challenge_method="S256",
            ),
        )

    async def claims(self, code: str, login: PendingLogin, sender: str | None) -> Claims:
        """Return what is proven of whoever came back with a code, once.

        The tokens are kept nowhere. NotProven and IssuerAway as `Issuer` has it.
        """
        metadata = await self._metadata()
        is_named_right = sender == self._client.issuer if sender else not metadata.names_itself
        if not is_named_right:
            raise NotProven("another issuer sent the browser back")
        answer = await self._http.post(
            metadata.token_endpoint, *_token_request(self._client, metadata, code, login)
        )
        keys = await self._http.get(metadata.jwks_uri)
        return proven_claims(answer, keys, self._client, login.nonce, int(self._now()))

    async def _metadata(self) -> Metadata:
        async with self._looking:
            if self._known is None or self._elapsed() >= self._known_until:
                url = self._client.issuer.rstrip("/") + "/.well-known/openid-configuration"
                self._known = metadata_of(self._client.issuer, await self._http.get(url))
                self._known_until = self._elapsed() + _KNOWN_FOR
            return self._known


def proven_claims(
    answer: Mapping[str, object],
    keys: Mapping[str, object],
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
    registry = JWSRegistry(algorithms=_ALGORITHMS, strict_check_header=False)
    try:
        key_set = KeySet.import_key_set(cast("KeySetSerialization", keys))
        signed = jwt.decode(token, key_set, registry=registry)
        claims = cast("_Checked", CodeIDToken(signed.claims, signed.header, options, params))
        claims.validate(now, _LEEWAY)
    except (JoseError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise NotProven(f"{type(error).__name__} {getattr(error, 'claim', '')}".strip()) from None
    return signed.claims


def _token_request(
    client: Client, metadata: Metadata, code: str, login: PendingLogin
) -> tuple[dict[str, str], str | None]:
    """Return the form that a code is redeemed by, and the Authorization where the form has no secret."""
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": login.redirect_uri,
        "code_verifier": login.verifier,
    }
    if metadata.takes_secret_in_form:
        return {**form, "client_id": client.id, "client_secret": client.secret}, None
    # RFC 6749, 2.3.1: both are encoded first.
    pair = f"{quote(client.id, safe='')}:{quote(client.secret, safe='')}"
    return form, f"Basic {base64.b64encode(pair.encode()).decode()}"
