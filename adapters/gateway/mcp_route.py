"""The route of the Model Context Protocol: agents read over HTTP what their key may read."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import Any, Final, cast

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from onrecord.adapters.asynchronous.store import store_of
from onrecord.adapters.gateway.mcp_reads import AgentReads
from onrecord.adapters.gateway.mcp_stream import McpStream
from onrecord.adapters.mcp_server.reads import Read
from onrecord.adapters.mcp_server.scope import Scope
from onrecord.adapters.service.access import Access
from onrecord.adapters.service.application import Service
from onrecord.adapters.service.bodies import body_of
from onrecord.adapters.service.doors import Door
from onrecord.adapters.service.model import Empty, Model
from onrecord.adapters.service.parameters import Key
from onrecord.adapters.service.problems import MALFORMED, NOT_INSTALLED, Problem
from onrecord.adapters.service.route import Call, Route
from onrecord.domain import jsontext
from onrecord.domain.errors import MalformedJson, NotInstalled

PATH: Final = "/mcp"
"""Where agents ask."""

MOST: Final = 1 << 20
"""How many bytes a message may have: it only asks."""

_LISTEN: Final = "subscriptions/listen"
"""The method whose answer is a stream: it goes on as long as the agent listens."""


class McpQuery(Model):
    """Which conversations are shown."""

    conversation: Key | None = None
    """The key of the one that is shown, with those that it was forked from; by default all are."""


def mcp_route(service: Service, reads: AgentReads) -> Route[McpQuery, Empty]:
    """Return the route by which agents read the stores of a service, few at once."""
    return Route(
        *("POST", PATH, "mcp", "What does an agent ask over the Model Context Protocol?"),
        role="read",
        query=McpQuery,
        body=Empty,
        answers=partial(_answer, service, reads),
        takes_bytes=True,
        access=partial(_access, service.door),
        tells_reads=False,
    )


async def _access(door: Door, request: Request) -> Access:
    access = await door.access(request)
    door.must_be_of_no_other_page(request)
    return access


async def _answer(service: Service, reads: AgentReads, call: Call[McpQuery, Empty]) -> Response:
    body, method = await _message(call)
    await asyncio.to_thread(_load)
    from onrecord.adapters.mcp_server.http import exchange, stream
    from onrecord.adapters.mcp_server.server import Reader

    scope = Scope(store_of(call.store), call.query.conversation)
    reader = Reader(scope, partial(_tell, service, call), partial(reads.run, call))
    if method == _LISTEN:
        return McpStream(call, partial(stream, reader), body)
    try:
        async with asyncio.timeout(call.limits.answer_seconds):
            return await exchange(reader, call.request, body)
    except ClientDisconnect:
        raise Problem(MALFORMED, "the client has gone") from None


async def _message(call: Call[Any, Any]) -> tuple[bytes, object]:
    """Return the body and its method: one message, not too large and not too deep."""
    limits = replace(call.limits, body=min(MOST, call.limits.body))
    body = await body_of(call.request, limits, call.share)
    try:
        message: object = jsontext.read_bounded(body)
    except MalformedJson as error:
        raise Problem(MALFORMED, str(error)) from None
    if not isinstance(message, dict):
        raise Problem(MALFORMED, "the body is one message of JSON-RPC, and no batch")
    return body, cast("dict[str, object]", message).get("method")


def _load() -> None:
    """Load what answers messages; Problem where the SDK is not installed."""
    try:
        import_module("onrecord.adapters.mcp_server.http")
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("onrecord"):
            raise
        raise Problem(NOT_INSTALLED, str(NotInstalled(PATH, error.name, "mcp"))) from error


def _tell(service: Service, call: Call[Any, Any], read: Read) -> None:
    """Tell the access log of a read, as of those of other routes: a program's are counted."""
    store, access = store_of(call.store), call.access
    via = f"POST {PATH} {read.name}"
    actor = call.names.get("actor") or access.name
    if access.is_program:
        service.reads.count(store, access, via, actor)
        return
    store.access.record(
        via,
        which=read.which,
        asked=read.asked,
        entries=read.entries,
        conversations=read.conversations,
        actor=actor,
        key_id=access.key_id,
    )
