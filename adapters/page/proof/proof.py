"""The page of a conversation's proof: what is sealed of it, and whether it is as it was sealed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from typing import Annotated, Any

from pydantic import Field, field_validator
from starlette.responses import Response

from onrecord.adapters.asynchronous.store import store_of
from onrecord.adapters.page.answers import rendered
from onrecord.adapters.page.conversation.conversation import named_by
from onrecord.adapters.page.forms import form_of, is_count, none_if_blank
from onrecord.adapters.page.proof.comparison import compared
from onrecord.adapters.page.proof.seals import (
    ConversationSeals,
    Wanted,
    seals_of_conversation,
    shard_of,
    shard_seals,
)
from onrecord.adapters.page.proof.verification import (
    ShownVerification,
    Verifications,
    shown_verification,
)
from onrecord.adapters.page.routes import form_route, get_route
from onrecord.adapters.presentation.conversations import NamedConversation
from onrecord.adapters.service.model import Empty, Model
from onrecord.adapters.service.problems import Problem
from onrecord.adapters.service.route import Call, Route
from onrecord.adapters.settings import settings
from onrecord.adapters.storage.http.problem_types import INVALID
from onrecord.adapters.store import Store, backend_of
from onrecord.adapters.streams.history_changes import changes_at
from onrecord.domain.errors import CorruptRecord


class ProofQuery(Model):
    """Which checkpoints are listed: the last ones, or others."""

    before: Annotated[int, Field(ge=1, le=2**63 - 1)] | None = None
    """Those of fewer events than this."""

    day: date | None = None
    """Those up to the end of this day (UTC)."""

    _blanks = field_validator("*", mode="before")(none_if_blank)


@dataclass(frozen=True, slots=True)
class ChosenSeal:
    """A checkpoint that somebody chose: the number of its place among those of the settings, and its size."""

    place_number: int
    size: int


@dataclass(frozen=True, slots=True)
class ShownProof:
    """The proof of a conversation: its seals, and which of its events are redacted."""

    conversation: NamedConversation
    seals: ConversationSeals
    redacted: tuple[int, ...]


async def proof(call: Call[ProofQuery, Empty]) -> Response:
    """Return the page of a conversation's proof."""
    store, query = store_of(call.store), call.query
    wanted = Wanted(query.before, query.day)
    page = await call.steps.run_long(partial(_proof, store, call.path["key"], wanted))
    return await rendered(call, "proof.html", **_values(page, query, None))


async def verification(call: Call[Empty, Empty], verifications: Verifications) -> Response:
    """Return the page of a conversation's proof with what a verification came to."""
    fields = await form_of(call)
    seal = seal_in(fields)
    store, name = store_of(call.store), call.path["key"]
    done = await verifications.run(call, partial(_verification, store, name, seal))
    page = await call.steps.run_long(partial(_proof, store, name, Wanted()))
    response = await rendered(
        call, "proof.html", **_values(page, ProofQuery(), done, fields.get("seal"))
    )
    response.headers["cache-control"] = "no-store"
    return response


def routes_of(verifications: Verifications) -> tuple[Route[Any, Any], ...]:
    """Return the routes of the proof of a conversation."""
    path, verify = "/c/{key}/proof", partial(verification, verifications=verifications)
    return (
        get_route(path, "pageProof", "Show what is sealed of a conversation.", proof, ProofQuery),
        replace(form_route("read", path, "pageVerification", "Verify it.", verify), is_long=True),
    )


def seal_in(fields: Mapping[str, str]) -> ChosenSeal | None:
    """Return the checkpoint that a form chooses, as `PLACE:SIZE`; Problem where that is none."""
    text = fields.get("seal", "")
    if not text:
        return None
    number, _, size = text.partition(":")
    if not (is_count(number) and is_count(size)):
        raise Problem(INVALID, "choose one of the seals that are listed")
    return ChosenSeal(int(number), int(size))


def _values(
    page: ShownProof,
    query: ProofQuery,
    verification: ShownVerification | None,
    chosen: str | None = None,
) -> Mapping[str, Any]:
    return {
        "name": str(page.conversation),
        "key": page.conversation.key,
        "page": page,
        "filters": query,
        "verification": verification,
        "chosen": chosen,
    }


def _proof(store: Store, name: str, wanted: Wanted) -> ShownProof:
    conversation = named_by(store, name)
    seals = seals_of_conversation(store, conversation, settings().seals, wanted)
    return ShownProof(conversation, seals, _redacted(store, conversation))


def _redacted(store: Store, conversation: NamedConversation) -> tuple[int, ...]:
    """Return the versions of the events that are redacted; none where the record cannot be read."""
    version = conversation.head.version
    try:
        redacted = changes_at(backend_of(store), conversation.conversation_id, version).redacted
    except CorruptRecord:
        return ()  # To verify it tells what is wrong.
    return tuple(at for at in range(1, version + 1) if at in redacted)


def _verification(store: Store, name: str, seal: ChosenSeal | None) -> ShownVerification:
    conversation, backend = named_by(store, name), backend_of(store)
    verified = store.verify(conversation.conversation_id)
    comparison = None
    if seal is not None:
        _, kept = shard_seals(store, settings().seals, shard_of(store, conversation))
        if seal.place_number >= len(kept):
            raise Problem(INVALID, "choose one of the seals that are listed")
        comparison = compared(
            backend, conversation.conversation_id, kept[seal.place_number], seal.size
        )
    return shown_verification(verified, backend.clock(), comparison)
