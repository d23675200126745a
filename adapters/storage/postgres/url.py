"""What a `postgresql:` URL may show, read as libpq reads it: it knows no fragments, and `#` no sign."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote

_SECRET: Final = re.compile(r"password|secret|token|_key")
"""In the names of libpq's parameters that are secrets (libpq, "Parameter Key Words")."""

_SECOND_AT: Final = re.compile(r"\w+://(?:[^/@]*@|[^/@?]*/)[^@?]*@")
"""An @ where libpq expects none: behind the first one, or behind a slash."""

_EARLY_PARAMETERS: Final = re.compile(r"\w+://(?:[^/@:?]*\?|[^/@?]*\?\w+=)[^/@]*@")
"""Parameters that libpq takes for the login: no slash ends the address before their @."""


def is_ambiguous(url: str) -> bool:
    """Whether libpq may take a part of the password for the host, the port or the database."""
    return (_SECOND_AT.match(url) or _EARLY_PARAMETERS.match(url)) is not None


def without_secrets(url: str) -> str:
    """Return an URL without what is secret in it; only its scheme where it is ambiguous.

    Nothing of what is no URL.
    """
    scheme, colon, address = url.partition("://")
    if not colon:
        return "…"
    if is_ambiguous(url):
        return f"{scheme}://…"
    login, at, place = address.partition("@")
    if not at or "/" in login:
        login, place = "", address
    place, _, parameters = place.partition("?")
    shown = "&".join(part for part in parameters.split("&") if not _is_secret(part))
    return f"{scheme}://{login.partition(':')[0]}{at if login else ''}{place}{shown and '?'}{shown}"


def _is_secret(parameter: str) -> bool:
    return _SECRET.search(unquote(parameter.partition("=")[0]).lower()) is not None
