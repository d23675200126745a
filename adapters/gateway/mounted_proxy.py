"""The recording proxy as a part of the gateway: it lets in whom the service lets in."""

from __future__ import annotations

from typing import Final

from starlette.requests import Request
from starlette.types import Scope

from onrecord.adapters.proxy.proxy import Guest
from onrecord.adapters.service.doors import Door
from onrecord.adapters.service.problems import Problem
from onrecord.adapters.service.tenants import Tenants

PATH: Final = "/proxy"
"""How the paths of the proxy begin."""

LOCAL: Final = "local"
"""What stands in the place of a key for a program of this machine, while none needs one."""


class ProxyDoor:
    """Lets those in who may write."""

    def __init__(self, door: Door, tenants: Tenants) -> None:
        """Ask the door of the service; stores are those of its tenants."""
        self._door = door
        self._tenants = tenants

    async def opened(self, token: str, scope: Scope) -> Guest | None:
        """Return who comes in by a key; None where the key is not good, or may not write."""
        try:
            access = await self._door.access_by(None if token == LOCAL else token, Request(scope))
        except Problem:
            return None
        if not access.allows("write"):
            return None
        store = await self._tenants.store_of(access.tenant)
        return Guest(store, None if access.key_id is None else access.name)
