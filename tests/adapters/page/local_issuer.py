"""An issuer of OpenID Connect on a port: whoever comes is logged in at once, as the test says."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import secrets
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlencode

from joserfc import jwt
from joserfc.jwk import ECKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from tests.adapters.service.served import running
from tests.patience import PATIENCE

CLIENT = "onrecord page"
SECRET = "s:w/ordfish"
ADA = {"sub": "4711", "name": "Ada", "email": "ada@example.org", "email_verified": True}


@dataclass
class LocalIssuer:
    """What it says of itself and of whoever comes, and how it signs that."""

    url: str = ""
    key: ECKey = field(default_factory=lambda: ECKey.generate_key("P-256", {"kid": "k1"}))
    other_keys: list[object] = field(default_factory=list[object])
    """The keys that it lists before its own."""
    asked_for_keys: int = 0
    gives_keys: threading.Event = field(default_factory=threading.Event)
    """Whether it answers when it is asked for its keys, and does not keep whoever asks waiting."""
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    claims: dict[str, Any] = field(default_factory=lambda: dict[str, Any](ADA))
    sign: Callable[[dict[str, Any]], str | None] | None = None
    logins: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    """The queries of those who logged in, by code: each code counts once."""
    userinfo: dict[str, Any] | None = None
    """What it says of whoever logged in beside the ID token, to whom has the access token."""
    refuses: Literal["form", "header"] | None = None
    """Where it does not take the secret of this client."""
    auth: list[str] = field(default_factory=list[str])
    """How clients showed who they are."""

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/.well-known/openid-configuration", self._metadata),
                Route("/authorize", self._authorize),
                Route("/token", self._token, methods=["POST"]),
                Route("/keys", self._keys),
                Route("/userinfo", self._userinfo),
            ]
        )

    def signed(self, claims: dict[str, Any]) -> str:
        return jwt.encode({"alg": "ES256", "kid": self.key.kid}, claims, self.key)

    def change_key(self, kid: str) -> None:
        self.key = ECKey.generate_key("P-256", {"kid": kid})

    async def _metadata(self, request: Request) -> Response:
        del request
        return JSONResponse(
            {
                "issuer": self.url,
                "authorization_endpoint": f"{self.url}/authorize",
                "token_endpoint": f"{self.url}/token",
                "jwks_uri": f"{self.url}/keys",
                **({} if self.userinfo is None else {"userinfo_endpoint": f"{self.url}/userinfo"}),
                **self.metadata,
            }
        )

    async def _authorize(self, request: Request) -> Response:
        query = dict(request.query_params)
        assert (query["response_type"], query["client_id"]) == ("code", CLIENT)
        assert query["code_challenge_method"] == "S256"
        code = secrets.token_urlsafe(8)
        self.logins[code] = query
        back = {"code": code, "state": query["state"], "session_state": "is not looked at"}
        return RedirectResponse(f"{query['redirect_uri']}?{urlencode(back)}", 303)

    async def _token(self, request: Request) -> Response:
        form = {name: str(value) for name, value in (await request.form()).items()}
        self.auth.append(request.headers.get("authorization") or form.get("client_secret", ""))
        if self.refuses == ("form" if "client_secret" in form else "header"):
            return JSONResponse({"error": "invalid_client"}, 400)
        login = self.logins.pop(form["code"], None)
        if login is None or _challenge(form["code_verifier"]) != login["code_challenge"]:
            return JSONResponse({"error": "invalid_grant"}, 400)
        assert form["redirect_uri"] == login["redirect_uri"]
        now = int(time.time())
        times = {"iat": now, "exp": now + 300}
        named = {"iss": self.url, "aud": CLIENT, "nonce": login["nonce"]}
        token = (self.sign or self.signed)({**times, **named, **self.claims})
        return JSONResponse({"access_token": "access", "token_type": "Bearer", "id_token": token})

    async def _userinfo(self, request: Request) -> Response:
        if request.headers.get("authorization") != "Bearer access":
            return JSONResponse({"error": "invalid_token"}, 401)
        return JSONResponse(self.userinfo)

    async def _keys(self, request: Request) -> Response:
        del request
        self.asked_for_keys += 1
        await asyncio.to_thread(self.gives_keys.wait, PATIENCE)
        return JSONResponse({"keys": [*self.other_keys, self.key.as_dict(private=False)]})


@contextmanager
def local_issuer() -> Generator[LocalIssuer]:
    issuer = LocalIssuer()
    issuer.gives_keys.set()
    with running(issuer.app()) as (url, _):
        issuer.url = url
        yield issuer


def _challenge(verifier: str) -> str:
    digest = hashlib.sha256(verifier.encode()).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")
