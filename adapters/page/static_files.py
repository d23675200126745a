"""The page's own style and scripts: the files that are there, and where they are asked for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final

_FOLDER: Final = Path(__file__).parent / "static"
_TYPES: Final = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file of the page."""

    media_type: str
    data: bytes


@cache
def files() -> dict[str, StaticFile]:
    """Return the files of the page by name."""
    return {path.name: _read(path) for path in sorted(_FOLDER.iterdir()) if path.suffix in _TYPES}


@cache
def edition() -> str:
    """Return what tells the files of this release from those of others: it is part of their addresses."""
    digest = sha256()
    for name, file in files().items():
        digest.update(b"%s %d\n" % (name.encode(), len(file.data)))
        digest.update(file.data)
    return digest.hexdigest()[:16]


def _read(path: Path) -> StaticFile:
    return StaticFile(_TYPES[path.suffix], path.read_bytes())
