"""Routes of the names in a log: keys, the catalogue, actors, and digests of names."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

from starlette.responses import Response, StreamingResponse

from onrecord.adapters.asynchronous.iteration import awaited_each
from onrecord.adapters.service.model import Empty, Model, json_bytes
from onrecord.adapters.service.problems import (
    FORBIDDEN,
    MALFORMED,
    Problem,
)
from onrecord.adapters.service.route import Call, Route, answered, posting, reading
from onrecord.adapters.service.routes.log_paths import (
    LOG,
    OF_ONE,
    conversation_id_of,
    text_in,
)
from onrecord.adapters.service.strangers import (
    may_act_for,
    must_act_for,
)
from onrecord.adapters.storage.http.event_forms import CatalogueForm, head_form
from onrecord.adapters.storage.http.forms import (
    ActorForm,
    ActorsForm,
    Bytes,
    ConversationIds,
    Digests,
    Found,
    NewKey,
    Number,
    StoredActorForm,
    StoredActorsForm,
    text_bytes,
)
from onrecord.domain.log import CatalogueEntry

_LINES: Final = "application/jsonl"


class Which(Model):
    """Of which tenant of the log: the key's, if it is not said."""

    tenant: UUID | None = None
    """The tenant of the log; the key's, if it is not said."""


async def open_key(call: Call[Empty, NewKey]) -> Response:
    """Return the id of the conversation of a key, made now if the key is new."""
    key, new_id = text_in(call.body.key), call.body.conversation_id
    opened = await call.steps.run(lambda: call.backend.open(call.tenant, key, new_id))
    return answered(Found(id=opened))


async def find_key(call: Call[Empty, Bytes]) -> Response:
    """Return the id of the conversation of a key, or null."""
    key = text_in(call.body.data)
    return answered(Found(id=await call.steps.run(lambda: call.backend.find(call.tenant, key))))


async def owner(call: Call[Empty, Empty]) -> Response:
    """Return whose conversation it is; null if it has not begun, or is none that one may meet."""
    conversation_id = conversation_id_of(call)

    def look() -> UUID | None:
        found = call.tenants.owners.of(conversation_id)
        return found if found is not None and may_act_for(call, found) else None

    return answered(Found(id=await call.steps.run(look)))


async def catalogue(call: Call[Which, Empty]) -> Response:
    """Return the conversations that have begun, a line each, the one that moved last first."""
    tenant = _asked_tenant(call)
    entries = awaited_each(call.steps, lambda: call.backend.conversations(tenant))
    # The first line is read before anything is sent: what cannot be listed is a problem, not a cut.
    first = await anext(entries, None)
    return StreamingResponse(_lines(first, entries), media_type=_LINES)


async def _lines(
    first: CatalogueEntry | None, entries: AsyncIterator[CatalogueEntry]
) -> AsyncIterator[bytes]:
    if first is not None:
        yield _line(first)
        async for entry in entries:
            yield _line(entry)


def _line(entry: CatalogueEntry) -> bytes:
    form = CatalogueForm.model_construct(
        conversation_id=entry.conversation_id,
        head=head_form(entry.head),
        started_at=entry.started_at,
        recorded_at=entry.recorded_at,
    )
    return json_bytes(form) + b"\n"


async def open_conversations(call: Call[Which, Empty]) -> Response:
    """Return the ids of the conversations that have begun and are not closed."""
    tenant = _asked_tenant(call)
    found = await call.steps.run(lambda: call.backend.open_conversations(tenant))
    return answered(ConversationIds(conversation_ids=found))


def _asked_tenant(call: Call[Which, Empty]) -> UUID:
    tenant = call.query.tenant or call.tenant
    must_act_for(call, tenant)
    return tenant


async def digest(call: Call[Empty, Bytes]) -> Response:
    """Return the keyed digest of a text."""
    text = text_in(call.body.data)
    return answered(Bytes(data=await call.steps.run(lambda: call.backend.digest(text))))


async def proof(call: Call[Empty, Bytes]) -> Response:
    """Return what proves that the tenant's word is a statement: nobody is given a seal."""

    def prove() -> bytes:
        prover = call.backend.prover(call.tenant)
        if prover is None:
            raise Problem(FORBIDDEN, "the service proves nothing for the tenant")
        return prover(call.body.data)

    return answered(Bytes(data=await call.steps.run(prove)))


async def keep_actor(call: Call[Empty, ActorForm]) -> Response:
    """Keep the name that a digest is of."""
    name = text_in(call.body.name)

    def keep() -> None:
        if not call.access.all_tenants and call.backend.digest(name) != call.body.digest:
            raise Problem(MALFORMED, "the digest is not that of the name")
        call.backend.actors().keep(call.tenant, call.body.digest, name)

    await call.steps.run(keep)
    return answered(Number(number=1))


async def actor_names(call: Call[Empty, Digests]) -> Response:
    """Return the names that digests are of."""
    asked = call.body.digests
    names = await call.steps.run(lambda: call.backend.actors().names(call.tenant, asked))
    forms = [ActorForm(digest=known, name=text_bytes(name)) for known, name in names.items()]
    return answered(ActorsForm(actors=forms))


async def stored_actors(call: Call[Empty, Empty]) -> Response:
    """Return the rows of the directory of actors that are the tenant's."""
    own = None if call.access.all_tenants else call.tenant.bytes
    rows = await call.steps.run(lambda: list(call.backend.actors().stored()))
    forms = [
        StoredActorForm.model_construct(**row._asdict())
        for row in rows
        if own in (None, row.tenant)
    ]
    return answered(StoredActorsForm(actors=forms))


async def clock(call: Call[Empty, Empty]) -> Response:
    """Return the time by the clock that stamps events."""
    return answered(Number(number=await call.steps.run(call.backend.clock)))


_ACTORS: Final = f"{LOG}/actors"

ROUTES: Final[tuple[Route[Any, Any], ...]] = (
    # Names and texts go in bodies: what stands in a path stands in the logs of proxies.
    posting(
        "write",
        f"{LOG}/keys",
        "log_open",
        "Open a key.",
        open_key,
        Found,
        body=NewKey,
        statuses=(410,),
    ),
    posting("read", f"{LOG}/keys/find", "log_find", "Find a key.", find_key, Found, body=Bytes),
    posting("read", f"{LOG}/digests", "log_digest", "Digest a name.", digest, Bytes, body=Bytes),
    posting("write", f"{LOG}/proofs", "log_proof", "Prove a statement.", proof, Bytes, body=Bytes),
    posting("write", _ACTORS, "log_keep_actor", "Keep a name.", keep_actor, Number, body=ActorForm),
    posting(
        "read",
        f"{_ACTORS}/names",
        "log_actor_names",
        "Tell names.",
        actor_names,
        ActorsForm,
        body=Digests,
    ),
    reading(f"{OF_ONE}/owner", "log_owner", "Whose is it?", owner, Found),
    reading(
        f"{LOG}/open-conversations",
        "log_open_conversations",
        "Which are open?",
        open_conversations,
        ConversationIds,
        query=Which,
    ),
    reading(f"{LOG}/clock", "log_clock", "What time is it?", clock, Number),
    replace(
        reading(
            _ACTORS, "log_stored_actors", "Which names are kept?", stored_actors, StoredActorsForm
        ),
        role="operate",
    ),
    Route(
        *("GET", f"{LOG}/catalogue", "log_catalogue", "List conversations, a line each."),
        role="read",
        query=Which,
        body=Empty,
        answers=catalogue,
        media_type=_LINES,
    ),
)
