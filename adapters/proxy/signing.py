"""Requests that AWS answers only where they are signed for its own address.

A program signs for the address that it knows, which is the proxy's ("Signature Version 4"). So its
signature is worth nothing behind the proxy, and another one takes its place, or none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final, Protocol

from onrecord.adapters.proxy.refusals import Refusal
from onrecord.domain.errors import InvalidInput, NotInstalled

_SIGNED: Final = "aws4-"
_OF_SIGNATURE: Final = frozenset(
    ("authorization", "x-amz-date", "x-amz-security-token", "x-amz-content-sha256")
)
_SERVICE: Final = "bedrock"
_REGION: Final = re.compile(r"https?://bedrock-runtime(?:-fips)?\.([a-z0-9-]+)\.")


def unsigned() -> Refusal:
    """Return what a request is refused with that is signed for the proxy."""
    return Refusal(
        403,
        "the request is signed for this address, which AWS refuses: use AWS_BEARER_TOKEN_BEDROCK, "
        "have the proxy sign anew (--sign-bedrock), or record boto3 in the program",
    )


class Signer(Protocol):
    """Signs requests with credentials of the server's own."""

    def signed(
        self, method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes
    ) -> list[tuple[str, str]]:
        """Return the headers of a request with a signature for its URL; it may wait."""
        ...


def is_signed(headers: Sequence[tuple[str, str]]) -> bool:
    """Whether a program signed its request as AWS wants it."""
    return any(
        name.lower() == "authorization" and value.lower().startswith(_SIGNED)
        for name, value in headers
    )


class BedrockSigner:
    """Signs with the credentials that botocore finds for the server: whoever has a key uses them."""

    def __init__(self, region: str | None = None) -> None:
        """Sign for a region, else for that of each URL.

        NotInstalled without botocore, InvalidInput where the server has no credentials.
        """
        try:
            from botocore.session import Session  # type: ignore[import-untyped]  # it has no stubs
        except ModuleNotFoundError as exc:
            raise NotInstalled("signing for Bedrock", exc.name, "bedrock") from exc
        self._region = region
        session: Any = Session()
        self._credentials: Any = session.get_credentials()
        if self._credentials is None:
            raise InvalidInput(
                "the server has no credentials of AWS: set AWS_ACCESS_KEY_ID, or a role"
            )

    def signed(
        self, method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes
    ) -> list[tuple[str, str]]:
        """Return the headers of a request with a signature for its URL."""
        from botocore.auth import SigV4Auth  # type: ignore[import-untyped]  # it has no stubs
        from botocore.awsrequest import AWSRequest  # type: ignore[import-untyped]  # as above

        kept = [(name, value) for name, value in headers if name.lower() not in _OF_SIGNATURE]
        request: Any = AWSRequest(method=method, url=url, data=body)
        frozen = self._credentials.get_frozen_credentials()
        auth: Any = SigV4Auth(frozen, _SERVICE, self._region or _region_of(url))
        auth.add_auth(request)
        return [*kept, *((str(name), str(value)) for name, value in request.headers.items())]


def _region_of(url: str) -> str:
    match = _REGION.match(url)  # The program's part may say anything.
    if match is None:
        raise Refusal(403, "the region to sign for is not in the provider's URL: name it")
    return match[1]
