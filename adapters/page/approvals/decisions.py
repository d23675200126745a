"""What a person decides about a call that waits: recorded once, and told to whoever comes second."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, TypeAlias
from uuid import UUID

from starlette.responses import RedirectResponse, Response

from onrecord.adapters.asynchronous.conversation import conversation_of
from onrecord.adapters.asynchronous.store import store_of
from onrecord.adapters.conversation.approvals import ApprovalQuestion, grant
from onrecord.adapters.conversation.approvals import deny as deny_call
from onrecord.adapters.conversation.conversation import stream_of
from onrecord.adapters.page.answers import rendered_list
from onrecord.adapters.page.approvals.pending import (
    MOST,
    DecidedQuery,
    approval_values,
    waiting_approvals,
)
from onrecord.adapters.page.forms import form_of, is_count
from onrecord.adapters.page.routes import paged, posted
from onrecord.adapters.page.visitors.visitors import own_path
from onrecord.adapters.service.access import Shows
from onrecord.adapters.service.model import Empty
from onrecord.adapters.service.problems import Problem, problem_of
from onrecord.adapters.service.route import Call, Route
from onrecord.adapters.service.routes.conversations import begun
from onrecord.adapters.storage.http.problem_types import INVALID
from onrecord.adapters.store import Store, backend_of
from onrecord.adapters.streams.scopes import within_scopes
from onrecord.adapters.streams.stream import Stream
from onrecord.domain.actors import name_of
from onrecord.domain.errors import AlreadyDecided, ApprovalNotAsked
from onrecord.domain.tools import ApprovalDecided
from onrecord.projections.history.causes import actors_of

APPROVALS: Final = "/approvals"
"""The path of the page that lists all calls that wait."""

_ANOTHER: Final = "this is another call now: go back and look at what waits"

_Decides: TypeAlias = Callable[[Stream, str, Mapping[str, str], ApprovalQuestion], object]


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided about a call: by whom, as far as that is known, when, and why."""

    is_granted: bool
    actor: str | None
    recorded_at: int
    reason: str | None


async def approvals(call: Call[DecidedQuery, Empty]) -> Response:
    """Return the page of all calls that wait for a person."""
    waiting = await call.steps.run_long(partial(waiting_approvals, store_of(call.store)))
    return await rendered_list(
        call,
        "approvals.html",
        Shows(len(waiting.approvals), waiting.conversations),
        has_more=waiting.has_more,
        most=MOST,
        decided=call.query.decided,
        **approval_values(call.access, waiting.approvals, APPROVALS),
    )


async def approve(call: Call[Empty, Empty]) -> Response:
    """Let a call be made, and return to where the button was pressed."""
    return await _decided(call, _approve, "approved")


async def deny(call: Call[Empty, Empty]) -> Response:
    """Let a call not be made, and return to where the button was pressed."""
    return await _decided(call, _deny, "denied")


def question_in(fields: Mapping[str, str]) -> ApprovalQuestion:
    """Return which question a form answers, as `CALL:NUMBER`; Problem where it names none."""
    call, _, number = fields.get("question", "").partition(":")
    if not (is_count(call) and is_count(number)):
        raise Problem(
            INVALID, "decide on the page that shows the call: the form names the question"
        )
    return ApprovalQuestion(int(call), int(number))


def _approve(
    stream: Stream, call_id: str, fields: Mapping[str, str], question: ApprovalQuestion
) -> None:
    grant(stream, call_id, fields.get("reason"), None, question)


def _deny(
    stream: Stream, call_id: str, fields: Mapping[str, str], question: ApprovalQuestion
) -> object:
    return deny_call(stream, call_id, fields.get("reason", ""), None, question)


async def _decided(call: Call[Empty, Empty], decides: _Decides, word: str) -> Response:
    fields, call_id = await form_of(call), call.path["call_id"]
    question = question_in(fields)
    next_path = own_path(fields.get("next", APPROVALS))
    conversation, _ = await begun(_by(call, fields.get("actor")))
    try:
        stream = stream_of(conversation_of(conversation))
        step = within_scopes(decides, stream, call_id, fields, question)
        await call.steps.run_in_thread(step)
    except (AlreadyDecided, ApprovalNotAsked) as error:
        conversation_id = await conversation.conversation_id
        look = partial(decision_on, store_of(call.store), conversation_id, call_id, question)
        decision = await call.steps.run_long(look)
        if decision is None:
            raise Problem(problem_of(error).type, _ANOTHER) from None
        response = await rendered_list(
            call, "decided.html", Shows(1), decision=decision, next_path=next_path
        )
        response.status_code = 409
        return response
    return RedirectResponse(_with_word(next_path, word), 303, {"cache-control": "no-store"})


def _with_word(next_path: str, word: str) -> str:
    """Return a path of the page that confirms what was decided, where it is one of those that can."""
    path, mark, part = next_path.partition("#")
    can_confirm = path == APPROVALS or part == "approvals"
    return f"{path}?decided={word}{mark}{part}" if can_confirm and "?" not in path else next_path


def _by(call: Call[Empty, Empty], actor: str | None) -> Call[Empty, Empty]:
    """Return the call with who decides: the name of the key or the person, else who says so."""
    if call.access.caller_id is not None or actor is None:
        return call
    return replace(call, names={**call.names, "actor": actor})


def decision_on(
    store: Store, conversation_id: UUID, call_id: str, question: ApprovalQuestion
) -> Decision | None:
    """Return what was decided on a question about a call; None where nothing was."""
    backend = backend_of(store)
    name = partial(name_of, backend.actors(), store.tenant)
    for recorded in backend.read(conversation_id, after=question.call):
        happened = recorded.event() if recorded.type == "approval.decided" else None
        if not isinstance(happened, ApprovalDecided):
            continue
        if (happened.call_id, happened.call, happened.number) == (call_id, *question):
            actor, _ = actors_of(recorded, name)
            return Decision(
                is_granted=happened.decision == "granted",
                actor=None if actor is None else str(actor),
                recorded_at=recorded.recorded_at,
                reason=happened.reason,
            )
    return None


_CALL: Final = "/c/{key}/calls/{call_id}"

ROUTES: Final[tuple[Route[Any, Any], ...]] = (
    paged(APPROVALS, "pageApprovals", "List calls that wait.", approvals, DecidedQuery),
    posted("write", f"{_CALL}/approve", "pageApprove", "Let a call be made.", approve),
    posted("write", f"{_CALL}/deny", "pageDeny", "Let a call not be made.", deny),
)
