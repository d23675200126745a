"""The tails of a service: the hub that reads for them, how many there may be, who may go on."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import Request

from onrecord.adapters.service.access import Role
from onrecord.adapters.service.doors import Door
from onrecord.adapters.service.hub import Hub
from onrecord.adapters.service.problems import Problem
from onrecord.adapters.service.quotas import Quota
from onrecord.domain.errors import StorageError


@dataclass(frozen=True, slots=True)
class Tails:
    """What tails share. Each says after `seconds` without an event that it is there."""

    hub: Hub
    door: Door
    open_tails: Quota
    seconds: float

    async def is_allowed(self, request: Request, role: Role) -> bool:
        """Return whether who asked may still read; where nobody can tell, there is nothing to read."""
        try:
            return (await self.door.access(request)).allows(role)
        except Problem:
            return False
        except StorageError:
            return True
