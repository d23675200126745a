"""What the model saw at a version, and what changed since another one."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Final
from urllib.parse import urlencode

from pydantic import Field, field_validator
from starlette.responses import Response

from onrecord.adapters.asynchronous.store import store_of
from onrecord.adapters.conversation.conversation import Conversation
from onrecord.adapters.page.answers import rendered
from onrecord.adapters.page.forms import none_if_blank
from onrecord.adapters.page.requests.compared_requests import read_comparison
from onrecord.adapters.page.requests.request_reading import END, Wish
from onrecord.adapters.page.requests.sent_requests import recorded_request, requests_sent
from onrecord.adapters.page.requests.shown_request import AS_SENT, Choice, Shown, plan, read_shown
from onrecord.adapters.page.routes import get_route
from onrecord.adapters.service.model import Empty
from onrecord.adapters.service.parameters import Version
from onrecord.adapters.service.route import Call, Route
from onrecord.adapters.service.routes.conversations import At, begun
from onrecord.adapters.service.routes.requests import AtLeastOne, WindowQuery
from onrecord.domain.errors import NothingToSend, UnsupportedDocument
from onrecord.projections.apis.request import APIS
from onrecord.projections.history.windows import MessageWindow, Window

WINDOWS: Final = (1, 2, 3, 5, 10, 20)
"""The windows that the page offers, in exchanges."""

MESSAGE_WINDOWS: Final = (5, 10, 20, 50)
"""The windows that the page offers, in messages."""

MOST_MISSING: Final = 4
"""So many things that are not in a request, or documents that are, are not folded."""

_STRATEGY: Final = "message-window"

GONE: Final = 499
"""The status for a browser that waits no more: it never sees it."""


class PageWindow(WindowQuery):
    """Which part of a conversation a request keeps: by default all of it."""

    step: AtLeastOne = 1
    """The page names the exchanges that a window keeps: so its edge moves by one."""

    _blanks = field_validator("exchanges", "messages", mode="before")(none_if_blank)

    def named(self) -> dict[str, int | str]:
        """Return what an address names of the window."""
        if self.exchanges is not None:
            return {"exchanges": self.exchanges, "step": self.step, "pinned": self.pinned}
        if self.messages is None:
            return {}
        strategy = {} if self.strategy == _STRATEGY else {"strategy": self.strategy}
        return {"messages": self.messages, **strategy}


class RequestQuery(PageWindow, At):
    """Which request is shown, and which of its blocks."""

    whole: bool = False
    """Whether all of a long conversation is rendered and looked through, and not its end alone."""

    upto: AtLeastOne | None = None
    """The number of the last block that is shown; without one, the last of the request."""


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

    a_api: Annotated[str, Field(max_length=100)] = ""
    """The API of the first request; without one it is as it was sent, or for the API of the second."""


async def requests(call: Call[RequestPageQuery, Empty]) -> Response:
    """Return the page of a request, with a slider over the versions of its conversation."""
    _, head = await begun(call)
    query = call.query
    at = min(query.at or head.version, head.version)
    choice = Choice(at, query.api, query.window(), query.upto, query.whole)
    page = await call.steps.run_long(partial(_page, _plain(call), choice))
    sent = await call.steps.run_long(partial(requests_sent, _plain(call)))
    return await rendered(
        call,
        "requests.html",
        **_values(call, page),
        sent=sent,
        version=head.version,
        asked_at=query.at or at,
    )


async def request(call: Call[RequestQuery, Empty]) -> Response:
    """Return the fragment that shows the request at a version."""
    return await _fragment(call, "_request.html")


async def blocks(call: Call[RequestQuery, Empty]) -> Response:
    """Return the fragment that shows some blocks of the request at a version."""
    return await _fragment(call, "_blocks.html")


async def diff(call: Call[DiffQuery, Empty]) -> Response:
    """Return the page of what changed from one request to another."""
    await begun(call)
    query, api = call.query, call.path["api"]
    before = Wish(query.a_api or api, query.a, query.window())
    after = Wish(api, query.b, query.window())
    read = partial(read_comparison, _plain(call), before, after, is_as_sent=not query.a_api)
    view = await call.steps.run_long(read)
    chosen = {} if api == AS_SENT else {"api": api, **query.named()}
    key = call.path["key"]
    return await rendered(call, "diff.html", key=key, view=view, chosen=_joined(chosen))


async def recorded(call: Call[Empty, Empty]) -> Response:
    """Return the page of a request as it was sent."""
    await begun(call)
    read = partial(recorded_request, _plain(call), call.path["version"])
    view = await call.steps.run_long(read)
    return await rendered(call, "recorded_request.html", key=call.path["key"], view=view)


async def _fragment(call: Call[RequestQuery, Empty], template: str) -> Response:
    _, head = await begun(call)
    if await call.request.is_disconnected():
        return Response(status_code=GONE)
    at = call.query.at or head.version
    page = await call.steps.run_long(partial(_seen, _plain(call), _choice(call, at)))
    if await call.request.is_disconnected():
        return Response(status_code=GONE)
    return await rendered(call, template, **_values(call, page))


def _plain(call: Call[Any, Any]) -> Conversation:
    return store_of(call.store).conversation(call.path["key"])


def _choice(call: Call[RequestQuery, Any], at: int) -> Choice:
    """Return what is chosen by the address of a fragment: no API and no window where that is `sent`."""
    query, api = call.query, call.path["api"]
    if api == AS_SENT:
        return Choice(at, upto=query.upto, is_whole=query.whole)
    return Choice(at, api, query.window(), query.upto, query.whole)


def _values(call: Call[Any, Any], page: Shown) -> dict[str, Any]:
    query, wish = call.query, page.plan.wish
    window = _fields(wish.window)
    # What a person chose stays as the slider moves; without a choice, each request is as it was sent.
    kept = window.named() if page.plan.is_chosen else {}
    chosen = {"api": wish.api, **kept} if page.plan.is_chosen else {}
    whole = {"whole": "true"} if query.whole else {}
    return {
        "key": call.path["key"],
        "page": page,
        "plan": page.plan,
        "view": page.view,
        "way": wish.api if page.plan.is_chosen else AS_SENT,
        "chosen": _joined(chosen),
        "kept": _joined({**kept, **whole}),
        "kept_window": _joined(kept),
        "most_missing": MOST_MISSING,
        "is_whole": query.whole,
        "window": window,
        "windows": _choices(WINDOWS, window.exchanges),
        "message_windows": _choices(MESSAGE_WINDOWS, window.messages),
        "end": END.exchanges,
        "apis": tuple(dict.fromkeys((*APIS, wish.api))),
    }


def _fields(window: Window | MessageWindow | None) -> PageWindow:
    """Return a window as the fields of the form; a recipe's may be any."""
    match window:
        case None:
            return PageWindow()
        case MessageWindow():
            return PageWindow.model_construct(messages=window.messages, strategy=window.strategy)
        case Window():
            return PageWindow.model_construct(**window.model_dump())


def _joined(members: dict[str, Any]) -> str:
    """Return members of a query that come behind others."""
    return f"&{urlencode(members)}" if members else ""


def _choices(offered: tuple[int, ...], chosen: int | None) -> list[int]:
    return sorted({*offered, chosen or offered[0]})


def _page(conversation: Conversation, choice: Choice) -> Shown:
    """Return the request of a choice, or say why there is none."""
    planned = plan(conversation, choice)
    try:
        return read_shown(conversation, planned)
    except (NothingToSend, UnsupportedDocument) as exc:
        return Shown(planned, refusal=str(exc))


def _seen(conversation: Conversation, choice: Choice) -> Shown:
    return read_shown(conversation, plan(conversation, choice))


_REQUESTS: Final = "/c/{key}/requests"

ROUTES: Final[tuple[Route[Any, Any], ...]] = (
    get_route(_REQUESTS, "pageRequests", "What did the model see?", requests, RequestPageQuery),
    get_route(
        *(_REQUESTS + "/{api}", "pageRequest", "What did the model see at a version?"),
        *(request, RequestQuery),
    ),
    get_route(
        *(_REQUESTS + "/{api}/blocks", "pageBlocks", "Which blocks did the model see?"),
        *(blocks, RequestQuery),
    ),
    get_route(
        *(_REQUESTS + "/{api}/diff", "pageDiff", "What changed in what the model saw?"),
        *(diff, DiffQuery),
    ),
    get_route("/c/{key}/sent/{version}", "pageSent", "Show a request as it was sent.", recorded),
)
