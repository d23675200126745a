"""The page of pending calls, and its buttons: a decision is recorded once, and whoever comes second is told of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Final, TypeAlias
from uuid import UUID

from pydantic import PlainValidator
from starlette.responses import RedirectResponse, Response

from onrecord.adapters.asynchronous.conversation import conversation_of
from onrecord.adapters.asynchronous.store import store_of
from onrecord.adapters.conversation import approvals
from onrecord.adapters.conversation.approvals import ApprovalQuestion
from onrecord.adapters.conversation.conversation import stream_of
from onrecord.adapters.page.answers import rendered_list
from onrecord.adapters.page.approvals.confirmation import (
    ConfirmationQuery,
    ShownDecision,
    confirmation_path,
    decision_to_confirm,
    shown_decision,
)
from onrecord.adapters.page.approvals.pending import (
    FRAGMENT,
    MOST,
    ApprovalsPage,
    Cursor,
    approval_values,
    approvals_page,
)
from onrecord.adapters.page.forms import form_of
from onrecord.adapters.page.routes import form_route, get_route
from onrecord.adapters.page.visitors.visitors import own_path
from onrecord.adapters.presentation.conversations import find_conversation
from onrecord.adapters.service.access import Shows
from onrecord.adapters.service.model import Empty
from onrecord.adapters.service.parameters import Key
from onrecord.adapters.service.problems import Problem, problem_of
from onrecord.adapters.service.route import Call, Route
from onrecord.adapters.service.routes.conversations import begun
from onrecord.adapters.storage.http.problem_types import INVALID
from onrecord.adapters.store import Store
from onrecord.adapters.streams.scopes import within_scopes
from onrecord.adapters.streams.stream import Stream
from onrecord.domain.errors import AlreadyDecided, ApprovalNotAsked, InvalidInput

APPROVALS: Final = "/approvals"
"""The path of the page that lists all pending calls."""

_ANOTHER: Final = "this is another call now: go back and look at what waits"

_Verb: TypeAlias = Callable[[Stream, str, Mapping[str, str], ApprovalQuestion], object]
"""Records a decision on a question about the call of an id, with the fields of the form."""


class ApprovalsQuery(ConfirmationQuery):
    """Which page of pending calls, and the decision that it confirms."""

    after: Annotated[Cursor, PlainValidator(Cursor.parse)] | None = None
    """The cursor after which it goes on, as the page before has it."""

    key: Key | None = None
    """The conversation of the call that was decided."""


async def list_approvals(call: Call[ApprovalsQuery, Empty]) -> Response:
    """Return the page of calls that wait for a person."""
    query, store = call.query, store_of(call.store)
    page = await call.steps.run_long(partial(approvals_page, store, query.after))
    decision = await call.steps.run_long(partial(_decision_to_confirm, store, query))
    path = APPROVALS if query.after is None else f"{APPROVALS}?after={query.after}"
    return await rendered_list(
        call,
        "approvals.html",
        _shows(page, decision),
        further=page.further,
        is_further=query.after is not None,
        most=MOST,
        decision=None if decision is None else decision[1],
        **approval_values(call.access, page.approvals, path),
    )


def _decision_to_confirm(store: Store, query: ApprovalsQuery) -> tuple[UUID, ShownDecision] | None:
    """Return the decision that a query names, and in which conversation it was made."""
    conversation = None if query.key is None else find_conversation(store, query.key)
    if conversation is None:
        return None
    decision = decision_to_confirm(store, conversation, query)
    return None if decision is None else (conversation.conversation_id, decision)


def _shows(page: ApprovalsPage, decision: tuple[UUID, ShownDecision] | None) -> Shows:
    if decision is None:
        return Shows(len(page.approvals), page.conversations)
    conversations = dict.fromkeys((*page.conversations, decision[0]))
    return Shows(len(page.approvals) + 1, tuple(conversations))


async def approve(call: Call[Empty, Empty]) -> Response:
    """Let a call be made, and return to where the button was pressed."""
    return await _decide(call, _approve)


async def deny(call: Call[Empty, Empty]) -> Response:
    """Let a call not be made, and return to where the button was pressed."""
    return await _decide(call, _deny)


async def _decide(call: Call[Empty, Empty], verb: _Verb) -> Response:
    fields, call_id = await form_of(call), call.path["call_id"]
    question = question_in(fields)
    next_path = own_path(fields.get("next", APPROVALS))
    try:
        await _record(call, verb, fields, question)
    except (AlreadyDecided, ApprovalNotAsked) as error:
        look = partial(_earlier_decision, store_of(call.store), call.path["key"], call_id, question)
        decision = await call.steps.run_long(look)
        if decision is None:
            raise Problem(problem_of(error).type, _ANOTHER) from None
        return await _conflict_page(call, decision, next_path)
    next_path = _path_after(next_path, call.path["key"], call_id, question)
    return RedirectResponse(next_path, 303, {"cache-control": "no-store"})


def question_in(fields: Mapping[str, str]) -> ApprovalQuestion:
    """Return the question that a form answers; Problem where it names none."""
    try:
        return ApprovalQuestion.parse(fields.get("question", ""))
    except InvalidInput:
        raise Problem(
            INVALID, "decide on the page that shows the call: the form names the question"
        ) from None


async def _record(
    call: Call[Empty, Empty], verb: _Verb, fields: Mapping[str, str], question: ApprovalQuestion
) -> None:
    """Record a decision of whoever asks; AlreadyDecided or ApprovalNotAsked where there is none to make."""
    conversation, _ = await begun(_by(call, fields.get("actor")))
    stream = stream_of(conversation_of(conversation))
    step = within_scopes(verb, stream, call.path["call_id"], fields, question)
    await call.steps.run_in_thread(step)


def _approve(
    stream: Stream, call_id: str, fields: Mapping[str, str], question: ApprovalQuestion
) -> None:
    approvals.approve(stream, call_id, fields.get("reason"), None, question)


def _deny(
    stream: Stream, call_id: str, fields: Mapping[str, str], question: ApprovalQuestion
) -> object:
    return approvals.deny(stream, call_id, fields.get("reason", ""), None, question)


def _path_after(next_path: str, key: str, call_id: str, question: ApprovalQuestion) -> str:
    """Return the path to go on to; where the page there shows pending calls, it confirms the decision."""
    if next_path.partition("?")[0] == APPROVALS:
        return confirmation_path(next_path, call_id, question, {"key": key})
    if next_path.endswith(FRAGMENT):
        return confirmation_path(next_path, call_id, question, {})
    return next_path


def _earlier_decision(
    store: Store, name: str, call_id: str, question: ApprovalQuestion
) -> ShownDecision | None:
    conversation = find_conversation(store, name)
    return None if conversation is None else shown_decision(store, conversation, call_id, question)


async def _conflict_page(
    call: Call[Empty, Empty], decision: ShownDecision, next_path: str
) -> Response:
    """Return the page that tells whoever comes second of the first decision."""
    response = await rendered_list(
        call, "decided_before.html", Shows(1), decision=decision, next_path=next_path
    )
    response.status_code = 409
    return response


def _by(call: Call[Empty, Empty], actor: str | None) -> Call[Empty, Empty]:
    """Return the call with who decides: the name of the key or the person, else who says so."""
    if call.access.caller_id is not None or actor is None:
        return call
    return replace(call, names={**call.names, "actor": actor})


_CALL: Final = "/c/{key}/calls/{call_id}"

ROUTES: Final[tuple[Route[Any, Any], ...]] = (
    get_route(APPROVALS, "pageApprovals", "List calls that wait.", list_approvals, ApprovalsQuery),
    form_route("write", f"{_CALL}/approve", "pageApprove", "Let a call be made.", approve),
    form_route("write", f"{_CALL}/deny", "pageDeny", "Let a call not be made.", deny),
)
