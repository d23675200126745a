"""Which file a `sqlite:` URL names."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

from onrecord.domain.errors import InvalidInput


def path_of(url: str) -> Path:
    """Return the file that a URL names: sqlite:///talks.db in this folder, or sqlite:////var/…."""
    parts = urlsplit(url)
    path = unquote(parts.path)
    if parts.scheme != "sqlite" or parts.netloc or len(path) < 2:
        raise InvalidInput("the URL names no file: write sqlite:///talks.db")
    return Path(path[1:]).absolute()
