"""Where a request goes: `/<key>/<provider>/<path>`, or `/<key>/in/<conversation>/<provider>/<path>`.

The path is handed on as it is spelled. One that a server may read as another one is refused: dots
that lead upwards, empty segments, backslashes, characters that end a line.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple
from urllib.parse import unquote_to_bytes

from onrecord.adapters.proxy.asgi import Scope

CONVERSATION: Final = "in"
"""The segment behind which a conversation's key stands, percent-encoded."""

_PLAIN: Final = re.compile(r"[!-~]*")
"""What stands in a target on the wire: no blank, no control character, nothing but ASCII."""

_ODD: Final = re.compile(rb"[\x00-\x1f\x7f\\]")
_UPWARDS: Final = (b".", b"..")
_UNQUOTED_TIMES: Final = 3
"""How often a segment is unquoted before it is looked at: gateways unquote what was unquoted."""


class Address(NamedTuple):
    """The parts of a path; `path` is what the provider is asked for, as it is spelled."""

    key: str
    provider: str
    path: str
    query: str
    conversation: str | None = None


def address_of(scope: Scope) -> Address | None:
    """Return where a request goes; None where its path is none of the proxy's."""
    path = raw_path(scope)
    query = bytes(scope.get("query_string", b"")).decode("latin-1")
    if path is None or not _PLAIN.fullmatch(query) or "#" in query:
        return None
    key, _, rest = path.partition("/")
    provider, _, rest = rest.partition("/")
    conversation: str | None = None
    if provider == CONVERSATION:
        named, _, rest = rest.partition("/")
        provider, _, rest = rest.partition("/")
        try:
            conversation = unquote_to_bytes(named).decode()
        except UnicodeDecodeError:
            return None
    return Address(key, provider, rest, query, conversation) if key and provider else None


def raw_path(scope: Scope) -> str | None:
    """Return the path as it is on the wire, behind where the proxy is mounted; None for no path."""
    raw: bytes | None = scope.get("raw_path")
    if raw is None:
        return None
    path = raw.partition(b"?")[0].decode("latin-1")
    root: str = scope.get("root_path", "").rstrip("/")
    if not path.startswith(f"{root}/") or not _PLAIN.fullmatch(path) or "#" in path:
        return None
    return path[len(root) + 1 :]


def has_odd_segment(path: str) -> bool:
    """Whether a path may be read as another one; it begins behind its first slash."""
    if not path:
        return False
    *inner, last = path.split("/")
    return not all(inner) or any(map(_is_odd, (*inner, last)))


def _is_odd(segment: str) -> bool:
    data = segment.encode("latin-1")
    for _ in range(_UNQUOTED_TIMES):
        data = unquote_to_bytes(data)
        if _ODD.search(data) or any(part in _UPWARDS for part in data.split(b"/")):
            return True
    return False
