"""Reads of agents over HTTP: few at once, for each takes a thread."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, TypeVar

from onrecord.adapters.service.problems import Problem
from onrecord.adapters.service.quotas import Quota
from onrecord.adapters.service.route import Call
from onrecord.domain.errors import StorageBusy

T = TypeVar("T")

_MOST_AT_ONCE: Final = 32
"""How many reads run or wait for a thread; of one key, half of them."""


@dataclass(frozen=True, slots=True)
class AgentReads:
    """Which reads are under way: one counts until its thread ends, also where the agent has gone.

    `verifying` is what bounds verifications, those of other routes too.
    """

    verifying: Quota
    reading: Quota = field(default_factory=lambda: Quota(_MOST_AT_ONCE))

    async def run(self, call: Call[Any, Any], name: str, step: Callable[[], T]) -> T:
        """Return what a step gives that reads for a tool; StorageBusy where too many are under way."""
        quota, key = self.reading, call.access.caller_id
        if name == "verify":
            quota, key = self.verifying, call.tenant
        try:
            return await quota.run(key, partial(call.steps.run_long, step))
        except Problem as problem:
            raise StorageBusy("too many reads are under way: try again in a moment") from problem
