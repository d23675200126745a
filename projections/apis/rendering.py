"""Requests for any API, from events; pure: same events, options and blobs give the same bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

from onrecord.domain.errors import RoundOpen
from onrecord.projections.api import FOLDERS, known_api, release_of
from onrecord.projections.apis.request import Options, Request, without_own
from onrecord.projections.history.history import History
from onrecord.projections.history.message_window import in_window
from onrecord.projections.history.responses import Item
from onrecord.projections.history.turns import history

APIS: Final = tuple(FOLDERS)
"""The names of the APIs that requests can be made for."""

_NO_BLOBS: Final[Mapping[str, bytes]] = MappingProxyType({})
_SOURCES: Final = (
    *("domain/blobs.py", "domain/conversation.py", "domain/documents.py", "domain/jsontext.py"),
    *("domain/prefix.py", "projections/api.py", "projections/apis/**/*.py"),
    *("projections/apis/*.toml", "projections/history/*.py"),
)
"""What decides what a request says: files, and patterns of the names of files."""


def render(
    events: Iterable[Item] | History, options: Options, blobs: Mapping[str, bytes] = _NO_BLOBS
) -> Request:
    """Return the request that these events make.

    `events` are those of the window, in order of version, with the ones that set the instructions
    and tools in force before them; or the history folded from them. `blobs` holds the bytes of
    `needed_blobs(history, options)` by SHA-256 in hex. Raises UnknownApi, NothingToSend where no
    turn can be sent, RoundOpen where calls have no result and the options refuse that,
    UnsupportedDocument where the user asks about a document that does not go, CorruptRecord where a
    blob is missing.
    """
    renderer = known_api(options.api).render
    folded = events if isinstance(events, History) else history(events, options.missing)
    if options.missing == "refuse" and folded.awaited:
        raise RoundOpen(folded.awaited)
    viewed = in_window(folded, options.window)
    return renderer(without_own(viewed, options.api), options, blobs)


def renderer_digest(api: str) -> str:
    """Return the SHA-256, in hex, of what decides what a request says.

    That is source text of ours; for an API that a package adds, the package's release as well.
    """
    release = release_of(api)
    own = _source_digest()
    return hashlib.sha256(f"{own}:{release}".encode()).hexdigest() if release else own


@cache
def _source_digest() -> str:
    root = Path(__file__).parents[2]
    digest = hashlib.sha256()
    for path in (path for source in _SOURCES for path in sorted(root.glob(source))):
        text = path.read_bytes()
        digest.update(f"{path.relative_to(root).as_posix()}:{len(text)}:".encode())
        digest.update(text)
    return digest.hexdigest()
