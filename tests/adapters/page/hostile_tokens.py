"""ID tokens that prove nobody, by what is wrong with them."""

from __future__ import annotations

import base64
import hmac
import json
from collections.abc import Callable
from typing import Any

from joserfc import jwt
from joserfc.jwk import ECKey

from tests.adapters.page.local_issuer import CLIENT, SECRET, LocalIssuer

Token = Callable[[LocalIssuer, dict[str, Any]], str | None]


def altered(**claims: Any) -> Token:
    return lambda issuer, good: issuer.signed({**good, **claims})


def without(name: str) -> Token:
    return lambda issuer, good: issuer.signed({k: v for k, v in good.items() if k != name})


def unsigned(issuer: LocalIssuer, claims: dict[str, Any]) -> str:
    del issuer
    return f"{signed_part('none', claims)}."


def by_secret(issuer: LocalIssuer, claims: dict[str, Any]) -> str:
    del issuer
    return by_hmac(SECRET.encode(), claims)


def by_public_key(issuer: LocalIssuer, claims: dict[str, Any]) -> str:
    return by_hmac(issuer.key.as_bytes("PEM", private=False), claims)


def by_hmac(key: bytes, claims: dict[str, Any]) -> str:
    part = signed_part("HS256", claims)
    return f"{part}.{encoded(hmac.digest(key, part.encode(), 'sha256'))}"


def by_another_key(issuer: LocalIssuer, claims: dict[str, Any]) -> str:
    return jwt.encode({"alg": "ES256", "kid": "k1"}, claims, ECKey.generate_key("P-256"))


def by_unknown_key(issuer: LocalIssuer, claims: dict[str, Any]) -> str:
    return jwt.encode({"alg": "ES256", "kid": "<b>k2"}, claims, ECKey.generate_key("P-256"))


def changed_after_signing(issuer: LocalIssuer, claims: dict[str, Any]) -> str:
    _, _, signature = issuer.signed(claims).split(".")
    return f"{signed_part('ES256', {**claims, 'sub': 'root'})}.{signature}"


def signed_part(algorithm: str, claims: dict[str, Any]) -> str:
    parts = ({"alg": algorithm, "kid": "k1"}, claims)
    return ".".join(encoded(json.dumps(part).encode()) for part in parts)


def encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


HOSTILE: dict[str, Token] = {
    "wrong nonce": altered(nonce="another"),
    "no nonce": without("nonce"),
    "wrong audience": altered(aud="another"),
    "no audience": without("aud"),
    "several audiences, for another": altered(aud=[CLIENT, "another"], azp="another"),
    "several audiences, for nobody": altered(aud=[CLIENT, "another"]),
    "another issuer": altered(iss="https://evil.example"),
    "expired": altered(iat=1_000, exp=2_000),
    "no end": without("exp"),
    "from the future": altered(iat=99_999_999_999),
    "not yet": altered(nbf=99_999_999_999),
    "nobody": altered(sub=""),
    "no subject": without("sub"),
    "of another access token": altered(at_hash="AAAA"),
    "no signature": unsigned,
    "signed by the secret": by_secret,
    "signed by the public key": by_public_key,
    "signed by another key": by_another_key,
    "signed by a key that is not there": by_unknown_key,
    "changed after signing": changed_after_signing,
    "no token": lambda issuer, claims: None,
    "nonsense": lambda issuer, claims: "<script>alert(1)</script>",
}
