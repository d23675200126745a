"""Answers of the page: a template laid out with values, under headers that let nothing foreign in."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, cast

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import Response

from onrecord.adapters.page.static_files import edition
from onrecord.adapters.page.words import FILTERS
from onrecord.adapters.service.access import Access, ShowingResponse, Shows
from onrecord.adapters.service.problems import Problem, headers_of
from onrecord.adapters.service.route import Call, etag, is_known, not_modified

_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none';"
    " require-trusted-types-for 'script'; trusted-types onrecord"
)

HEADERS: Final = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "private, no-cache",
}
"""What a conversation says is anybody's: the browser runs and loads nothing but the page's own files."""

_TEMPLATES: Final = Path(__file__).parent / "templates"


async def rendered_list(
    call: Call[Any, Any], template: str, shows: Shows, **values: Any
) -> Response:
    """Return the same as `rendered`, and have the access log told what of conversations is on the page."""
    page = await rendered(call, template, **values)
    response = ShowingResponse(page.body, page.status_code)
    response.raw_headers = page.raw_headers
    response.shows = shows
    return response


async def rendered(call: Call[Any, Any], template: str, **values: Any) -> Response:
    """Return a template laid out with values, or say that the client has it already."""
    # Beside the event loop: a page may be long, and others wait. Long reads have other threads.
    lay_out = partial(html_of, template, {"visitor": call.access, **values})
    body = await asyncio.get_running_loop().run_in_executor(_layouts(), lay_out)
    tag = etag(sha256(body).hexdigest()[:32])
    if is_known(call.request, tag):
        return not_modified(tag)
    return Response(body, 200, {**HEADERS, "etag": tag}, media_type="text/html")


def problem_page(problem: Problem, instance: str, visitor: Access | None = None) -> Response:
    """Return the page that tells of a problem which came up at a path; with a visitor, also their links."""
    values: dict[str, Any] = {"problem": problem, "instance": instance}
    if visitor is not None:
        values["visitor"] = visitor
    body = html_of("problem.html", values)
    headers = {**HEADERS, **headers_of(problem)}
    return Response(body, problem.type.status, headers, media_type="text/html")


def html_of(template: str, values: dict[str, Any]) -> bytes:
    """Return a template laid out with values, in UTF-8."""
    # Half a surrogate pair has no UTF-8; `visible` shows it as its escape, attributes hold none.
    return _environment().get_template(template).render(values).encode(errors="replace")


@cache
def _layouts() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(2, "onrecord-page")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters.update(FILTERS)
    # Jinja types its globals by those that it has itself.
    cast("dict[str, Any]", environment.globals)["static"] = f"/page/static/{edition()}"
    return environment
