"""The page's own style and scripts: the files that are there, and no others."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from starlette.responses import Response

from onrecord.adapters.page.answers import HEADERS, problem_page
from onrecord.adapters.service.model import Empty
from onrecord.adapters.service.problems import NOT_FOUND, Problem
from onrecord.adapters.service.route import Call, Route, etag, is_known, not_modified

_FOLDER: Final = Path(__file__).parent / "static"
_TYPES: Final = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file of the page, and the tag of its bytes."""

    media_type: str
    data: bytes
    tag: str


async def static_file(call: Call[Empty, Empty]) -> Response:
    """Return a file of the page."""
    file = files().get(call.path["file"])
    if file is None:
        raise Problem(NOT_FOUND, "the page has no such file")
    if is_known(call.request, file.tag):
        return not_modified(file.tag)
    headers = {**HEADERS, "etag": file.tag}
    return Response(file.data, 200, headers, media_type=file.media_type)


@cache
def files() -> dict[str, StaticFile]:
    """Return the files of the page by name."""
    return {path.name: _read(path) for path in sorted(_FOLDER.iterdir()) if path.suffix in _TYPES}


def _read(path: Path) -> StaticFile:
    data = path.read_bytes()
    return StaticFile(_TYPES[path.suffix], data, etag(sha256(data).hexdigest()[:32]))


ROUTES: Final[tuple[Route[Any, Any], ...]] = (
    Route(
        *("GET", "/page/static/{file}", "pageFile", "Read a file of the page."),
        role=None,
        query=Empty,
        body=Empty,
        answers=static_file,
        media_type="application/octet-stream",
        problem=problem_page,
    ),
)
