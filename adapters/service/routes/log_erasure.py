"""Routes by which operators erase: for good, wherever the service has it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Final
from uuid import UUID

from starlette.responses import Response

from onrecord.adapters.service.model import Empty, Model
from onrecord.adapters.service.problems import (
    FORBIDDEN,
    Problem,
)
from onrecord.adapters.service.route import Call, Route, answered, posting, reading
from onrecord.adapters.service.routes.log_paths import (
    LOG,
    OF_ONE,
    conversation_id_of,
)
from onrecord.adapters.service.strangers import (
    must_act_for,
    must_have_all_tenants,
)
from onrecord.adapters.storage.http.forms import (
    ConversationIds,
    Count,
    Number,
    Sentences,
)
from onrecord.adapters.store import erase_in
from onrecord.adapters.upkeep.erasing import ACTOR_ID_VERSION, must_be_erasable, tenant_of


class After(Model):
    """Those that come after so many."""

    after: Count
    """How many erasures they come after."""


class Age(Model):
    """An age in microseconds."""

    age: Count
    """The age in microseconds."""


async def forget(call: Call[Empty, Empty]) -> Response:
    """Erase what a conversation says, or the name of an actor, wherever the service has it.

    Our client intends it in the log first, and holds before that intent are looked for. Of a client that
    does not, nobody knows who erases and why: a hold that comes within that moment is broken, and
    `verify` names it.
    """
    conversation_id = conversation_id_of(call)
    tenant = await call.steps.run(partial(_erased_tenant, call, conversation_id))
    await call.steps.run(partial(must_be_erasable, call.backend, tenant, conversation_id))
    store = await call.tenants.store_of(tenant)
    erased = await call.steps.run_long(partial(erase_in, store, conversation_id))
    # What tails were about to be sent of it is gone, too.
    call.tails.hub.forget()
    return answered(Number(number=erased))


def _erased_tenant(call: Call[Empty, Empty], erased: UUID) -> UUID:
    """Return whose it is that is to be erased; Problem where that is not for whoever asks."""
    owner = call.tenants.owners.of(erased) or tenant_of(call.backend, erased)
    if owner is not None:
        must_act_for(call, owner)
        return owner
    if erased.version == ACTOR_ID_VERSION and not call.access.all_tenants:
        raise Problem(FORBIDDEN, "the tenant has no such name")
    return call.tenant


async def erasures(call: Call[Empty, Empty]) -> Response:
    """Return how often something was erased."""
    return answered(Number(number=await call.steps.run(call.backend.erasures)))


async def erased(call: Call[After, Empty]) -> Response:
    """Return the conversations of the erasures that come after so many."""
    must_have_all_tenants(call)
    found = await call.steps.run(lambda: call.backend.erased(call.query.after))
    return answered(ConversationIds(conversation_ids=found))


async def sweep(call: Call[Age, Empty]) -> Response:
    """Delete documents that no event refers to, of so great an age at least."""
    must_have_all_tenants(call)
    swept = await call.steps.run_long(lambda: call.backend.sweep_blobs(call.query.age))
    return answered(Number(number=swept))


async def rewrite(call: Call[Empty, Empty]) -> Response:
    """Write anew what may hold bytes that were erased."""
    must_have_all_tenants(call)
    return await _sentences(call, call.backend.rewrite)


async def residue(call: Call[Empty, Empty]) -> Response:
    """Say where bytes that were erased may still be."""
    return await _sentences(call, call.backend.residue)


async def _sentences(call: Call[Any, Any], tell: Callable[[], tuple[str, ...]]) -> Response:
    return answered(Sentences(sentences=list(await call.steps.run_long(tell))))


ROUTES: Final[tuple[Route[Any, Any], ...]] = (
    posting(
        *("operate", f"{OF_ONE}/forget", "log_forget", "Erase for good.", forget, Number),
        statuses=(409,),
    ),
    posting("operate", f"{LOG}/sweeps", "log_sweep", "Sweep documents.", sweep, Number, query=Age),
    posting("operate", f"{LOG}/rewrites", "log_rewrite", "Write anew.", rewrite, Sentences),
    reading(f"{LOG}/erasures", "log_erasures", "How often was erased?", erasures, Number),
    *(
        replace(route, role="operate")
        for route in (
            reading(
                f"{LOG}/erased",
                "log_erased",
                "What was erased?",
                erased,
                ConversationIds,
                query=After,
            ),
            reading(f"{LOG}/residue", "log_residue", "What may be left?", residue, Sentences),
        )
    ),
)
