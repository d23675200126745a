"""No page is forgotten: `make browser` looks at each, and tries it with a hostile conversation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import pytest
from starlette.routing import compile_path

from onrecord.adapters.gateway.page_table import page_routes
from onrecord.adapters.page.proof.verification import Verifications
from onrecord.adapters.page.visitors.sessions import Sessions
from onrecord.adapters.page.visitors.visitors import Visitors
from tests.adapters.service.served import served
from tests.browser.hostile import PATHS
from tests.browser.places import PAGES

_FRAGMENTS: Final = {
    "pageRows": "a part of the page of a conversation",
    "pageTotals": "a part of the page of a conversation",
    "pageChanges": "a part of the page of a conversation",
    "pageRequest": "a part of the page of a request",
    "pageBlocks": "a part of the page of a request",
    "pageCopy": "a text that the page of a conversation copies",
}
_SILENT: Final = {"pageSignIn": "shows nothing of a conversation"}


@pytest.mark.parametrize(
    ("paths", "others"),
    [
        ((place.path for place in PAGES), _FRAGMENTS),
        (PATHS, _FRAGMENTS | _SILENT),
    ],
    ids=["demo", "hostile"],
)
def test_each_page_is_looked_at_in_a_browser(paths: Iterable[str], others: dict[str, str]) -> None:
    with served() as answering:
        routes = page_routes(Visitors(answering.service.door, Sessions()), Verifications())
    pages = {
        route.name: compile_path(route.path)[0]
        for route in routes
        if route.method == "GET" and route.media_type == "text/html"
    }
    plain = [path.partition("?")[0].partition("#")[0] for path in paths]
    forgotten = {name for name, of in pages.items() if not any(map(of.match, plain))}
    assert forgotten == others.keys()
