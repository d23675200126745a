"""The store, awaited: what `onrecord.connect_async` gives, and the way to its conversations.

Each verb is that of `Store`, which says what it means, takes, gives and raises.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Callable, Generator, Iterable, Sequence
from datetime import timedelta
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final, Self, TypeVar, Unpack
from uuid import UUID

from onrecord.adapters.app import FOLDS, connect
from onrecord.adapters.asynchronous.access import AsyncStoreAccess
from onrecord.adapters.asynchronous.conversation import AsyncConversation
from onrecord.adapters.asynchronous.iteration import AsyncSubscription, awaited_each
from onrecord.adapters.asynchronous.retention import AsyncStoreRetention
from onrecord.adapters.asynchronous.subjects import AsyncStoreSubjects
from onrecord.adapters.asynchronous.thread_scopes import enter_in_thread
from onrecord.adapters.asynchronous.views import AsyncFollowing, AsyncViews
from onrecord.adapters.settings import AccessMode
from onrecord.adapters.storage.steps import ThreadSteps, steps_of
from onrecord.adapters.store import GRACE, Store, backend_of

if TYPE_CHECKING:
    from types import TracebackType

    from onrecord.adapters.recording.actor_names import AttributionNames
    from onrecord.adapters.redis.relay import Relay
    from onrecord.adapters.seals.checkpoints import SealedCheckpoint
    from onrecord.adapters.streams.listing import Listed
    from onrecord.adapters.upkeep.erasing import ForgetResult, SweepResult
    from onrecord.adapters.upkeep.verified import Verified
    from onrecord.adapters.upkeep.verifying import Progress
    from onrecord.adapters.views.ports import ViewStatus
    from onrecord.adapters.wire.clients.binding import Unbound
    from onrecord.domain.log import Cursor
    from onrecord.domain.seals.merkle import Root
    from onrecord.projections.history.erasure_records import ErasureEntry
    from onrecord.projections.views.projection import OwnProjection

ClientT = TypeVar("ClientT")


def connect_async(
    url: str | None = None,
    *,
    tenant: UUID | None = None,
    actor: str | None = None,
    on_behalf_of: str | None = None,
    policy: str | None = None,
    deployment: str | None = None,
    capability_file: str | os.PathLike[str] | None = None,
    redis: str | None = None,
    listen: str | None = None,
    folds: int = FOLDS,
    key: str | None = None,
    seals: str | Sequence[str] | None = None,
    seal_key: str | os.PathLike[str] | None = None,
    seal_vkey: str | Sequence[str] | None = None,
    access_log: AccessMode | None = None,
    keys: str | os.PathLike[str] | None = None,
    kek: str | os.PathLike[str] | None = None,
    plain_views: str | Sequence[str] | None = None,
) -> Connecting:
    """Return the store at an URL for programs with coroutines; arguments are as `connect` has them.

    `store = await onrecord.connect_async(url)`, then `await store.close()`; or `async with
    onrecord.connect_async(url) as store:`.
    """
    return Connecting(
        partial(
            connect,
            url,
            tenant=tenant,
            actor=actor,
            on_behalf_of=on_behalf_of,
            policy=policy,
            deployment=deployment,
            capability_file=capability_file,
            redis=redis,
            listen=listen,
            folds=folds,
            key=key,
            seals=seals,
            seal_key=seal_key,
            seal_vkey=seal_vkey,
            access_log=access_log,
            keys=keys,
            kek=kek,
            plain_views=plain_views,
        )
    )


class Connecting:
    """A store that is being opened: await it, or enter it as a scope that closes it."""

    def __init__(self, connect: Callable[[], Store]) -> None:
        """Open by `connect`, in a thread."""
        self._connect = connect
        self._store: AsyncStore | None = None

    def __await__(self) -> Generator[None, None, AsyncStore]:
        """Return the store once it is open; errors as `connect`."""
        return self._opened().__await__()

    async def __aenter__(self) -> AsyncStore:
        """Return the store once it is open."""
        self._store = await self
        return self._store

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        """Close the store."""
        if self._store is not None:
            await self._store.close()

    async def _opened(self) -> AsyncStore:
        thread = ThreadSteps()
        store = await enter_in_thread(thread, self._connect, Store.close)
        thread.close()
        return AsyncStore(store)


class AsyncStore:
    """The conversations of one tenant, as `Store`; what waits is awaited. Share it between tasks.

    `url` says where it writes, without a password. Tasks of several event loops may share it.
    """

    def __init__(self, store: Store) -> None:
        """Await the verbs of an open store."""
        self._store = store
        self._steps = steps_of(backend_of(store))
        self._closing: asyncio.Task[None] | None = None
        self._lock = threading.Lock()
        self._is_closed = False
        self.url = store.url
        self.tenant = store.tenant
        self.access: Final = AsyncStoreAccess(store, self._steps)

    def __repr__(self) -> str:
        """Say where it writes."""
        return f"AsyncStore({self.url!r})"

    async def __aenter__(self) -> Self:
        """Return the store itself."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close the store."""
        await self.close()

    def conversation(
        self, key: str, *, subjects: Iterable[str] = (), **names: Unpack[AttributionNames]
    ) -> AsyncConversation:
        """Return the conversation of that key, as `Store.conversation` does; it never waits."""
        conversation = self._store.conversation(key, subjects=subjects, **names)
        return AsyncConversation(conversation, self._steps)

    def record(
        self, client: ClientT, *, unbound: Unbound = "record", splice: bool = False
    ) -> ClientT:
        """Return a client of the same type, as `Store.record` does; it never waits."""
        return self._store.record(client, unbound=unbound, splice=splice)

    async def get(self, which: str | UUID) -> AsyncConversation:
        """Return the conversation of a key, or of an id, as `Store.get` does."""
        conversation = await self._steps.run(partial(self._store.get, which))
        return AsyncConversation(conversation, self._steps)

    def conversations(self) -> AsyncIterator[Listed]:
        """Yield the conversations, the one that moved last first."""
        return awaited_each(self._steps, self._store.conversations)

    async def forks(self, which: str | UUID) -> list[Listed]:
        """Return the conversations that go on from one, as `Store.forks` does."""
        return await self._steps.run(partial(self._store.forks, which))

    async def forget(
        self, which: str | UUID, *, reason: str, actor: str | None = None
    ) -> ForgetResult:
        """Erase what was said in a conversation, for good, as `Store.forget` does.

        Where the caller is cancelled it goes on, and is finished in any case.
        """
        return await self._steps.run_long(
            partial(self._store.forget, which, reason=reason, actor=actor)
        )

    async def forget_actor(
        self, name_or_digest: str, *, reason: str, actor: str | None = None
    ) -> ForgetResult:
        """Erase the name of an actor, for good, as `Store.forget_actor` does."""
        return await self._steps.run_long(
            partial(self._store.forget_actor, name_or_digest, reason=reason, actor=actor)
        )

    async def erasures(self, which: str | UUID | None = None) -> list[ErasureEntry]:
        """Return the erasures of one conversation, or of all, the last one first."""
        return await self._steps.run_long(partial(self._store.erasures, which))

    async def resume_erasures(self) -> int:
        """Finish the erasures that a program began and did not live to finish; return how many."""
        return await self._steps.run_long(self._store.resume_erasures)

    async def verify(
        self,
        which: str | UUID | None = None,
        *,
        roots: Iterable[Root] = (),
        views: bool = False,
        seals: str | Sequence[str] | None = None,
        vkeys: str | Sequence[str] | None = None,
        authority: str | os.PathLike[str] | None = None,
        progress: Progress | None = None,
    ) -> Verified:
        """Check that what is stored is what was committed to, as `Store.verify` does.

        `progress` is called in another thread.
        """
        return await self._steps.run_long(
            partial(
                self._store.verify,
                which,
                roots=roots,
                views=views,
                seals=seals,
                vkeys=vkeys,
                authority=authority,
                progress=progress,
            )
        )

    async def sweep(self, older_than: timedelta = GRACE, *, rewrite: bool = True) -> SweepResult:
        """Delete documents that no event refers to, as `Store.sweep` does."""
        return await self._steps.run_long(partial(self._store.sweep, older_than, rewrite=rewrite))

    async def seal(self) -> list[SealedCheckpoint]:
        """Sign what each shard has now, and return the signed checkpoints, as `Store.seal` does."""
        return await self._steps.run_long(self._store.seal)

    async def cursors(self) -> list[Cursor]:
        """Return where the log ends, shard by shard."""
        return await self._steps.run(self._store.cursors)

    def subscribe(self, after: Cursor) -> AsyncSubscription:
        """Return the tenant's events of a shard after a cursor, those to come included.

        `async with store.subscribe(cursor) as events:`, then `async for event in events:`.
        """
        # A Redis is waited for in a thread, and so is an embedded store: in one of its own.
        steps = ThreadSteps() if self._store.relay() is not None else self._steps.apart()
        return AsyncSubscription(partial(self._store.subscribe, after), steps)

    def follow(self, projection: OwnProjection | str) -> AsyncFollowing:
        """Return a scope in which a projection is kept up to date, as `Store.follow` does: `async with`."""
        return AsyncFollowing(partial(self._store.follow, projection), self._steps)

    async def run(self, projection: OwnProjection | str) -> ViewStatus:
        """Fold what the log has now into a projection of one's own, and return how that stands."""
        return await self._steps.run_long(partial(self._store.run, projection))

    @cached_property
    def views(self) -> AsyncViews:
        """Return the views: what was folded of the log for lists, searches, sums and audits."""
        return AsyncViews(self._store, self._steps)

    @cached_property
    def retention(self) -> AsyncStoreRetention:
        """Return legal holds, retention classes, and what is erased by them."""
        return AsyncStoreRetention(self._store, self._steps)

    @cached_property
    def subjects(self) -> AsyncStoreSubjects:
        """Return what finds, hands out and erases what is kept of a subject."""
        return AsyncStoreSubjects(self._store, self._steps)

    def relay(self) -> Relay | None:
        """Return what fills the live tails of the Redis beside this store; None without one.

        Its `run` blocks: it is for a thread.
        """
        return self._store.relay()

    async def close(self) -> None:
        """Let go of files and connections, as `Store.close` does, once the verbs that were begun in this loop are done."""
        if self._is_closed:
            return
        closing, loop = self._closing, asyncio.get_running_loop()
        # A loop that ends cancels what closes, and a task of one loop is not awaited in another.
        if closing is None or closing.done() or closing.get_loop() is not loop:
            closing = self._closing = loop.create_task(self._drain_and_close())
        # Whoever asks may be cancelled: the store is closed all the same.
        await asyncio.shield(closing)

    async def _drain_and_close(self) -> None:
        await self._steps.drain()
        await asyncio.to_thread(self._close_once)

    def _close_once(self) -> None:
        # Two loops may close at once.
        with self._lock:
            if not self._is_closed:
                self._store.close()
                self._is_closed = True


def store_of(store: AsyncStore) -> Store:
    """Return the store that one awaits: for what is built on both, not for its users."""
    return store._store  # pyright: ignore[reportPrivateUsage]  # its own module's
