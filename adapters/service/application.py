"""The ASGI application: the routes of the table, each behind the door and within the limits."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final
from urllib.parse import unquote

from pydantic import BaseModel, ValidationError
from starlette.applications import Starlette
from starlette.convertors import Convertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route as StarletteRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from onrecord.adapters.recording.actor_headers import names_in
from onrecord.adapters.recording.actor_names import AttributionNames
from onrecord.adapters.service.access import Access, ReadsByKeys, ShowingResponse, shows_of
from onrecord.adapters.service.bodies import Limits, body_of
from onrecord.adapters.service.doors import Door
from onrecord.adapters.service.metrics import ServiceMetrics
from onrecord.adapters.service.model import Empty
from onrecord.adapters.service.parameters import PATH_PARAMETERS
from onrecord.adapters.service.problems import (
    ENDING,
    FORBIDDEN,
    MALFORMED,
    NO_METHOD,
    NOT_FOUND,
    Problem,
    problem_of,
    response_of,
)
from onrecord.adapters.service.quotas import Quota, Share
from onrecord.adapters.service.route import Call, Route
from onrecord.adapters.service.tails import Tails
from onrecord.adapters.service.tenants import Tenants
from onrecord.adapters.storage.http.problem_types import INVALID
from onrecord.domain.errors import InvalidInput

HEALTH: Final = "health"
"""The route that answers as long as the process is there."""

_LOG: Final = logging.getLogger("onrecord.service")

_USES_EVERY: Final = 60.0
"""In seconds: so long it may take until it is recorded that a key was used."""

_SHOWN: Final = frozenset({200, 304})
"""Statuses of answers that show what was asked for; the client has it already where it is 304."""

_SMALLEST_PACKED: Final = 1024
"""Answers of fewer bytes are not worth packing."""


@dataclass(frozen=True, slots=True)
class Service:
    """What the routes are answered with."""

    tenants: Tenants
    door: Door
    limits: Limits
    open_requests: Quota
    bodies: Quota
    tails: Tails
    metrics: ServiceMetrics
    reads: ReadsByKeys = field(default_factory=ReadsByKeys)

    def end(self) -> None:
        """End the tails and begin nothing new: the server was told to end."""
        self.tails.hub.end()


def application(
    service: Service,
    routes: Iterable[Route[Any, Any]],
    mounted: Mapping[str, ASGIApp],
    closes: Callable[[], Awaitable[None]],
) -> ASGIApp:
    """Return the application that has these routes.

    `mounted` are others, by how their paths begin, such as `/proxy`. `closes` lets go of what these
    hold, when the server has ended.
    """
    app = Starlette(
        routes=[_mounted(service, route) for route in routes],
        middleware=[Middleware(GZipMiddleware, minimum_size=_SMALLEST_PACKED)],
        exception_handlers={HTTPException: _http_problem, Exception: _failure},
        lifespan=partial(_lifespan, service, closes),
    )
    # It would name the Host that a stranger sent, before anybody looked at that.
    app.router.redirect_slashes = False
    return _Entry(app, mounted)


@asynccontextmanager
async def _lifespan(
    service: Service, closes: Callable[[], Awaitable[None]], app: Starlette
) -> AsyncGenerator[None]:
    del app
    recording = asyncio.create_task(_record_uses(service.door))
    try:
        yield
    finally:
        async with AsyncExitStack() as ending:  # What fails keeps nothing else from its end.
            ending.push_async_callback(service.tenants.close)
            ending.push_async_callback(service.door.record_uses)
            ending.push_async_callback(asyncio.to_thread, service.reads.flush)
            ending.push_async_callback(asyncio.wait, (recording,))
            ending.push_async_callback(service.tails.hub.close)
            ending.push_async_callback(closes)
            service.end()
            recording.cancel()


async def _record_uses(door: Door) -> None:
    """Record now and then which keys were used."""
    while True:
        await asyncio.sleep(_USES_EVERY)
        try:
            await door.record_uses()
        except Exception as error:  # noqa: BLE001 - it is tried again, and delays no request
            _LOG.warning("uses of keys are not recorded now: %s", type(error).__name__)


class _Entry:
    """Hands requests on by how their path begins, and matches paths as they were sent.

    A key may hold a slash, percent-encoded: a path that was decoded first would end there.
    """

    def __init__(self, app: ASGIApp, mounted: Mapping[str, ASGIApp]) -> None:
        self._app = app
        self._mounted = mounted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        raw = scope.get("raw_path") or scope["path"].encode()
        path = raw.decode("latin-1")
        for root, app in self._mounted.items():
            if path.startswith(f"{root}/"):
                await app({**scope, "root_path": root}, receive, send)
                return
        await self._app({**scope, "path": path}, receive, send)


class _Segment(Convertor[str]):
    """One segment of a path, as it was sent."""

    regex = "[^/]+"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("segment", _Segment())


def _mounted(service: Service, route: Route[Any, Any]) -> StarletteRoute:
    path = route.path.replace("}", ":segment}")
    endpoint = partial(_answer, service, route)
    return StarletteRoute(path, endpoint, methods=[route.method], name=route.name)


async def _answer(service: Service, route: Route[Any, Any], request: Request) -> Response:
    """Return what a route answers, or the problem that came up."""
    began = time.monotonic()
    try:
        response = await _answered(service, route, request)
    except Exception as error:  # noqa: BLE001 - each error is a problem that is told
        response = route.problem(problem_of(error), request.url.path)
    service.metrics.count(route.name, response.status_code, time.monotonic() - began)
    return response


async def _answered(service: Service, route: Route[Any, Any], request: Request) -> Response:
    if service.tails.hub.is_over and route.name != HEALTH:
        raise Problem(ENDING)
    access = Access(service.tenants.tenant, "read", "anybody")
    if route.role is not None:
        access = await _access_finder(service, route)(request)
        if not access.allows(route.role):
            raise Problem(FORBIDDEN, f"this needs the role to {route.role}")
    open_ones = service.tails.open_tails if route.is_tail else service.open_requests
    open_ones.enter(access.caller_id)
    with ExitStack() as counted:
        counted.callback(open_ones.leave, access.caller_id)
        share = counted.enter_context(service.bodies.share(access.caller_id))
        call = await _call(service, route, request, access, share)
        response = await _response(service, route, call)
        if _is_told(route, response):
            await _tell(service, route, call, response)
        if isinstance(response, StreamingResponse) and not route.is_followed:
            return _CountedResponse(response, counted.pop_all().close)
        return response


def _access_finder(
    service: Service, route: Route[Any, Any]
) -> Callable[[Request], Awaitable[Access]]:
    """Return what finds out what whoever asks a route may do."""
    return route.access or service.door.access


def _is_told(route: Route[Any, Any], response: Response) -> bool:
    """Whether the access log is told of an answer: of reads, and of what says itself what it shows."""
    is_read = route.role == "read" and response.status_code in _SHOWN
    return route.tells_reads and (is_read or isinstance(response, ShowingResponse))


async def _tell(
    service: Service, route: Route[Any, Any], call: Call[Any, Any], response: Response
) -> None:
    """Tell the access log of an answer, before it is sent."""
    is_document = not isinstance(response, StreamingResponse) and route.answer is not None
    await service.reads.tell(
        call.store,
        call.access,
        f"{route.method} {route.path}",
        key=call.path.get("key"),
        asked=call.query.model_dump(exclude_defaults=True),
        shows=partial(shows_of, response, is_document=is_document),
        actor=call.names.get("actor") or call.access.name,
    )


async def _response(service: Service, route: Route[Any, Any], call: Call[Any, Any]) -> Response:
    if route.is_long or route.takes_bytes or route.is_followed:
        return await route.answers(call)
    async with asyncio.timeout(service.limits.answer_seconds):
        return await route.answers(call)


class _CountedResponse(Response):
    """A stream that counts as long as it is sent: its client takes it as slowly as it likes."""

    def __init__(self, response: StreamingResponse, over: Callable[[], None]) -> None:
        self._response = response
        self._over = over
        self.status_code = response.status_code

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._response(scope, receive, send)
        finally:
            self._over()


async def _call(
    service: Service, route: Route[Any, Any], request: Request, access: Access, share: Share
) -> Call[Any, Any]:
    # Whose it is comes first: who may not ask is not told what is wrong with the question.
    tenant = access.tenant if route.role is None else service.door.tenant(request, access)
    path = {name: _parameter(name, value) for name, value in request.path_params.items()}
    query = _query(route.query, request)
    body: BaseModel = Empty()
    if route.takes_body:
        body = route.body.model_validate_json(await body_of(request, service.limits, share))
    tenants = service.tenants
    return Call(
        request=request,
        find_access=_access_finder(service, route),
        access=access,
        tenant=tenant,
        store=await tenants.of(tenant),
        backend=tenants.backend,
        steps=tenants.steps,
        limits=service.limits,
        tails=service.tails,
        metrics=service.metrics,
        names=_names(request, access),
        path=path,
        query=query,
        body=body,
        tenants=tenants,
        share=share,
    )


def _names(request: Request, access: Access) -> AttributionNames:
    """Return who acts and under which rules by the headers; Problem where one is no name.

    A program may name another actor than its key. A person acts in no other name, and for nobody else.
    """
    try:
        names = names_in(request.headers, None if access.caller_id is None else access.name)
    except InvalidInput as error:
        raise Problem(MALFORMED, str(error)) from None
    if access.person_id is None:
        return names
    return {**names, "actor": access.name, "on_behalf_of": None}


def _parameter(name: str, raw: str) -> object:
    """Return a parameter of the path, read by its own rule."""
    try:
        text = unquote(raw, errors="strict")
    except UnicodeDecodeError:
        raise Problem(MALFORMED, f"{name} in the path is no UTF-8") from None
    try:
        return PATH_PARAMETERS[name].adapter.validate_python(text)
    except ValidationError as error:
        why = error.errors(include_url=False, include_context=False, include_input=False)
        raise Problem(INVALID, f"{name} in the path: {why[0]['msg']}") from None


def _query(kind: type[BaseModel], request: Request) -> BaseModel:
    """Return the query, looked through; a name that is given twice has a list of values."""
    given = request.query_params
    values = {
        name: given[name] if len(each := given.getlist(name)) == 1 else each
        for name in given.keys()  # noqa: SIM118 - of a multi-mapping
    }
    return kind.model_validate(values)


async def _http_problem(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    kind = {404: NOT_FOUND, 405: NO_METHOD}.get(status, MALFORMED)
    response = response_of(Problem(kind), request.url.path)
    if isinstance(error, HTTPException) and error.headers:
        response.headers.update(error.headers)
    return response


async def _failure(request: Request, error: Exception) -> Response:
    return response_of(problem_of(error), request.url.path)
