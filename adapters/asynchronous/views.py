"""The views of a tenant, awaited: `await store.views.audit(...)`.

Each verb is that of `Views`, which says what it means, takes, gives and raises. A page is read in a
thread: it is a transaction of its own, and an embedded store folds first what is new.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, ParamSpec, Self, TypeVar
from uuid import UUID

from onrecord.adapters.asynchronous.reading import AsyncReading
from onrecord.adapters.asynchronous.thread_scopes import enter_in_thread, leave_in_thread
from onrecord.adapters.storage.steps import Steps, ThreadSteps
from onrecord.adapters.store import Store
from onrecord.adapters.views.following import PAUSE
from onrecord.domain.errors import InvalidInput

if TYPE_CHECKING:
    from onrecord.adapters.views.following import Following
    from onrecord.adapters.views.pages import Page
    from onrecord.adapters.views.ports import Keeper, Parked, Progress, ViewStatus, Workforce
    from onrecord.adapters.views.reading import Views
    from onrecord.projections.views.audit import AuditEntry, InForce
    from onrecord.projections.views.conversations import Overview
    from onrecord.projections.views.projection import OwnProjection, ProjectionRow
    from onrecord.projections.views.search import Hit
    from onrecord.projections.views.tool_ledger import ToolCallEntry
    from onrecord.projections.views.usage import ModelUsage
    from onrecord.projections.views.window import Exchange

P = ParamSpec("P")
T = TypeVar("T")


class AsyncViews:
    """The views of a tenant's conversations, as `Views`. Get it as `store.views`; safe to share."""

    def __init__(self, store: Store, steps: Steps) -> None:
        """Await the pages of a store's views."""
        self._store = store
        self._steps = steps

    @property
    async def keeper(self) -> AsyncKeeper:
        """Return who says how the views stand, pauses, retries and rebuilds them."""
        return AsyncKeeper(await self._steps.run_long(lambda: self._views.keeper), self._steps)

    async def conversations(
        self,
        *,
        key: str | None = None,
        provider: str | None = None,
        model: str | None = None,
        actor: str | None = None,
        closed: bool | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = 50,
        after: str | None = None,
    ) -> Page[Overview]:
        """Return conversations at a glance, as `Views.conversations` does."""
        return await self._page(
            lambda views: views.conversations(
                key=key,
                provider=provider,
                model=model,
                actor=actor,
                closed=closed,
                since=since,
                until=until,
                limit=limit,
                after=after,
            )
        )

    async def tool_calls(
        self,
        *,
        conversation: str | UUID | None = None,
        name: str | None = None,
        kind: str | None = None,
        status: str | None = None,
        arguments_digest: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = 50,
        after: str | None = None,
    ) -> Page[ToolCallEntry]:
        """Return the calls of tools, as `Views.tool_calls` does."""
        return await self._page(
            lambda views: views.tool_calls(
                conversation=conversation,
                name=name,
                kind=kind,
                status=status,
                arguments_digest=arguments_digest,
                since=since,
                until=until,
                limit=limit,
                after=after,
            )
        )

    async def search(
        self,
        text: str,
        *,
        conversation: str | UUID | None = None,
        role: str | None = None,
        tool: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = 50,
        after: str | None = None,
    ) -> Page[Hit]:
        """Return events that say something, as `Views.search` does."""
        return await self._page(
            lambda views: views.search(
                text,
                conversation=conversation,
                role=role,
                tool=tool,
                since=since,
                until=until,
                limit=limit,
                after=after,
            )
        )

    async def window(
        self, conversation: str | UUID, *, exchanges: int = 20, after: str | None = None
    ) -> Page[Exchange]:
        """Return the last exchanges of a conversation, as `Views.window` does."""
        return await self._page(
            lambda views: views.window(conversation, exchanges=exchanges, after=after)
        )

    async def usage(
        self,
        *,
        api: str | None = None,
        model: str | None = None,
        since: date | None = None,
        until: date | None = None,
        limit: int = 50,
        after: str | None = None,
    ) -> Page[ModelUsage]:
        """Return the tokens that each model used on each day, as `Views.usage` does."""
        return await self._page(
            lambda views: views.usage(
                api=api, model=model, since=since, until=until, limit=limit, after=after
            )
        )

    async def usage_total(
        self,
        *,
        api: str | None = None,
        model: str | None = None,
        since: date | None = None,
        until: date | None = None,
    ) -> Page[ModelUsage]:
        """Return the tokens that each model used on all those days together, on one page."""
        return await self._page(
            lambda views: views.usage_total(api=api, model=model, since=since, until=until)
        )

    async def cost(
        self, used: ModelUsage, prices: str | os.PathLike[str] | None = None
    ) -> Decimal | None:
        """Return what tokens cost, in dollars, as `Views.cost` does; it reads the file of prices."""
        return await self._page(lambda views: views.cost(used, prices))

    async def audit(
        self,
        *,
        conversation: str | UUID | None = None,
        actor: str | None = None,
        on_behalf_of: str | None = None,
        type: str | Sequence[str] | None = None,
        model: str | None = None,
        tool: str | None = None,
        policy: str | None = None,
        deployment: str | None = None,
        document: str | None = None,
        text: str | None = None,
        outcome: str | None = None,
        label: str | None = None,
        label_value: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = 50,
        after: str | None = None,
    ) -> Page[AuditEntry]:
        """Return who did what and when, as `Views.audit` does."""
        return await self._page(
            lambda views: views.audit(
                conversation=conversation,
                actor=actor,
                on_behalf_of=on_behalf_of,
                type=type,
                model=model,
                tool=tool,
                policy=policy,
                deployment=deployment,
                document=document,
                text=text,
                outcome=outcome,
                label=label,
                label_value=label_value,
                since=since,
                until=until,
                limit=limit,
                after=after,
            )
        )

    async def in_force(
        self,
        *,
        policy: str | None = None,
        deployment: str | None = None,
        instructions: str | None = None,
        tools: str | None = None,
        capabilities: str | None = None,
        model: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = 50,
        after: str | None = None,
    ) -> Page[InForce]:
        """Return which conversations ran under one rule, as `Views.in_force` does."""
        return await self._page(
            lambda views: views.in_force(
                policy=policy,
                deployment=deployment,
                instructions=instructions,
                tools=tools,
                capabilities=capabilities,
                model=model,
                since=since,
                until=until,
                limit=limit,
                after=after,
            )
        )

    def register(self, projection: object) -> str:
        """Let a projection be known by its name in this process, as `Views.register` does; it never waits."""
        return self._views.register(projection)

    def read(self, projection: OwnProjection | str) -> AsyncReading:
        """Lend a transaction that reads a projection's tables, as `Views.read` does: `async with`."""
        return AsyncReading(lambda: self._views.read(projection))

    async def rows(
        self,
        projection: OwnProjection | str,
        *,
        conversation: str | UUID | None = None,
        prefix: str | None = None,
        limit: int = 50,
        after: str | None = None,
    ) -> Page[ProjectionRow]:
        """Return the rows of a `RowProjection`, as `Views.rows` does."""
        return await self._page(
            lambda views: views.rows(
                projection, conversation=conversation, prefix=prefix, limit=limit, after=after
            )
        )

    def follow(self, projection: OwnProjection | str) -> AsyncFollowing:
        """Return a scope in which a projection is kept up to date, as `Views.follow` does: `async with`."""
        return AsyncFollowing(lambda: self._views.follow(projection), self._steps)

    @property
    def _views(self) -> Views:
        return self._store.views

    async def _page(self, page: Callable[[Views], T]) -> T:
        return await self._steps.run_long(lambda: page(self._views))


class AsyncFollowing:
    """A projection that is kept up to date while an `async with` lasts, as `Following`."""

    def __init__(self, follow: Callable[[], Following], steps: Steps) -> None:
        """Follow by a thread of this process, from where the scope is entered."""
        self._follow = follow
        self._steps = steps
        self._thread = ThreadSteps()
        self._following: Following | None = None

    async def __aenter__(self) -> Self:
        """Begin."""
        enter = partial(_entered, self._follow)
        self._following = await enter_in_thread(self._thread, enter, _end)
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop, and return once the batch at hand is done."""
        await leave_in_thread(self._thread, partial(_end, self._entered))

    @property
    async def status(self) -> ViewStatus:
        """Return how the projection stands."""
        return await self._steps.run_long(lambda: self._entered.status)

    async def wait(self, seconds: float | None = None) -> bool:
        """Return once what the log has now is folded, as `Following.wait` does."""
        following, ends = self._entered, await self._steps.run_long(self._entered.ends)
        try:
            async with asyncio.timeout(seconds):
                while not await self._steps.run_long(partial(following.has_come_to, ends)):
                    await asyncio.sleep(PAUSE)
        except TimeoutError:
            return False
        return True

    @property
    def _entered(self) -> Following:
        if self._following is None:
            raise InvalidInput("nothing is followed yet: `async with store.follow(projection)`")
        return self._following


def _entered(follow: Callable[[], Following]) -> Following:
    return follow().__enter__()


def _end(following: Following) -> None:
    following.__exit__(None, None, None)


class AsyncKeeper:
    """Who keeps the views of a store, as `Keeper`."""

    def __init__(self, keeper: Keeper, steps: Steps) -> None:
        """Await the verbs of a keeper."""
        self._keeper = keeper
        self._steps = steps

    async def status(self) -> list[ViewStatus]:
        """Return how each view stands, by name."""
        return await self._steps.run_long(self._keeper.status)

    async def at_work(self) -> Workforce | None:
        """Return who works at the views now; None where they need nobody."""
        return await self._steps.run_long(self._keeper.at_work)

    async def parked(self, view: str | None = None) -> list[Parked]:
        """Return the parked events of a view, or of all, by view and position."""
        return await self._steps.run_long(partial(self._keeper.parked, view))

    async def pause(self, view: str) -> None:
        """Let a view stand still until it is resumed; it can still be read."""
        await self._steps.run_long(partial(self._keeper.pause, view))

    async def resume(self, view: str) -> None:
        """Let a view that was paused, or that stopped by itself, go on from where it stands."""
        await self._steps.run_long(partial(self._keeper.resume, view))

    async def retry(self, view: str, conversation: UUID | None = None) -> int:
        """Have parked events tried again without delay, as `Keeper.retry` does."""
        return await self._steps.run_long(partial(self._keeper.retry, view, conversation))

    async def rebuild(self, view: str, progress: Progress | None = None) -> None:
        """Make a view anew, as `Keeper.rebuild` does; `progress` is called in another thread."""
        await self._steps.run_long(partial(self._keeper.rebuild, view, progress))

    async def abandon(self, view: str) -> bool:
        """Drop what an unfinished rebuild has made; return whether there was one."""
        return await self._steps.run_long(partial(self._keeper.abandon, view))
