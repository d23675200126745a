"""The recording proxy as a part of the gateway: it lets in whom the service lets in."""

from __future__ import annotations

from functools import partial
from typing import Final

from starlette.requests import Request
from starlette.types import Scope

from onrecord.adapters.proxy.proxy import Guest
from onrecord.adapters.proxy.refusals import Refusal
from onrecord.adapters.service.application import Service
from onrecord.adapters.service.problems import ENDING, UNAUTHENTICATED, Problem
from onrecord.adapters.service.quotas import Share

PATH: Final = "/proxy"
"""How the paths of the proxy begin."""

LOCAL: Final = "local"
"""What stands in the place of a key for a program of this machine, while none needs one."""


class ProxyDoor:
    """Lets those in who may write; their calls count among the requests that the service has open."""

    def __init__(self, service: Service) -> None:
        """Ask the door of a service; stores are those of its tenants, and its limits hold."""
        self._service = service

    async def opened(self, token: str, scope: Scope) -> Guest | None:
        """Return who comes in by a key; None where the key is not good, or may not write.

        Refusal where the service is ending, or has too many requests open.
        """
        service = self._service
        try:
            access = await service.door.access_by(None if token == LOCAL else token, Request(scope))
        except Problem as problem:
            if problem.type is UNAUTHENTICATED:
                return None
            raise _refusal_of(problem) from None
        if not access.allows("write"):
            return None
        store = await service.tenants.store_of(access.tenant)
        # Nothing is awaited from here on: who is counted is the guest that is returned.
        try:
            if service.tails.hub.is_over:
                raise Problem(ENDING)
            service.open_requests.enter(access.key_id)
        except Problem as problem:
            raise _refusal_of(problem) from None
        share = Share(service.bodies, access.key_id)

        def leave() -> None:
            service.open_requests.leave(access.key_id)
            service.bodies.leave(access.key_id, share.size)

        actor = None if access.key_id is None else access.name
        return Guest(store, actor, partial(_hold, share), leave)


def _hold(share: Share, size: int) -> None:
    """Hold so many bytes; Refusal where there is no room for them."""
    try:
        share.hold(size)
    except Problem as problem:
        raise _refusal_of(problem) from None


def _refusal_of(problem: Problem) -> Refusal:
    """Return a problem of the service as programs of providers read it."""
    again = problem.type.retry_after
    headers = () if again is None else ((b"retry-after", b"%d" % again),)
    return Refusal(problem.type.status, problem.type.title, *headers)
