"""A store over HTTP: the backend behind the storage port that asks a service (`onrecord serve`).

Recorders, folds and rendering stay in this process. What a verb asks for is repeated where its
answer does not come, so each has to mean the same when it is asked twice: reads do, and an append
does by the ids of its events (`append`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Final
from uuid import UUID

from pydantic import BaseModel, ValidationError

from onrecord.adapters.storage.append import Proof, must_be_apart
from onrecord.adapters.storage.http import blobs
from onrecord.adapters.storage.http.actors import HttpActors
from onrecord.adapters.storage.http.address import base_of, key_given
from onrecord.adapters.storage.http.answers import unreadable
from onrecord.adapters.storage.http.append_forms import (
    AppendsForm,
    VerdictsForm,
    append_form,
    verdict_of,
)
from onrecord.adapters.storage.http.event_forms import (
    CatalogueForm,
    CursorsForm,
    EventsForm,
    HeadForm,
    NewSinceForm,
    TailForm,
    TellForm,
    catalogue_of,
    cursor_of,
    events_of,
    head_of,
    new_since_of,
    told_of,
)
from onrecord.adapters.storage.http.forms import (
    MOST_EVENTS,
    Bytes,
    ConversationIds,
    Found,
    NewKey,
    Number,
    Sentences,
    Standing,
    text_bytes,
)
from onrecord.adapters.storage.http.repeated_appends import own_verdicts
from onrecord.adapters.storage.http.subscription import HttpSubscription
from onrecord.adapters.storage.http.transport import (
    MOST_LISTED,
    PATIENCE_SECONDS,
    Ask,
    FormT,
    Transport,
)
from onrecord.adapters.storage.steps import LoopSteps
from onrecord.adapters.storage.subscription import Wakeups, owned_by
from onrecord.domain.content import Blob
from onrecord.domain.errors import InvalidInput
from onrecord.domain.head import Head, Pointer
from onrecord.domain.inventory import Inventory
from onrecord.domain.log import (
    BEFORE_FIRST,
    Append,
    CatalogueEntry,
    Cursor,
    NewSince,
    RecordedEvent,
    Subscription,
    Told,
    Verdict,
)

LOG: Final = "/v1/log"

_DIGESTS: Final = 4_096


def open_http(
    url: str,
    key: str | None = None,
    *,
    tenant: UUID | None = None,
    patience: float = PATIENCE_SECONDS,
) -> Http:
    """Return the store of a service, which is asked whose log it is for a key.

    `tenant` is whose log it has to be. InvalidInput for an URL that is no service's or holds a key,
    StorageUnavailable where it cannot be reached or takes no such key, StorageReadOnly where the
    key is for another tenant. A request without an answer is repeated for `patience` seconds.
    """
    transport = Transport(base_of(url), key_given(key), patience)
    named = None if tenant is None else str(tenant)
    try:
        standing = transport.form(Ask("GET", LOG, tenant=named), Standing)
    except BaseException:
        transport.close()
        raise
    return Http(transport, standing)


class Http:
    """A log, a catalogue and blobs that a service has; get it by `open_http`."""

    def __init__(self, transport: Transport, standing: Standing) -> None:
        """Ask a service, which told what the key may do."""
        self._transport = transport
        self._standing = standing
        self._incarnation = standing.incarnation
        self.wakeups = Wakeups()
        self.steps: Final = LoopSteps()
        # What depends on the text alone is asked for once.
        self._digest = lru_cache(_DIGESTS)(self._asked_digest)
        self._proof = lru_cache(_DIGESTS)(self._asked_proof)

    @property
    def url(self) -> str:
        """Where the service is."""
        return self._transport.base

    @property
    def tenant(self) -> UUID:
        """Whose log it is for the key."""
        return self._standing.tenant

    def append(self, appends: Sequence[Append]) -> list[Verdict]:
        """Record what can be recorded and return a verdict for each request, in order.

        Where an answer was lost, the same events are sent again: those that are told to be
        duplicates then, and that stand in the log byte for byte, were recorded by this append.
        """
        must_be_apart(appends)
        if not appends:
            self._transport.must_be_open()
            return []
        body = AppendsForm.model_construct(appends=list(map(append_form, appends)))
        answer = self._transport.answer(Ask("POST", f"{LOG}/appends", body=body))
        form = self._transport.read(answer, VerdictsForm)
        verdicts = list(map(verdict_of, form.verdicts))
        if len(verdicts) != len(appends):
            raise unreadable()
        self._incarnation = form.incarnation
        if answer.is_repeated:
            verdicts = own_verdicts(self, appends, verdicts)
        self.wakeups.appended()
        return verdicts

    def read(
        self,
        conversation_id: UUID,
        *,
        after: int = BEFORE_FIRST,
        until: int | None = None,
        limit: int | None = None,
    ) -> Iterator[RecordedEvent]:
        """Yield a conversation's events with after < version <= until, in order of version."""
        left = MOST_EVENTS if limit is None else limit
        while left > 0:
            asked = min(left, MOST_EVENTS)
            query = {"after": after, "until": until, "limit": asked}
            form = self._of(conversation_id, "events", EventsForm, query)
            yield from events_of(form.events)
            if not form.events or (form.is_all and len(form.events) < asked):
                return
            after = form.events[-1].version
            left -= 0 if limit is None else len(form.events)

    def first_events(self, conversation_ids: Sequence[UUID]) -> list[RecordedEvent]:
        """Return the events of version 1 of several conversations."""
        body = ConversationIds(conversation_ids=list(conversation_ids))
        return events_of(self._posted("first-events", EventsForm, body).events)

    def tell(
        self, conversation_id: UUID, *, exchange: int = 0, until: int | None = None
    ) -> Iterator[Told]:
        """Yield what a fold takes of a conversation's events, from an exchange on."""
        query = {"exchange": exchange, "until": until}
        form = self._of(conversation_id, "told", TellForm, query)
        yield from (told_of(conversation_id, each) for each in form.events)
        if not form.is_all:
            after = form.events[-1].version
            yield from (e.told() for e in self.read(conversation_id, after=after, until=until))

    def read_log(self, after: Cursor, limit: int) -> list[RecordedEvent]:
        """Return at most `limit` events after a cursor that the key may see, in order of position."""
        events = list[RecordedEvent]()
        while len(events) < limit:
            page, end = self.tail(after, limit - len(events))
            events += page
            if end == after:
                break
            after = end
        return events

    def tail(
        self, after: Cursor, limit: int, wait: float | None = None
    ) -> tuple[list[RecordedEvent], Cursor]:
        """Return what follows in a shard, waited for some seconds, and how far that was looked for."""
        place = {"incarnation": after.incarnation, "shard": after.shard, "after": after.position}
        query = {**place, "limit": min(limit, MOST_EVENTS), "wait": wait}
        is_tail = wait is not None
        ask = Ask("GET", f"{LOG}/{'tail' if is_tail else 'events'}", query, is_tail=is_tail)
        form = self._transport.form(ask, TailForm)
        self._incarnation = form.incarnation
        return events_of(form.events), Cursor(form.incarnation, after.shard, form.position)

    def subscribe(self, after: Cursor, tenant: UUID | None = None) -> Subscription:
        """Return the events after a cursor, those to come included."""
        self.read_log(after, 1)
        # A key for one tenant is shown no other's.
        is_one = not self._standing.all_tenants and tenant == self.tenant
        wanted = owned_by(None if is_one else tenant, self.owner)
        return HttpSubscription(self, after, wanted)

    def cursors(self) -> list[Cursor]:
        """Return the cursor of the last position of each shard."""
        found = list(map(cursor_of, self._got("cursors", CursorsForm).cursors))
        self._incarnation = found[0].incarnation
        return found

    def incarnation(self) -> UUID:
        """Return the incarnation of the log, as its latest answer found it."""
        return self._incarnation

    def head(self, conversation_id: UUID) -> Head:
        """Return where a conversation stands; an empty Head if it has not begun."""
        return head_of(self._of(conversation_id, "head", HeadForm))

    def new_since(self, conversation_id: UUID, after: int, limit: int) -> NewSince:
        """Return where a conversation stands, and at most `limit` events that came after a version."""
        query = {"after": after, "limit": min(limit, MOST_EVENTS)}
        form = self._of(conversation_id, "new", NewSinceForm, query)
        self._incarnation = form.incarnation
        found = new_since_of(form)
        left = min(limit, found.head.version - max(after, 0)) - len(found.events)
        if form.events and left > 0:
            more = self.read(
                conversation_id,
                after=form.events[-1].version,
                until=found.head.version,
                limit=left,
            )
            found.events.extend(more)
        return found

    def pointed(
        self, conversation_id: UUID, pointer: Pointer, until: int, limit: int
    ) -> list[RecordedEvent]:
        """Return the last events up to a version whose effect `points` so, the last one first."""
        query = {"pointer": pointer, "until": until, "limit": limit}
        return events_of(self._of(conversation_id, "pointed", EventsForm, query).events)

    def exchange_start(self, conversation_id: UUID, exchange: int) -> int:
        """Return the version of the prompt that opened an exchange; 0 if there is none such."""
        return self._of(conversation_id, "exchange", Number, {"exchange": exchange}).number

    def open(self, tenant: UUID, key: str, conversation_id: UUID | None = None) -> UUID:
        """Return the id of the conversation of that key, made now if the key is new."""
        body = NewKey(key=text_bytes(key), conversation_id=conversation_id)
        found = self._posted("keys", Found, body, tenant).id
        if found is None:
            raise unreadable()
        return found

    def find(self, tenant: UUID, key: str) -> UUID | None:
        """Return the id of the conversation of that key, or None."""
        return self._posted("keys/find", Found, Bytes(data=text_bytes(key)), tenant).id

    def owner(self, conversation_id: UUID) -> UUID | None:
        """Return the tenant whose conversation it is; None if it has not begun, or is not to be met."""
        return self._of(conversation_id, "owner", Found).id

    def conversations(self, tenant: UUID) -> Iterator[CatalogueEntry]:
        """Yield the conversations that have begun, the one that moved last first."""
        # As a whole: a list that is cut would begin again in another order.
        ask = Ask("GET", f"{LOG}/catalogue", {"tenant": tenant}, most=MOST_LISTED)
        answer = self._transport.answer(ask)
        try:
            for line in answer.data.splitlines():
                yield catalogue_of(CatalogueForm.model_validate_json(line))
        except ValidationError:
            raise unreadable() from None

    def open_conversations(self, tenant: UUID) -> list[UUID]:
        """Return the conversations that have begun and are not closed, by their ids."""
        return self._ids("open-conversations", {"tenant": tenant})

    def put_blob(self, tenant: UUID, conversation_id: UUID, chunks: Iterable[bytes]) -> Blob:
        """Store bytes and return the reference; storing them again changes nothing."""
        path = f"{LOG}/conversations/{conversation_id}/blobs"
        return blobs.put(self._transport, path, tenant, chunks)

    def get_blob(self, conversation_id: UUID, blob: Blob) -> Iterator[bytes]:
        """Yield the bytes of a blob in pieces; CorruptRecord if they are missing or others."""
        path = f"{LOG}/conversations/{conversation_id}/blobs"
        yield from blobs.get(self._transport, path, blob)

    def sweep_blobs(self, age: int) -> int:
        """Delete blobs that no event refers to and that were stored so long ago, at least."""
        ask = Ask("POST", f"{LOG}/sweeps", {"age": age})
        return self._transport.read(self._transport.answer(ask, repeats=False), Number).number

    def clock(self) -> int:
        """Return the time by the service's store, in microseconds since 1970-01-01 UTC."""
        return self._got("clock", Number).number

    def forget(self, conversation_id: UUID) -> int:
        """Erase bodies, salts, blobs and the key of a conversation; return how many events."""
        answer = self._transport.answer(
            Ask("POST", f"{LOG}/conversations/{conversation_id}/forget")
        )
        number = self._transport.read(answer, Number).number
        if answer.is_repeated and not number:
            # The answer that was lost told how many.
            return sum(event.body is None for event in self.read(conversation_id))
        return number

    def may_forget(self) -> bool:
        """Return whether the key may erase, and the service."""
        return self._standing.may_forget

    def residue(self) -> tuple[str, ...]:
        """Say where bytes that were erased may still be on the service's disk, and what to do."""
        return tuple(self._got("residue", Sentences).sentences)

    def rewrite(self) -> tuple[str, ...]:
        """Have written anew what may hold bytes that were erased; return the names."""
        answer = self._transport.answer(Ask("POST", f"{LOG}/rewrites"), repeats=False)
        return tuple(self._transport.read(answer, Sentences).sentences)

    def erasures(self) -> int:
        """Return how often something was erased."""
        return self._got("erasures", Number).number

    def erased(self, after: int) -> list[UUID]:
        """Return the conversations of the erasures that come after so many, in order."""
        return self._ids("erased", {"after": after})

    def digest(self, text: str) -> bytes:
        """Return the keyed digest (16 bytes) of a name, which the service makes."""
        return self._digest(text)

    def prover(self, tenant: UUID | None) -> Proof | None:
        """Return what proves a tenant's word; None for the log's own, and for a key to read."""
        # The service makes each proof: a key that is revoked proves nothing any more.
        if tenant is None or self._standing.role == "read":
            return None
        return lambda statement: self._proof(tenant, statement)

    def actors(self) -> HttpActors:
        """Return the names of those who act."""
        return HttpActors(self._transport)

    def inventory(self) -> Inventory:
        """Raise InvalidInput: the rows are read where they are."""
        raise InvalidInput(
            "what is stored is checked where it is: run `onrecord verify` with the service's own store"
        )

    def close(self) -> None:
        """End all subscriptions; using the backend afterwards is an error."""
        self.wakeups.close()
        self.steps.close()
        self._transport.close()

    def _asked_digest(self, text: str) -> bytes:
        return self._posted("digests", Bytes, Bytes(data=text_bytes(text))).data

    def _asked_proof(self, tenant: UUID, statement: bytes) -> bytes:
        return self._posted("proofs", Bytes, Bytes(data=statement), tenant).data

    def _ids(self, path: str, query: dict[str, Any]) -> list[UUID]:
        ask = Ask("GET", f"{LOG}/{path}", query, most=MOST_LISTED)
        return self._transport.form(ask, ConversationIds).conversation_ids

    def _got(self, path: str, kind: type[FormT], query: dict[str, Any] | None = None) -> FormT:
        return self._transport.form(Ask("GET", f"{LOG}/{path}", query), kind)

    def _of(
        self,
        conversation_id: UUID,
        path: str,
        kind: type[FormT],
        query: dict[str, Any] | None = None,
    ) -> FormT:
        return self._got(f"conversations/{conversation_id}/{path}", kind, query)

    def _posted(
        self, path: str, kind: type[FormT], body: BaseModel, tenant: UUID | None = None
    ) -> FormT:
        named = None if tenant is None else str(tenant)
        return self._transport.form(Ask("POST", f"{LOG}/{path}", body=body, tenant=named), kind)
