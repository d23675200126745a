"""The store: what `onrecord.connect` gives, and the way to its conversations."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Final, Self, TypeVar
from uuid import UUID

from onrecord.adapters.beginning import beginning_of
from onrecord.adapters.capture.spool import Spool
from onrecord.adapters.lineage import BEGINNING
from onrecord.adapters.settings import NO_TENANT
from onrecord.adapters.talk import Talk
from onrecord.adapters.tenancy import NO_MATRIX, Tenancy
from onrecord.domain.errors import ConversationNotFound, InvalidInput
from onrecord.domain.head import Head
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.log import Backend, Conversation, Cursor, Subscription

if TYPE_CHECKING:
    from onrecord.adapters.capture.binding import Unbound
    from onrecord.adapters.redis.accelerator import Accelerator
    from onrecord.adapters.redis.relay import Relay
    from onrecord.adapters.verifying import Verified
    from onrecord.adapters.views.reading import Views

ClientT = TypeVar("ClientT")

GRACE: Final = timedelta(hours=24)
"""How long a document may wait for the event that refers to it."""

_MICROSECOND: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Listed:
    """A conversation as a list shows it; `key` is None once it was forgotten.

    `origin` is the conversation that it was forked from, if it was. Times are microseconds since 1970-01-01 UTC.
    """

    key: str | None
    conversation_id: UUID
    origin: UUID | None
    head: Head
    started_at: int
    recorded_at: int


class Store:
    """The conversations of one tenant. Safe to share between threads; close it when done.

    `url` says where it writes, without a password.
    """

    def __init__(
        self,
        backend: Backend,
        url: str,
        *,
        spool: Spool,
        tenant: UUID = NO_TENANT,
        actor: str | None = None,
        matrix: Mapping[str, JsonObject] = NO_MATRIX,
        accelerator: Accelerator | None = None,
        views: Callable[[], Views] | None = None,
    ) -> None:
        """Serve a tenant's conversations from a backend; `actor` is who acts, by name.

        `matrix` is what a file of the caller's says that models take, by API. What the backend
        cannot take after a request was sent waits in the spool. `accelerator` is the Redis beside
        the backend, if there is one. `views` opens what is folded of the log and kept.
        """
        self.backend = backend
        self.url = url
        self.spool = spool
        self.tenant = tenant
        who = None if actor is None else backend.digest(actor).hex()
        self._accelerator = accelerator
        self._open_views = views
        windows = None if accelerator is None else accelerator.windows(tenant)
        self._tenancy = Tenancy(backend, tenant, spool, actor=who, matrix=matrix, windows=windows)

    def __repr__(self) -> str:
        """Say where it writes."""
        return f"Store({self.url!r})"

    def __enter__(self) -> Self:
        """Return the store itself."""
        return self

    def __exit__(self, *exc: object) -> None:
        """Close the store."""
        self.close()

    def conversation(self, key: str) -> Talk:
        """Return the conversation of that key; it starts with its first event."""
        return Talk(self._tenancy, key)

    def record(
        self, client: ClientT, *, unbound: Unbound = "record", splice: bool = False
    ) -> ClientT:
        """Return a client of the same type, for the calls of many conversations.

        Each call is recorded in the conversation that binds it: by the header in its
        `extra_headers` (`talk.headers`), else by the scope around it (`with talk.recording():`).
        One that is bound to none has a conversation of its own, or is refused before anything is
        sent (`unbound="refuse"`). `splice`, and UnsupportedClient, are as `Talk.record` has them.
        """
        from onrecord.adapters.capture import tee
        from onrecord.adapters.capture.binding import Binding

        if unbound not in ("record", "refuse"):
            raise InvalidInput('unbound is "record" or "refuse"')
        return tee.record(
            client, Binding(self._tenancy.journals, unbound=unbound, splice=bool(splice))
        )

    def existing(self, key: str) -> Talk:
        """Return the conversation of that key; ConversationNotFound if nothing was said in it."""
        talk = self.conversation(key)
        if talk.head().version == 0:
            raise ConversationNotFound("no conversation has that key: list them to see which do")
        return talk

    def conversations(self) -> Iterator[Listed]:
        """Yield the conversations, the one that moved last first."""
        return map(self._listed, self.backend.conversations(self.tenant))

    def forks(self, which: str | UUID) -> list[Listed]:
        """Return the conversations that go on from one, and those that go on from them.

        `which` is its key, or its id, which finds them after it was forgotten too. This reads how
        each conversation began that is younger, two events at most, and nothing else.
        """
        of, there = self._opened(which), list(self.backend.conversations(self.tenant))
        began = min((one.started_at for one in there if one.conversation_id == of), default=None)
        if began is None:
            return []
        younger = (
            one for one in there if one.started_at >= began and one.head.version >= BEGINNING
        )
        forked = [listed for listed in map(self._listed, younger) if listed.origin is not None]
        family = {of}
        while more := {one.conversation_id for one in forked if one.origin in family} - family:
            family |= more
        return [one for one in forked if one.origin in family]

    def forget(self, which: str | UUID) -> int:
        """Erase what was said in a conversation, for good; return how many events it had.

        `which` is its key, or its id, which it keeps. Bodies, salts, blobs and the key go, and what
        still waits to be recorded; headers and leaves stay, so that the ledger still verifies.
        Forks of it stay too, with what was said in them and what their requests repeat: `forks`
        tells which, now or later by its id. Where documents were stored but nothing was said
        yet, they and the key go; only its key finds it then. ConversationNotFound if there is none.
        """
        found = self._opened(which)
        self.spool.forget(found)
        erased = self.backend.forget(found)
        self.spool.forget(found)  # An answer may have come meanwhile.
        if self._accelerator is not None:
            self._accelerator.forget(found)
        if self._open_views is not None:
            self.views.pages.erase()
        return erased

    def verify(self, which: str | UUID | None = None) -> Verified:
        """Check that what is stored is what was committed to, and say what does not hold.

        Of a conversation (its key, or its id), else of the whole store: digests, leaves, documents,
        the order of positions and versions, and each head against its events. A role that is bound
        to a tenant does not see all positions: it can check conversations only.
        """
        from onrecord.adapters.verifying import verify_conversation, verify_log

        if which is None:
            return verify_log(self.backend, self.tenant)
        return verify_conversation(self.backend, self._id(which))

    def sweep(self, older_than: timedelta = GRACE) -> int:
        """Delete documents that no event refers to and that were stored so long ago, at least.

        They stay where a program ended between storing a document and saying what it belongs to.
        Returns how many went.
        """
        if older_than < timedelta(0):
            raise InvalidInput("older_than is a time that has passed: give it as 0 or more")
        return self.backend.sweep_blobs(time.time_ns() // 1000 - older_than // _MICROSECOND)

    def cursors(self) -> list[Cursor]:
        """Return where the log ends, shard by shard."""
        return self.backend.cursors()

    def subscribe(self, after: Cursor) -> Subscription:
        """Return the tenant's events after a cursor, those to come included."""
        if self._accelerator is not None:
            return self._accelerator.subscribe(after, self.tenant)
        return self.backend.subscribe(after, self.tenant)

    @cached_property
    def views(self) -> Views:
        """Return the views: what was folded of the log for lists, searches, sums and audits."""
        if self._open_views is None:
            raise InvalidInput("this store was opened without views: open it by onrecord.connect")
        return self._open_views()

    def relay(self) -> Relay | None:
        """Return what fills the live tails of the Redis beside this store; None without one."""
        return None if self._accelerator is None else self._accelerator.relay()

    def close(self) -> None:
        """Let go of files and connections."""
        if "views" in self.__dict__:
            self.views.pages.close()
        self.backend.close()
        if self._accelerator is not None:
            self._accelerator.close()

    def _listed(self, found: Conversation) -> Listed:
        began = beginning_of(self.backend, found.conversation_id)
        return Listed(
            key=began.key,
            conversation_id=found.conversation_id,
            origin=began.origin,
            head=found.head,
            started_at=found.started_at,
            recorded_at=found.recorded_at,
        )

    def _id(self, which: str | UUID) -> UUID:
        if not isinstance(which, UUID):
            return self.existing(which).conversation_id
        if self.backend.owner(which) != self.tenant:
            raise ConversationNotFound("no conversation has that id: list them to see which do")
        return which

    def _opened(self, which: str | UUID) -> UUID:
        """Return the id of a conversation that may not have begun: its documents come first."""
        try:
            return self._id(which)
        except ConversationNotFound:
            found = None if isinstance(which, UUID) else self.backend.find(self.tenant, which)
            if found is None:
                raise
            return found
