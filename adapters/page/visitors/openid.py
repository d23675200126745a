"""The code flow of OpenID Connect, with PKCE and a nonce."""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import Callable, Mapping
from typing import Final, cast
from urllib.parse import quote

from authlib.common.urls import add_params_to_uri  # type: ignore[import-untyped]
from authlib.oauth2.rfc6749.parameters import prepare_grant_uri  # type: ignore[import-untyped]
from authlib.oauth2.rfc7636 import create_s256_code_challenge  # type: ignore[import-untyped]

from onrecord.adapters.page.visitors.issuer import (
    SCOPES,
    Client,
    ClientRefused,
    IssuerAway,
    Logout,
    Metadata,
    NotProven,
    SecretPlace,
    UserinfoAway,
    metadata_of,
)
from onrecord.adapters.page.visitors.issuer_http import IssuerHttp
from onrecord.adapters.page.visitors.issuer_keys import IssuerKeys
from onrecord.adapters.page.visitors.pending_logins import PendingLogin
from onrecord.adapters.page.visitors.people import Claims
from onrecord.adapters.page.visitors.tokens import (
    claims_with,
    key_id_of_logout,
    proven_claims,
    proven_logout,
)

_KNOWN_FOR: Final = 3_600.0
"""How many seconds the endpoints of the issuer are kept. Its keys are kept apart from them."""


class OpenIdIssuer:
    """Sends people to an issuer, and believes its ID tokens and what its userinfo endpoint adds."""

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
        self._keys = IssuerKeys(self._jwks, elapsed)

    @property
    def host(self) -> str:
        """The host of the issuer, as people know it."""
        return self._client.host

    @property
    def logout_url(self) -> str | None:
        """Where a browser goes to log out; None where there is no such place, or nobody knows yet."""
        endpoint = None if self._known is None else self._known.end_session_endpoint
        if endpoint is None:
            return None
        url: str = add_params_to_uri(endpoint, [("client_id", self._client.id)])
        return url

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
        answer = await self._redeemed(code, login, metadata)
        keys = await self._keys.newest()
        claims = proven_claims(answer, keys, self._client, login.nonce, int(self._now()))
        token = answer.get("access_token")
        if metadata.userinfo_endpoint is None or not isinstance(token, str):
            return claims
        try:
            userinfo = await self._http.get(metadata.userinfo_endpoint, f"Bearer {token}")
        except (IssuerAway, NotProven) as error:
            raise UserinfoAway(claims, str(error)) from None
        return claims_with(claims, userinfo)

    async def logout(self, token: str) -> Logout:
        """Return whom a logout token signs out; NotProven and IssuerAway as `Issuer` has it."""
        kid = key_id_of_logout(token, self._client, int(self._now()))
        keys = await self._keys.having(kid)
        return proven_logout(token, keys, self._client, int(self._now()))

    async def _redeemed(
        self, code: str, login: PendingLogin, metadata: Metadata
    ) -> dict[str, object]:
        """Return what an issuer gives for a code, wherever it takes the secret of this client.

        An issuer may list two places, and take one of each client. It looks at the secret before the code.
        """
        *places, last = metadata.secret_places
        for place in places:
            try:
                return await self._http.post(
                    metadata.token_endpoint, *_token_request(self._client, place, code, login)
                )
            except ClientRefused:
                continue
        return await self._http.post(
            metadata.token_endpoint, *_token_request(self._client, last, code, login)
        )

    async def _jwks(self) -> Mapping[str, object]:
        return await self._http.get((await self._metadata()).jwks_uri)

    async def _metadata(self) -> Metadata:
        async with self._looking:
            if self._known is None or self._elapsed() >= self._known_until:
                url = self._client.issuer.rstrip("/") + "/.well-known/openid-configuration"
                self._known = metadata_of(self._client.issuer, await self._http.get(url))
                self._known_until = self._elapsed() + _KNOWN_FOR
            return self._known


def _token_request(
    client: Client, place: SecretPlace, code: str, login: PendingLogin
) -> tuple[dict[str, str], str | None]:
    """Return the form that a code is redeemed by, and the Authorization where the secret is there."""
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": login.redirect_uri,
        "code_verifier": login.verifier,
    }
    if place == "form":
        return {**form, "client_id": client.id, "client_secret": client.secret}, None
    # RFC 6749, 2.3.1: both are encoded first.
    pair = f"{quote(client.id, safe='')}:{quote(client.secret, safe='')}"
    return form, f"Basic {base64.b64encode(pair.encode()).decode()}"
