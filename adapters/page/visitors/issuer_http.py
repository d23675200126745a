"""How an issuer is asked: over HTTP, within bounds of time and size."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, cast
from urllib.parse import urlsplit

import aiohttp

from onrecord.adapters.page.visitors.issuer import ClientRefused, IssuerAway, NotProven

_LARGEST: Final = 1 << 20
_CHUNK: Final = 1 << 16
_OK: Final = 200
_UNAUTHORIZED: Final = 401
_BAD_REQUESTS: Final = frozenset({400, _UNAUTHORIZED, 403})


@dataclass(frozen=True, slots=True)
class IssuerHttp:
    """Asks for JSON; each answer has to be whole within so many `seconds`."""

    seconds: float = 10.0

    async def get(self, url: str, authorization: str | None = None) -> dict[str, object]:
        """Return the object at a URL; IssuerAway where there is none.

        NotProven where the Authorization is refused.
        """
        status, body = await self._answer("GET", url, authorization=authorization)
        if authorization is not None and status in _BAD_REQUESTS:
            raise NotProven(f"the issuer refuses the access token: {status}")
        if status != _OK:
            raise IssuerAway(f"{_host(url)} answers with {status}")
        return _object(body)

    async def post(
        self, url: str, form: Mapping[str, str], authorization: str | None
    ) -> dict[str, object]:
        """Return the object that a form is answered with; NotProven where the form is refused.

        ClientRefused where it is refused for how the service shows who it is (RFC 6749, 5.2). IssuerAway
        where the answer is no object.
        """
        status, body = await self._answer("POST", url, form, authorization)
        if status in _BAD_REQUESTS:
            if status == _UNAUTHORIZED or _object(body).get("error") == "invalid_client":
                raise ClientRefused(f"the issuer refuses the client or its secret: {status}")
            raise NotProven(f"the issuer refuses the code: {status}")
        if status != _OK:
            raise IssuerAway(f"{_host(url)} answers with {status}")
        return _object(body)

    async def _answer(
        self,
        method: str,
        url: str,
        form: Mapping[str, str] | None = None,
        authorization: str | None = None,
    ) -> tuple[int, bytes]:
        headers = {"accept": "application/json"}
        if authorization is not None:
            headers["authorization"] = authorization
        try:
            async with (
                asyncio.timeout(self.seconds),
                aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session,
                session.request(
                    method,
                    url,
                    data=form,
                    headers=headers,
                    # A redirect would take the code and the secret elsewhere.
                    allow_redirects=False,
                ) as response,
            ):
                return response.status, await _bounded(response)
        except (aiohttp.ClientError, OSError) as error:
            raise IssuerAway(f"{_host(url)}: {self._cause(error)}") from None

    def _cause(self, error: Exception) -> str:
        """Return why there is no answer, without what the issuer sent: that may be anything."""
        match error:
            case TimeoutError():
                return f"no answer within {self.seconds:g} seconds"
            case aiohttp.ClientConnectorCertificateError():
                return f"its certificate is not trusted: {error.certificate_error}"
            case OSError(strerror=str(text)):
                return text
            case _:
                return type(error).__name__


def _host(url: str) -> str:
    return urlsplit(url).netloc.rpartition("@")[2]


async def _bounded(response: aiohttp.ClientResponse) -> bytes:
    body = bytearray()
    async for chunk in response.content.iter_chunked(_CHUNK):
        body += chunk
        if len(body) > _LARGEST:
            raise IssuerAway("its answer is too large")
    return bytes(body)


def _object(body: bytes) -> dict[str, object]:
    try:
        document = cast("object", json.loads(body))
    except (ValueError, RecursionError):
        raise IssuerAway("its answer is no JSON") from None
    if not isinstance(document, dict):
        raise IssuerAway("its answer is no object")
    return cast("dict[str, object]", document)
