"""What the model saw at a version, and what changed since another one."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Final

from pydantic import Field
from starlette.responses import Response

from onrecord.adapters.asynchronous.store import store_of
from onrecord.adapters.conversation.conversation import Conversation, stream_of
from onrecord.adapters.conversation.history_queries import request_content
from onrecord.adapters.page.answers import shown
from onrecord.adapters.page.requests.request_diff_view import diff_view
from onrecord.adapters.page.requests.request_view import RequestView, request_view
from onrecord.adapters.page.routes import paged
from onrecord.adapters.service.model import Empty
from onrecord.adapters.service.parameters import Version
from onrecord.adapters.service.route import Call, Route
from onrecord.adapters.service.routes.conversations import At, begun
from onrecord.adapters.service.routes.requests import AtLeastOne, WindowQuery
from onrecord.domain.events import RequestSent
from onrecord.domain.log import RecordedEvent
from onrecord.projections.apis.request import APIS
from onrecord.projections.history.windows import MessageWindow, Window

WINDOWS: Final = (1, 2, 3, 5, 10, 20)
"""The windows that the page offers, in exchanges."""


class PageWindow(WindowQuery):
    """Which part of a conversation a request keeps: by default all of it."""

    step: AtLeastOne = 1
    """The page names the exchanges that a window keeps: so its edge moves by one."""


class RequestQuery(PageWindow, At):
    """Which request is shown."""


class RequestPageQuery(RequestQuery):
    """Which request is shown first."""

    api: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    """The name of the API; without one, that of the last request that was sent up to the version."""


class DiffQuery(PageWindow):
    """Which two requests are compared."""

    a: Version
    """The version of the first request."""

    b: Version
    """The version of the second request."""


async def requests(call: Call[RequestPageQuery, Empty]) -> Response:
    """Return the page with a slider over the versions of a conversation."""
    conversation, head = await begun(call)
    asked = call.query
    sent, at = _sent(await conversation.events()), min(asked.at or head.version, head.version)
    before = [api for version, api in sent if version <= at]
    api = asked.api or (before[-1] if before else APIS[0])
    return await shown(
        call,
        "requests.html",
        key=call.path["key"],
        at=at,
        version=head.version,
        api=api,
        apis=tuple(dict.fromkeys((*APIS, api))),
        exchanges=asked.exchanges,
        windows=WINDOWS,
        sent=tuple(version for version, _ in sent),
    )


async def request(call: Call[RequestQuery, Empty]) -> Response:
    """Return the fragment that shows the request at a version."""
    await begun(call)
    conversation = store_of(call.store).conversation(call.path["key"])
    asked = call.query
    seen = partial(_seen, conversation, asked.at, call.path["api"], asked.window())
    view, sent = await call.steps.run(seen)
    before = [version for version, _ in sent if version < view.at]
    return await shown(
        call,
        "_request.html",
        key=call.path["key"],
        view=view,
        before=before[-1] if before else None,
        sent_to=dict(sent).get(view.at),
        exchanges=asked.exchanges,
    )


async def diff(call: Call[DiffQuery, Empty]) -> Response:
    """Return the fragment that shows what changed from one request to another."""
    conversation, _ = await begun(call)
    asked = call.query
    changed = await conversation.diff(asked.a, asked.b, api=call.path["api"], window=asked.window())
    view = diff_view(changed, await conversation.conversation_id)
    return await shown(call, "_diff.html", key=call.path["key"], view=view)


def _seen(
    conversation: Conversation, at: int | None, api: str, window: Window | MessageWindow | None
) -> tuple[RequestView, list[tuple[int, str]]]:
    """Return the request at a version, and the requests that were sent up to it."""
    made, content = request_content(conversation, at, api, window)
    recorded = list(stream_of(conversation).read_through(content.version))
    view = request_view(made, content, recorded, conversation.documents())
    own = [each for each in recorded if each.conversation_id == conversation.conversation_id]
    return view, _sent(own)


def _sent(recorded: list[RecordedEvent]) -> list[tuple[int, str]]:
    """Return the version and the API of each request of the main branch that was sent."""
    events = ((each.version, each.event()) for each in recorded if each.type == "request.sent")
    return [
        (version, event.api)
        for version, event in events
        if isinstance(event, RequestSent) and event.line is None
    ]


_REQUESTS: Final = "/c/{key}/requests"

ROUTES: Final[tuple[Route[Any, Any], ...]] = (
    paged(_REQUESTS, "pageRequests", "What did the model see?", requests, RequestPageQuery),
    paged(
        *(_REQUESTS + "/{api}", "pageRequest", "What did the model see at a version?"),
        *(request, RequestQuery),
    ),
    paged(
        *(_REQUESTS + "/{api}/diff", "pageDiff", "What changed in what the model saw?"),
        *(diff, DiffQuery),
    ),
)
