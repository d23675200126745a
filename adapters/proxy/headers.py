"""Which headers pass: all but those of one connection, and those that are for the proxy itself."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from onrecord.adapters.proxy.asgi import Header
from onrecord.adapters.proxy.refusals import Refusal

WARNING: Final = b"x-onrecord-warning"
"""The header of an answer that says what was not recorded."""

_OWN: Final = ("x-onrecord-", "onrecord-")
"""How the headers begin that are for the proxy itself; one of them binds a call (`tenancy.HEADER`)."""

_CONNECTION: Final = b"connection"
_HOP_BY_HOP: Final = frozenset(
    (_CONNECTION, b"keep-alive", b"te", b"trailer", b"transfer-encoding", b"upgrade")
)
"""The headers of one connection (RFC 9110, 7.6.1), with all that begin so: `proxy-`."""

_KEY: Final = re.compile(r"(?<![A-Za-z0-9])ork_[0-9a-f]{32}_")
_PROXY: Final = b"proxy-"
_MADE_ANEW: Final = frozenset((b"host", b"content-length", b"expect"))


def passed_on(headers: Iterable[Header]) -> list[tuple[str, str]]:
    """Return the headers of a request that go to the provider, in order; Refusal where one cannot."""
    kept = _end_to_end(headers)
    texts = [(_text(name), _text(value)) for name, value in kept if name not in _MADE_ANEW]
    return [(name, value) for name, value in texts if not _is_own(name)]


def must_have_no_key_of_ours(headers: Iterable[tuple[str, str]], query: str) -> None:
    """Refuse what would hand a key of the record to the provider, where its own key belongs."""
    if any(_KEY.search(text) for text in (query, *(value for _, value in headers))):
        raise Refusal(
            400,
            "a key of Onrecord stands where the provider's belongs: it goes into the path alone",
        )


def handed_back(headers: Iterable[Header]) -> list[Header]:
    """Return the headers of an answer that go to the program, as they came."""
    return list(_end_to_end(headers))


def by_name(headers: Iterable[Header]) -> Mapping[str, str]:
    """Return headers by their names in small letters; those that come twice are joined."""
    table: dict[str, str] = {}
    for raw_name, raw_value in headers:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        table[name] = f"{table[name]}, {value}" if name in table else value
    return table


def _end_to_end(headers: Iterable[Header]) -> Iterator[Header]:
    pairs = [(bytes(name), bytes(value)) for name, value in headers]
    named = {
        word.strip().lower()
        for name, value in pairs
        if name.lower() == _CONNECTION
        for word in value.split(b",")
    }
    for name, value in pairs:
        lower = name.lower()
        if lower in _HOP_BY_HOP or lower in named or lower.startswith(_PROXY):
            continue
        yield name, value


def _text(data: bytes) -> str:
    try:
        return data.decode()  # It is encoded so again.
    except UnicodeDecodeError:
        raise Refusal(
            400, "a header is not UTF-8: it would not reach the provider as it is"
        ) from None


def _is_own(name: str) -> bool:
    return name.lower().startswith(_OWN)
