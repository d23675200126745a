"""Secrets are cut out of what is stored; a keyed digest stays, so that equal ones stay equal.

What people and models say (messages, instructions) is the record and is kept as it is. Everything
else of a request is searched for members whose name says that they are secret, and for URLs that
carry a key.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias, cast

from hansard.domain.jsontext import JsonObject

Digest: TypeAlias = Callable[[str], bytes]
"""The store's keyed digest of a text."""

PLACEHOLDER: Final = "$hansard.cut:"

SAID: Final[dict[str, frozenset[str]]] = {
    "anthropic-messages": frozenset({"messages", "system"}),
}
"""The members of a request that hold what was said, by API."""

# mcp_servers[].authorization_token (Anthropic), headers of tools, and what people call such things.
_SECRET_NAMES: Final = frozenset(
    {
        *("accesstoken", "apikey", "authorization", "authorizationtoken", "authtoken"),
        *("bearertoken", "clientsecret", "cookie", "password", "passwd", "proxyauthorization"),
        *("refreshtoken", "secret", "secretkey", "sessiontoken", "xapikey"),
    }
)
_SECRET_PARAMETERS: Final = re.compile(
    r"(?P<name>[?&;#](?:api[-_]?key|key|(?:access|auth|refresh|session)?[-_]?token|sig|signature"
    r"|secret|client[-_]?secret|password|auth|authorization|x-amz-signature"
    r"|x-amz-security-token|x-amz-credential|x-goog-signature)=)(?P<value>[^&;#\s]+)",
    re.IGNORECASE,
)
_USER_INFO: Final = re.compile(
    r"(?P<name>\b[a-z][a-z0-9+.-]*://)(?P<value>[^/?#\s@]+)(?=@)", re.IGNORECASE
)


def cut(request: JsonObject, api: str, digest: Digest) -> tuple[JsonObject, tuple[str, ...]]:
    """Return a request without its secrets, and the JSON pointers (RFC 6901) of those cut.

    The request itself is not changed; without a secret it is returned as it is.
    """
    kept = SAID.get(api, frozenset())
    places: list[str] = []
    members = {
        name: value if name in kept else _cut(value, name, f"/{_escaped(name)}", digest, places)
        for name, value in request.items()
    }
    return (members, tuple(places)) if places else (request, ())


def cut_url(text: str, digest: Digest) -> str:
    """Return a text with the keys that URLs in it carry replaced by their digests."""

    def replaced(found: re.Match[str]) -> str:
        return found["name"] + _stands_for(found["value"], digest)

    if "=" not in text and "@" not in text:
        return text
    return _USER_INFO.sub(replaced, _SECRET_PARAMETERS.sub(replaced, text))


def cut_all(value: Any, digest: Digest) -> Any:
    """Return a value, such as the body of an error, with secrets cut wherever they stand."""
    return _cut(value, "", "", digest, [])


def _cut(value: Any, name: str, place: str, digest: Digest, places: list[str]) -> Any:
    match value:
        case str() if _is_secret(name) and value:
            places.append(place)
            return _stands_for(value, digest)
        case str():
            clean = cut_url(value, digest)
            if clean != value:
                places.append(place)
            return clean
        case dict():
            return {
                key: _cut(held, key, f"{place}/{_escaped(key)}", digest, places)
                for key, held in cast("JsonObject", value).items()
            }
        case list():
            return [
                _cut(held, name, f"{place}/{index}", digest, places)
                for index, held in _numbered(value)
            ]
        case _:
            return value


def _numbered(value: Any) -> Iterator[tuple[int, Any]]:
    return enumerate(cast("list[Any]", value))


def _is_secret(name: str) -> bool:
    return re.sub(r"[^a-z]", "", name.lower()) in _SECRET_NAMES


def _stands_for(secret: str, digest: Digest) -> str:
    return secret if secret.startswith(PLACEHOLDER) else PLACEHOLDER + digest(secret).hex()


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
