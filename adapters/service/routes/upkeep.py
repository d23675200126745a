"""Routes of operators: does the record hold, what is to be erased, and what the service does."""

from __future__ import annotations

from typing import Annotated, Any, Final
from uuid import UUID

from pydantic import Field
from starlette.responses import Response

from onrecord.adapters.asynchronous.store import store_of
from onrecord.adapters.service.access import Access
from onrecord.adapters.service.metrics import MEDIA_TYPE, exposition
from onrecord.adapters.service.model import Empty, Model
from onrecord.adapters.service.parameters import Key
from onrecord.adapters.service.problems import FORBIDDEN, INVALID, Problem
from onrecord.adapters.service.route import Call, Route, answered, posting, reading
from onrecord.adapters.service.routes.conversation_paths import CONVERSATION
from onrecord.adapters.service.routes.conversations import begun
from onrecord.adapters.upkeep.erasing import ForgetResult
from onrecord.adapters.upkeep.verified import Verified
from onrecord.adapters.views.metrics import ViewMetrics
from onrecord.domain.header import timestamp
from onrecord.projections.history.erasure_records import ErasureEntry
from onrecord.projections.verification.verification import Fault


class FaultDocument(Model):
    """Something that does not hold."""

    conversation_id: str | None
    """The id of the conversation that it is of; null where it is of none."""

    version: int
    """The version of the event that it is of; 0 where it is of none."""

    why: str
    """What does not hold, in words."""


class Verification(Model):
    """What was checked, and what does not hold."""

    is_whole: bool
    """Whether all that was checked is as it was committed to, and each seal that is known of was checked."""

    events: int
    """How many events were checked."""

    erased: int
    """How many of them were erased: what was said is gone, and their leaves are there."""

    conversations: int
    """How many conversations were checked."""

    faults: list[FaultDocument]
    """What does not hold."""

    roots: list[str]
    """The roots of the shards as they are now, to be written down: SHARD:SIZE:HEX."""

    checked: list[str]
    """What was looked at, a sentence each."""

    unchecked: list[str]
    """What could not be looked at, a sentence each."""


class NewErasure(Model):
    """A conversation that is to be erased, for good."""

    conversation: Key | None = None
    """The key of the conversation."""

    conversation_id: UUID | None = None
    """The id of the conversation, in place of its key."""

    reason: Annotated[str, Field(min_length=1, max_length=2000)]
    """Why; it can never be erased, so it names nobody who has a right to be forgotten."""


class NewActorErasure(Model):
    """The name of an actor that is to be erased, for good."""

    name: Annotated[str, Field(min_length=1, max_length=1000)]
    """The name, its keyed digest, or the id that a list of erasures has of it."""

    reason: Annotated[str, Field(min_length=1, max_length=2000)]
    """Why; it can never be erased, so it names nobody who has a right to be forgotten."""


class Erased(Model):
    """What was erased."""

    events: int
    """How many events were erased."""

    has_residue: bool
    """Whether pieces may stay in files of the store until `onrecord sweep` writes them anew."""


class ErasureDocument(Model):
    """An erasure."""

    conversation_id: str
    """The id of what was erased."""

    actor: str
    """Who erased it."""

    reason: str
    """Why it was erased."""

    at: str
    """When it was intended (RFC 3339)."""

    events: int | None
    """How many events were erased; null while it is not finished."""

    forks: list[str] | None
    """The forks that stay; null while it is not finished, and where nobody can tell."""

    is_finished: bool
    """Whether it is finished."""

    refused_by: str | None
    """The id of the legal hold that refused it; null where none did."""


class Erasures(Model):
    """The erasures of a tenant."""

    erasures: list[ErasureDocument]
    """The last one first."""


async def verify_conversation(call: Call[Empty, Empty]) -> Response:
    """Check that a conversation is as it was committed to."""
    conversation, _ = await begun(call)
    verified = await call.store.verify(await conversation.conversation_id)
    return answered(_verification(verified))


async def verify_log(call: Call[Empty, Empty]) -> Response:
    """Check the whole log, which is that of all tenants."""
    must_serve_all_tenants(call.access)
    return answered(_verification(await call.store.verify()))


def must_serve_all_tenants(access: Access) -> None:
    """Raise Problem for whoever may not see what is of all tenants."""
    if not access.serves_all_tenants:
        raise Problem(FORBIDDEN, "the log is that of all tenants: this needs a key for all of them")


async def erase(call: Call[Empty, NewErasure]) -> Response:
    """Erase what was said in a conversation, for good."""
    wanted = call.body
    which = wanted.conversation if wanted.conversation_id is None else wanted.conversation_id
    if which is None or None not in (wanted.conversation, wanted.conversation_id):
        raise Problem(INVALID, "name the conversation by its key or by its id")
    done = await call.store.forget(which, reason=wanted.reason, actor=_eraser(call))
    return _erased(call, done)


async def forget_actor(call: Call[Empty, NewActorErasure]) -> Response:
    """Erase the name of an actor, for good; events keep its digest."""
    wanted = call.body
    done = await call.store.forget_actor(wanted.name, reason=wanted.reason, actor=_eraser(call))
    return _erased(call, done)


def _eraser(call: Call[Empty, Any]) -> str:
    """Return who erases; Problem where nobody says so."""
    actor = call.names.get("actor")
    if actor is None:
        raise Problem(INVALID, "say who erases: send the header onrecord-actor")
    return actor


def _erased(call: Call[Empty, Any], done: ForgetResult) -> Response:
    # What tails were about to be sent of it is gone, too.
    call.tails.hub.forget()
    return answered(Erased(events=done.events, has_residue=bool(done.residue)), 201)


async def erasures(call: Call[Empty, Empty]) -> Response:
    """Return the erasures of a tenant."""
    found = await call.store.erasures()
    return answered(Erasures(erasures=[_erasure(entry) for entry in found]))


async def metrics(call: Call[Empty, Empty]) -> Response:
    """Return what the service does and how the views stand, for Prometheus."""

    def told() -> bytes:
        keeper = store_of(call.store).views.keeper
        return exposition((call.metrics, ViewMetrics(keeper)))

    return Response(await call.steps.run_long(told), media_type=MEDIA_TYPE)


def _verification(verified: Verified) -> Verification:
    return Verification(
        is_whole=verified.is_whole,
        events=verified.events,
        erased=verified.erased,
        conversations=verified.conversations,
        faults=[_fault(fault) for fault in verified.faults],
        roots=[str(root) for root in verified.roots],
        checked=list(verified.checked),
        unchecked=list(verified.unchecked),
    )


def _fault(fault: Fault) -> FaultDocument:
    of = fault.conversation_id
    return FaultDocument(
        conversation_id=None if of is None else str(of), version=fault.version, why=fault.why
    )


def _erasure(entry: ErasureEntry) -> ErasureDocument:
    intention, outcome = entry.intention, entry.outcome
    forks = None if outcome is None else outcome.forks
    return ErasureDocument(
        conversation_id=str(entry.conversation_id),
        actor=intention.actor,
        reason=intention.reason,
        at=timestamp(intention.at),
        events=None if outcome is None else outcome.events,
        forks=None if forks is None else [str(fork) for fork in forks],
        is_finished=entry.is_over,
        refused_by=None if entry.refusal is None else str(entry.refusal.hold),
    )


ROUTES: Final[tuple[Route[Any, Any], ...]] = (
    reading(
        f"{CONVERSATION}/verification",
        "verifyConversation",
        "Is a conversation as it was committed to?",
        verify_conversation,
        Verification,
    ),
    reading(
        *("/v1/verification", "verifyLog", "Is the log of all tenants whole?"),
        *(verify_log, Verification),
        role="operate",
        is_long=True,
    ),
    posting(
        *("operate", "/v1/erasures", "erase"),
        *("Erase what was said in a conversation, for good.", erase, Erased),
        body=NewErasure,
        status=201,
        statuses=(409, 410, 507),
    ),
    posting(
        *("operate", "/v1/actor-erasures", "forgetActor"),
        *("Erase the name of an actor, for good.", forget_actor, Erased),
        body=NewActorErasure,
        status=201,
        statuses=(409, 507),
    ),
    reading(
        *("/v1/erasures", "erasures", "What was erased, by whom, and why?"),
        *(erasures, Erasures),
        role="operate",
    ),
    Route(
        *("GET", "/metrics", "metrics", "What does the service do, for Prometheus?"),
        role="operate",
        query=Empty,
        body=Empty,
        answers=metrics,
        media_type="text/plain",
    ),
)
