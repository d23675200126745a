"""Subscriptions to conversations: notifications as long as the session lasts, or the stream."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from itertools import islice
from typing import Any

import anyio
from anyio.abc import TaskGroup
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.session import ServerSession
from mcp.server.subscriptions import SUBSCRIPTION_ID_META_KEY
from mcp.types import (
    EmptyResult,
    ResourceUpdatedNotification,
    ResourceUpdatedNotificationParams,
    ServerNotification,
    SubscriptionFilter,
    SubscriptionsAcknowledgedNotification,
    SubscriptionsAcknowledgedNotificationParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
    UnsubscribeRequestParams,
)

from onrecord.adapters.mcp_server.scope import Scope
from onrecord.adapters.mcp_server.watched import MOST, Moves, Watched, moves_of
from onrecord.domain.errors import ConversationNotFound, InvalidInput


class Subscriptions:
    """What the agent of one session subscribed to (`resources/subscribe`, up to revision 2025-11-25)."""

    def __init__(self, scope: Scope, tasks: TaskGroup) -> None:
        """Notify in a task of the session, as long as there is a subscription."""
        self._watched = Watched(scope, moves_of(scope))
        self._tasks = tasks
        self._is_notifying = False

    async def add(self, uri: str, session: ServerSession) -> None:
        """Notify of a conversation from now on."""
        await self._watched.add(uri)
        if not self._is_notifying:
            self._is_notifying = True
            self._tasks.start_soon(self._notify, session)

    def remove(self, uri: str) -> None:
        """Notify of a conversation no more."""
        self._watched.remove(uri)

    async def _notify(self, session: ServerSession) -> None:
        while grown := await self._watched.grown():
            for uri in grown:
                await session.send_resource_updated(uri)
        self._is_notifying = False


@asynccontextmanager
async def session_of(scope: Scope, server: Server[Any]) -> AsyncGenerator[Subscriptions]:
    """Lend what the agent of a session subscribes to; it ends with the session."""
    del server
    async with anyio.create_task_group() as tasks:
        yield Subscriptions(scope, tasks)
        tasks.cancel_scope.cancel()


async def unsubscribe(
    context: ServerRequestContext[Subscriptions], params: UnsubscribeRequestParams
) -> EmptyResult:
    """Notify of a conversation no more."""
    context.lifespan_context.remove(params.uri)
    return EmptyResult()


async def listen(
    scope: Scope,
    moves: Moves,
    context: ServerRequestContext[Any],
    params: SubscriptionsListenRequestParams,
) -> SubscriptionsListenResult:
    """Notify of conversations until the agent cancels this request (from revision 2026-07-28 on).

    What is not shown is left out of what is acknowledged.
    """
    watched = Watched(scope, moves)
    for uri in islice(params.notifications.resource_subscriptions or (), MOST):
        with suppress(ConversationNotFound, InvalidInput):
            await watched.add(uri)
    named: dict[str, Any] = {SUBSCRIPTION_ID_META_KEY: context.request_id}
    followed = SubscriptionFilter(resource_subscriptions=list(watched.versions))
    acknowledged = SubscriptionsAcknowledgedNotificationParams(notifications=followed, _meta=named)
    await _send(context, SubscriptionsAcknowledgedNotification(params=acknowledged))
    while grown := await watched.grown():
        for uri in grown:
            updated = ResourceUpdatedNotificationParams(uri=uri, _meta=named)
            await _send(context, ResourceUpdatedNotification(params=updated))
    return SubscriptionsListenResult(_meta=named)


async def _send(context: ServerRequestContext[Any], notification: ServerNotification) -> None:
    await context.session.send_notification(notification, related_request_id=context.request_id)
