"""The store: what `onrecord.connect` gives, and the way to its conversations."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final, Self, TypeVar, Unpack
from uuid import UUID

from onrecord.adapters.conversation.conversation import Conversation
from onrecord.adapters.encryption.readable_log import readable_from
from onrecord.adapters.inputs.arguments import of_kind, reason_given
from onrecord.adapters.recording.spool import Spool
from onrecord.adapters.recording.tenancy import NO_MATRIX, Tenancy
from onrecord.adapters.settings import NO_TENANT, AccessMode, seals_given
from onrecord.adapters.streams.lineage import beginning_of
from onrecord.adapters.upkeep.access import StoreAccess
from onrecord.adapters.upkeep.erasing import (
    Erasing,
    ForgetResult,
    SweepResult,
    erasures,
    erasures_of,
    forks_left,
    operator_name,
)
from onrecord.domain.errors import ConversationNotFound, InvalidInput
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.log import Backend, Cursor, Subscription
from onrecord.projections.history.erasure_records import ErasureEntry

if TYPE_CHECKING:
    from onrecord.adapters.recording.actor_names import AttributionNames
    from onrecord.adapters.redis.accelerator import Accelerator
    from onrecord.adapters.redis.relay import Relay
    from onrecord.adapters.seals.checkpoints import SealedCheckpoint
    from onrecord.adapters.seals.store_seals import StoreSeals
    from onrecord.adapters.streams.listing import Listed
    from onrecord.adapters.subjects.store_subjects import StoreSubjects
    from onrecord.adapters.upkeep.retention import StoreRetention
    from onrecord.adapters.upkeep.verified import Verified
    from onrecord.adapters.upkeep.verifying import Progress
    from onrecord.adapters.views.following import Following
    from onrecord.adapters.views.ports import ViewStatus
    from onrecord.adapters.views.reading import Views
    from onrecord.adapters.wire.clients.binding import Unbound
    from onrecord.domain.seals.merkle import Root
    from onrecord.projections.views.projection import OwnProjection

ClientT = TypeVar("ClientT")

GRACE: Final = timedelta(hours=24)
"""How long a document may wait for the event that refers to it."""


class Store:
    """The conversations of one tenant. Safe to share between threads; close it when done.

    `url` says where it writes, without a password; `access` tells who read what (docs/access.md).
    """

    def __init__(
        self,
        backend: Backend,
        url: str,
        *,
        spool: Spool,
        tenant: UUID = NO_TENANT,
        matrix: Mapping[str, JsonObject] = NO_MATRIX,
        accelerator: Accelerator | None = None,
        views: Callable[[], Views] | None = None,
        folds: int = 0,
        seals: StoreSeals | None = None,
        access_log: AccessMode = "off",
        **names: Unpack[AttributionNames],
    ) -> None:
        """Serve a tenant's conversations from a backend; `names` say who acts, and under which rules.

        `matrix` is what a file of the caller's says that models take. What the backend cannot take after
        a request was sent waits in the spool. `accelerator` is the Redis beside it, if there is one. `views`
        opens what is folded of the log; `folds` is how many bytes of folds this process keeps.
        """
        self._backend = backend
        self.url = url
        self.tenant = tenant
        self._actor = names.get("actor")
        forks = partial(forks_left, backend, tenant)
        self._erasing = Erasing(backend, tenant, erase=self._erase, forks=forks)
        self._seals = seals
        self._accelerator = accelerator
        self._open_views = views
        self._tenancy = Tenancy(backend, tenant, spool, matrix=matrix, folds=folds, **names)
        self.access: Final = StoreAccess(self._tenancy, access_log, self._actor, id_of=self._opened)
        if access_log != "off":
            self._tenancy.count = self.access.counts.add

    def __repr__(self) -> str:
        """Say where it writes."""
        return f"Store({self.url!r})"

    def __enter__(self) -> Self:
        """Return the store itself."""
        return self

    def __exit__(self, *exc: object) -> None:
        """Close the store."""
        self.close()

    def conversation(
        self, key: str, *, subjects: Iterable[str] = (), **names: Unpack[AttributionNames]
    ) -> Conversation:
        """Return the conversation of that key; it starts with its first event.

        `actor` is who acts in it, and `on_behalf_of` for whom, by name; `policy` and `deployment`
        are the rules in force (docs/actors.md). `subjects` are those it is about, by name: in an
        encrypted store it is under their keys (docs/encryption.md).
        """
        return Conversation(self._tenancy, key, self._tenancy.names.attribution(**names), subjects)

    def record(
        self, client: ClientT, *, unbound: Unbound = "record", splice: bool = False
    ) -> ClientT:
        """Return a client of the same type, for the calls of many conversations.

        Each call is recorded in the conversation that binds it: by the header in its `extra_headers`
        (`conversation.headers`), else by the scope around it (`with conversation.recording():`). One
        bound to none has a conversation of its own, or is refused before anything is sent
        (`unbound="refuse"`). `splice`, and UnsupportedClient, are as `Conversation.record` has them.
        """
        from onrecord.adapters.wire.clients import record as tee
        from onrecord.adapters.wire.clients.binding import Binding

        if unbound not in ("record", "refuse"):
            raise InvalidInput('unbound is "record" or "refuse"')
        recorders = self._tenancy.recorders
        return tee.record(client, Binding(recorders, unbound=unbound, splice=bool(splice)))

    def get(self, which: str | UUID) -> Conversation:
        """Return the conversation of a key, or of an id, which is a UUID: a text is always a key.

        ConversationNotFound if nothing was said in it, or if it was forgotten.
        """
        if isinstance(which, UUID):
            key = beginning_of(self._backend, self._id(which)).key
            if key is None:
                raise ConversationNotFound("the conversation of that id was forgotten")
            return self.conversation(key)
        conversation = self.conversation(which)
        if conversation.head().version == 0:
            raise ConversationNotFound("no conversation has that key: list them to see which do")
        return conversation

    def conversations(self) -> Iterator[Listed]:
        """Yield the conversations, the one that moved last first."""
        from onrecord.adapters.streams.listing import listed

        return (listed(self._backend, one) for one in self._backend.conversations(self.tenant))

    def forks(self, which: str | UUID) -> list[Listed]:
        """Return the conversations that go on from one, found by its key or id, and from them."""
        from onrecord.adapters.streams.listing import forks_of

        return forks_of(self._backend, self.tenant, self._opened(which))

    def forget(self, which: str | UUID, *, reason: str, actor: str | None = None) -> ForgetResult:
        """Erase what was said in a conversation, for good; return how many events it had.

        That is a fact in the operators' stream: who (`actor`, else `$ONRECORD_ACTOR`), when, why
        (`reason`), how much, and which forks stay; `erasures` and the audit show it. It can never be
        erased, so the reason names nobody who has a right to be forgotten.

        `which` is its key, or its id, which it keeps. Bodies, salts, blobs and the key go, and what
        still waits to be recorded. Headers and leaves stay, so that the ledger still verifies, and
        with them the tool context that was persisted, in clear. `forks` stay too, with what their
        requests repeat of this conversation. Pieces may stay in files until `sweep` writes them anew:
        the result says where. Where nothing was said yet, documents and the key go.

        ConversationNotFound if there is none, ConversationOnHold where a legal hold keeps it,
        InvalidInput where it is not said who erases and why.
        """
        who, why = operator_name(actor, self._actor), reason_given(reason)
        try:
            erased = self._erasing.forget(self._opened(which), who, why)
        except ConversationNotFound:
            self.resume_erasures()  # Its key may have gone with an erasure that was not finished.
            raise
        self.resume_erasures()
        return ForgetResult(erased, self._residue())

    def forget_actor(
        self, name_or_digest: str, *, reason: str, actor: str | None = None
    ) -> ForgetResult:
        """Erase the name of an actor, for good; the digest stays in the headers of events.

        It is given by its name, by its digest (32 hex digits), or by the id that `erasures` has of
        it. That is a fact, as `forget` has it, with `reason` and `actor`. This store does not write
        the name again; one that is opened later does. InvalidInput where no such name is kept.
        """
        from onrecord.adapters.upkeep.forgetting_actors import forget_actor

        who, why = operator_name(actor, self._actor), reason_given(reason)
        forget_actor(self._backend, self._erasing, self._tenancy.names, name_or_digest, who, why)
        return ForgetResult(0, self._residue())

    def erasures(self, which: str | UUID | None = None) -> list[ErasureEntry]:
        """Return the erasures of one conversation, or of all, the last one first.

        `which` is its key, or its id; a forgotten one has only its id. One that is unfinished has
        no outcome. ConversationNotFound if no conversation has that key.
        """
        if which is None:
            return list(erasures(self._backend, self.tenant))
        conversation_id = which if isinstance(which, UUID) else self._opened(which)
        return list(erasures_of(self._backend.read, self.tenant, conversation_id))[::-1]

    def resume_erasures(self) -> int:
        """Finish the erasures that a program began and did not live to finish; return how many.

        Opening a store does so; a role that may not erase finishes none.
        """
        return self._erasing.resume(self._actor)

    def verify(
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
        """Check that what is stored is what was committed to, and say what does not hold.

        Of a conversation (its key, or its id), else of the whole store, all tenants of it: events, heads,
        keys, documents, erasures, and what belongs to none. The log must still have `roots` that were
        written down, and what is sealed at places, the URLs `seals` (else `$ONRECORD_SEALS`), under the
        public keys `vkeys` (docs/verify.md). `authority` is a PEM file with the certificates of the
        timestamp authority that is believed. InvalidInput where those are given of a conversation. A role
        that is bound to a tenant does not see all positions: it can check conversations only. `views`
        compares the rows of the maintained views too with what the events come to.
        """
        from onrecord.adapters.upkeep.verifying import no_progress
        from onrecord.adapters.upkeep.verifying_store import verify_store
        from onrecord.adapters.upkeep.verifying_views import with_views

        conversation_id = None if which is None else self._id(which)
        if which is not None and not (seals is None and vkeys is None and authority is None):
            raise InvalidInput("a seal is a shard's: verify the whole store, or leave it out")
        report, sealing = progress or no_progress, seals_given(seals, None, vkeys, authority)
        of = self._backend, self.tenant, conversation_id
        verified = verify_store(*of, roots, sealing, progress=report)
        if not views:
            return verified
        kept = self.views.pages.kept()
        return with_views(verified, self._backend, kept, conversation_id, report)

    def sweep(self, older_than: timedelta = GRACE, *, rewrite: bool = True) -> SweepResult:
        """Delete documents that no event refers to and that were stored so long ago, at least.

        Then write anew what may hold pieces of what was forgotten: that takes room for two more copies, on
        PostgreSQL the role of the log's owner, and nobody can use a table meanwhile. `rewrite=False` leaves
        it for another time. Erasures that were begun are finished.
        """
        if of_kind(timedelta, "older_than", older_than) < timedelta(0):
            raise InvalidInput("older_than is a time that has passed: give it as 0 or more")
        written_anew = self._rewrite if rewrite else tuple
        return self._erasing.sweep(older_than, self._actor, written_anew, self._residue)

    def seal(self) -> list[SealedCheckpoint]:
        """Sign what each shard has now, and return the signed checkpoints (docs/seals.md).

        InvalidInput where no key or place is named, or the key is of another log, StorageReadOnly for a
        role that does not see all events, CorruptRecord where the log does not go on from its seals.
        """
        if self._seals is None:
            raise InvalidInput("a log is sealed where it is: connect to it by its own URL")
        return self._seals.seal()

    def cursors(self) -> list[Cursor]:
        """Return where the log ends, shard by shard."""
        return self._backend.cursors()

    def subscribe(self, after: Cursor) -> Subscription:
        """Return the tenant's events of a shard after a cursor, those to come included.

        StaleCursor for a cursor of another incarnation of the log, or of a shard that it has not.
        """
        of_kind(Cursor, "a cursor", after)
        if self._accelerator is not None:
            return readable_from(self._backend, self._accelerator.subscribe(after, self.tenant))
        return self._backend.subscribe(after, self.tenant)

    @cached_property
    def views(self) -> Views:
        """Return the views: what was folded of the log for lists, searches, sums and audits."""
        if self._open_views is None:
            raise InvalidInput("views are kept where the log is: connect to it by its own URL")
        views = self._open_views()
        views.count = self._tenancy.count
        return views

    def follow(self, projection: OwnProjection | str) -> Following:
        """Return a scope in which this process keeps a projection of one's own up to date."""
        return self.views.follow(projection)

    def run(self, projection: OwnProjection | str) -> ViewStatus:
        """Fold what the log has now into a projection of one's own, and return how that stands."""
        with self.follow(projection) as following:
            following.wait()
            return following.status

    @cached_property
    def retention(self) -> StoreRetention:
        """Return legal holds, retention classes, and what is erased by them."""
        from onrecord.adapters.upkeep.retention import StoreRetention as Of

        parts = self._backend, self.tenant, self._erasing
        who = partial(operator_name, default=self._actor)
        return Of(*parts, who=who, id_of=self._opened, residue=self._residue, seals=self._seals)

    @cached_property
    def subjects(self) -> StoreSubjects:
        """Return what finds, hands out and erases what is kept of a subject."""
        from onrecord.adapters.subjects.store_subjects import StoreSubjects as Of

        of = self._backend, self.tenant, self._erasing, self._seals
        return Of(*of, self._residue, self._actor)

    def relay(self) -> Relay | None:
        """Return what fills the live tails of the Redis beside this store; None without one."""
        return None if self._accelerator is None else self._accelerator.relay()

    def close(self) -> None:
        """Let go of files and connections; an embedded store seals first what was appended."""
        try:
            self.access.counts.flush()
            if self._seals is not None:
                self._seals.close()
        finally:
            self._tenancy.drop_texts()
            if "views" in self.__dict__:
                self.views.pages.close()
            self._backend.close()
            if self._accelerator is not None:
                self._accelerator.close()

    def _erase(self, conversation_id: UUID) -> int:
        """Take away what a conversation says, wherever it is; it may have been taken away before."""
        self._tenancy.spool.forget(conversation_id)
        erased = self._backend.forget(conversation_id)
        self._tenancy.spool.forget(conversation_id)  # An answer may have come meanwhile.
        self._tenancy.drop_texts()
        if self._accelerator is not None:
            self._accelerator.forget(conversation_id)
        if self._open_views is not None:
            self.views.pages.erase()
        return erased

    def _rewrite(self) -> tuple[str, ...]:
        written = self._backend.rewrite()
        return written if self._open_views is None else written + self.views.pages.rewrite()

    def _residue(self) -> tuple[str, ...]:
        views = () if self._open_views is None else self.views.pages.residue()
        return self._backend.residue() + views

    def _id(self, which: str | UUID) -> UUID:
        if not isinstance(which, UUID):
            return self.get(which).conversation_id
        if self._backend.owner(which) != self.tenant:
            raise ConversationNotFound("no conversation has that id: list them to see which do")
        return which

    def _opened(self, which: str | UUID) -> UUID:
        """Return the id of a conversation that may not have begun: its documents come first."""
        try:
            return self._id(which)
        except ConversationNotFound:
            if isinstance(which, UUID) or (found := self._backend.find(self.tenant, which)) is None:
                raise
            return found


def backend_of(store: Store) -> Backend:
    """Return the log of a store: for what is built on both, not for its users."""
    return store._backend  # pyright: ignore[reportPrivateUsage]  # its own module's


def erase_in(store: Store, conversation_id: UUID) -> int:
    """Take away what a conversation says, wherever a store has it: for what is built on both."""
    return store._erase(conversation_id)  # pyright: ignore[reportPrivateUsage]  # its own module's


def tenancy_of(store: Store) -> Tenancy:
    """Return what a store's conversations share: for what is built on both, not for its users."""
    return store._tenancy  # pyright: ignore[reportPrivateUsage]  # its own module's
