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
    named = [files().get(name) for name in call.path["file"].split(",")]
    found = [file for file in named if file is not None]
    if len(found) < len(named) or not _is_one_answer(found):
        raise Problem(NOT_FOUND, "the page has no such file")
    is_current = call.path["edition"] == edition()
    headers = {**HEADERS, "cache-control": _KEPT} if is_current else HEADERS
    data = b"".join(file.data for file in found)
    return Response(data, 200, headers, media_type=found[0].media_type)


def _is_one_answer(found: list[StaticFile]) -> bool:
    """Whether files can be told as one: a script has names of its own, which another may have too."""
    return len(found) == 1 or {file.media_type for file in found} == {_CSS}


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
