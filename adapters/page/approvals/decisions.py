"""What a person decides about a call that waits: recorded once, and told to whoever comes second."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, TypeAlias
from uuid import UUID

from starlette.responses import RedirectResponse, Response

from onrecord.adapters.asynchronous.conversation import AsyncConversation
from onrecord.adapters.asynchronous.store import store_of
from onrecord.adapters.page.answers import shown
from onrecord.adapters.page.approvals.pending import all_approvals, approval_values
from onrecord.adapters.page.forms import form_of
from onrecord.adapters.page.routes import paged, posted
from onrecord.adapters.page.visitors.visitors import own_place
from onrecord.adapters.service.model import Empty
from onrecord.adapters.service.route import Call, Route
from onrecord.adapters.service.routes.conversations import begun
from onrecord.adapters.store import Store, backend_of
from onrecord.domain.actors import name_of
from onrecord.domain.errors import AlreadyDecided, ApprovalNotAsked
from onrecord.domain.tools import ApprovalDecided
from onrecord.projections.history.causes import actors_of

APPROVALS: Final = "/approvals"
"""The path of the page that lists all calls that wait."""

_Decides: TypeAlias = Callable[[AsyncConversation, str, Mapping[str, str]], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided about a call: by whom, as far as that is known, when, and why."""

    is_granted: bool
    actor: str | None
    recorded_at: int
    reason: str | None


async def approvals(call: Call[Empty, Empty]) -> Response:
    """Return the page of all calls that wait for a person."""
    waiting = await call.steps.run(partial(all_approvals, store_of(call.store)))
    return await shown(call, "approvals.html", **approval_values(call.access, waiting, APPROVALS))


async def approve(call: Call[Empty, Empty]) -> Response:
    """Let a call be made, and return to where the button was pressed."""
    return await _decided(call, _approve)


async def deny(call: Call[Empty, Empty]) -> Response:
    """Let a call not be made, and return to where the button was pressed."""
    return await _decided(call, _deny)


async def _approve(
    conversation: AsyncConversation, call_id: str, fields: Mapping[str, str]
) -> None:
    await conversation.approve(call_id, reason=fields.get("reason"))


async def _deny(conversation: AsyncConversation, call_id: str, fields: Mapping[str, str]) -> object:
    return await conversation.deny(call_id, reason=fields.get("reason", ""))


async def _decided(call: Call[Empty, Empty], decides: _Decides) -> Response:
    fields, call_id = await form_of(call), call.path["call_id"]
    place = own_place(fields.get("next", APPROVALS))
    conversation, _ = await begun(_by(call, fields.get("actor")))
    try:
        await decides(conversation, call_id, fields)
    except (AlreadyDecided, ApprovalNotAsked):
        conversation_id = await conversation.conversation_id
        look = partial(last_decision, store_of(call.store), conversation_id, call_id)
        decision = await call.steps.run(look)
        if decision is None:
            raise
        response = await shown(call, "decided.html", decision=decision, place=place)
        response.status_code = 409
        return response
    return RedirectResponse(place, 303, {"cache-control": "no-store"})


def _by(call: Call[Empty, Empty], actor: str | None) -> Call[Empty, Empty]:
    """Return the call with who decides: the name of the key or the person, else who says so."""
    if call.access.caller_id is not None or actor is None:
        return call
    return replace(call, names={**call.names, "actor": actor})


def last_decision(store: Store, conversation_id: UUID, call_id: str) -> Decision | None:
    """Return what was decided last about the calls of an id; None where nothing was."""
    backend, found = backend_of(store), None
    name = partial(name_of, backend.actors(), store.tenant)
    for recorded in backend.read(conversation_id):
        happened = recorded.event() if recorded.type == "approval.decided" else None
        if isinstance(happened, ApprovalDecided) and happened.call_id == call_id:
            actor, _ = actors_of(recorded, name)
            found = Decision(
                is_granted=happened.decision == "granted",
                actor=None if actor is None else str(actor),
                recorded_at=recorded.recorded_at,
                reason=happened.reason,
            )
    return found


_CALL: Final = "/c/{key}/calls/{call_id}"

ROUTES: Final[tuple[Route[Any, Any], ...]] = (
    paged(APPROVALS, "pageApprovals", "List the calls that wait for a person.", approvals),
    posted("write", f"{_CALL}/approve", "pageApprove", "Let a call be made.", approve),
    posted("write", f"{_CALL}/deny", "pageDeny", "Let a call not be made.", deny),
)
