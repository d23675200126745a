"""Where a service is, and the key for it: what is looked through before anything is sent."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Final
from urllib.parse import SplitResult, urlsplit

from onrecord.domain.errors import InvalidInput

_WHERE: Final = "https://host, or http://127.0.0.1:4180 on this machine"


def base_of(url: str) -> str:
    """Return the URL that the paths of a service are appended to.

    InvalidInput where it holds a key or a password, or would send one in clear to another machine.
    What is shown of it holds no secret.
    """
    parts = _parts(url)
    if "@" in parts.netloc:
        raise InvalidInput("a service's URL holds no key: set ONRECORD_KEY, or give key=")
    if parts.query or parts.fragment:
        raise InvalidInput(f"a service's URL is only where it is: {_WHERE}")
    if parts.scheme == "http" and not _is_loopback(parts.hostname or ""):
        raise InvalidInput(
            "http would send keys and content in clear: use https for other machines"
        )
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


def _parts(url: str) -> SplitResult:
    # The URL itself is not repeated: it may hold a key.
    unreadable = InvalidInput(f"the service's URL cannot be read: write {_WHERE}")
    if not url.isascii() or any(character.isspace() for character in url):
        raise unreadable
    try:
        parts = urlsplit(url)
        has_host = bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise unreadable from None
    if not has_host:
        raise unreadable
    return parts


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def key_given(key: str | None) -> str | None:
    """Return a key that can be sent; InvalidInput, which does not repeat it, where it cannot."""
    if not key:
        return None
    if not key.isascii() or not key.isprintable() or " " in key:
        raise InvalidInput(
            "the key is no key of a service: copy it as `onrecord keys issue` gave it"
        )
    return key
