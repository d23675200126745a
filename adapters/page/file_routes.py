"""The route of the page's own style and scripts: browsers ask for each once, as long as it stays as it is."""

from __future__ import annotations

from typing import Any, Final

from starlette.responses import Response

from onrecord.adapters.page.answers import HEADERS, problem_page
from onrecord.adapters.page.static_files import StaticFile, edition, files
from onrecord.adapters.service.model import Empty
from onrecord.adapters.service.problems import NOT_FOUND, Problem
from onrecord.adapters.service.route import Call, Route

_CSS: Final = "text/css"
_KEPT: Final = "public, max-age=31536000, immutable"
"""An edition never changes: a browser keeps its files for a year, and does not ask whether they are new."""


async def static_file(call: Call[Empty, Empty]) -> Response:
    """Return a file of the page, or several style sheets as one: `page.css,live.css`.

    A page of another release may ask, while servers are renewed: it gets what is here, to keep for no time.
    """
    names = call.path["file"].split(",")
    parts = [files()[name] for name in names if name in files()]
    if len(parts) < len(names) or not _is_one_answer(names, parts):
        raise Problem(NOT_FOUND, "the page has no such file")
    is_current = call.path["edition"] == edition()
    headers = {**HEADERS, "cache-control": _KEPT} if is_current else HEADERS
    data = b"".join(part.data for part in parts)
    return Response(data, 200, headers, media_type=parts[0].media_type)


def _is_one_answer(names: list[str], parts: list[StaticFile]) -> bool:
    """Return whether files can be one answer: style sheets can, each once, so that no answer is large.

    A script has names of its own, which another may have too.
    """
    if len(parts) == 1:
        return True
    return len(set(names)) == len(names) and {part.media_type for part in parts} == {_CSS}


ROUTES: Final[tuple[Route[Any, Any], ...]] = (
    Route(
        *("GET", "/page/static/{edition}/{file}", "pageFile", "Read a file of the page."),
        role=None,
        query=Empty,
        body=Empty,
        answers=static_file,
        media_type="application/octet-stream",
        problem=problem_page,
    ),
)
