"""What is open counts until it ends."""

from __future__ import annotations

import asyncio
from uuid import UUID

import pytest

from onrecord.adapters.service.problems import Problem
from onrecord.adapters.service.quotas import Quota

KEY = UUID(int=7)


def test_work_counts_until_it_ends_though_nobody_waits_for_it() -> None:
    async def main() -> None:
        quota, end = Quota(2), asyncio.Event()
        waiting = asyncio.create_task(quota.run(KEY, end.wait))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        with pytest.raises(Problem):
            await quota.run(KEY, end.wait)
        end.set()
        while quota.total:
            await asyncio.sleep(0)
        assert await quota.run(KEY, end.wait)

    asyncio.run(main())
