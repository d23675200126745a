"""What a person decides about a call that waits: recorded once, and told to whoever comes second."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Final, TypeAlias
from uuid import UUID

from pydantic import Field, field_validator
from starlette.responses import RedirectResponse, Response

from onrecord.adapters.asynchronous.conversation import conversation_of
from onrecord.adapters.asynchronous.store import store_of
from onrecord.adapters.conversation.approvals import ApprovalQuestion, grant
from onrecord.adapters.conversation.approvals import deny as deny_call
from onrecord.adapters.conversation.conversation import stream_of
from onrecord.adapters.page.answers import rendered_list
from onrecord.adapters.page.approvals.decided import (
    DecidedCall,
    DecidedQuery,
    decided_call,
    decided_just_now,
    decided_path,
)
from onrecord.adapters.page.approvals.pending import (
    MOST,
    Cursor,
    WaitingApprovals,
    approval_values,
    waiting_approvals,
)
from onrecord.adapters.page.forms import form_of, is_count
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
from onrecord.domain.errors import AlreadyDecided, ApprovalNotAsked

APPROVALS: Final = "/approvals"
"""The path of the page that lists all calls that wait."""

_ANOTHER: Final = "this is another call now: go back and look at what waits"

_Decides: TypeAlias = Callable[[Stream, str, Mapping[str, str], ApprovalQuestion], object]


class ApprovalsQuery(DecidedQuery):
    """Which page of calls that wait, and what was decided just now."""

    after: Annotated[str, Field(max_length=80)] | None = None
    """The cursor after which it goes on, as the page before has it."""

    key: Key | None = None
    """The conversation of the call that was decided."""

    @field_validator("after")
    @classmethod
    def _is_place(cls, after: str | None) -> str | None:
        if after is not None:
            Cursor.parse(after)
        return after


async def approvals(call: Call[ApprovalsQuery, Empty]) -> Response:
    """Return the page of calls that wait for a person."""
    query, store = call.query, store_of(call.store)
    after = None if query.after is None else Cursor.parse(query.after)
    waiting = await call.steps.run_long(partial(waiting_approvals, store, after))
    decided = await call.steps.run_long(partial(_decided_just_now, store, query))
    path = APPROVALS if after is None else f"{APPROVALS}?after={after}"
    return await rendered_list(
        call,
        "approvals.html",
        _shows(waiting, decided),
        further=waiting.further,
        is_further=after is not None,
        most=MOST,
        decided=None if decided is None else decided[1],
        **approval_values(call.access, waiting.approvals, path),
    )


def _decided_just_now(store: Store, query: ApprovalsQuery) -> tuple[UUID, DecidedCall] | None:
    """Return what was decided, and in which conversation."""
    conversation = None if query.key is None else find_conversation(store, query.key)
    if conversation is None or (decided := decided_just_now(store, conversation, query)) is None:
        return None
    return conversation.conversation_id, decided


def _shows(waiting: WaitingApprovals, decided: tuple[UUID, DecidedCall] | None) -> Shows:
    if decided is None:
        return Shows(len(waiting.approvals), waiting.conversations)
    conversations = dict.fromkeys((*waiting.conversations, decided[0]))
    return Shows(len(waiting.approvals) + 1, tuple(conversations))


async def approve(call: Call[Empty, Empty]) -> Response:
    """Let a call be made, and return to where the button was pressed."""
    return await _decided(call, _approve)


async def deny(call: Call[Empty, Empty]) -> Response:
    """Let a call not be made, and return to where the button was pressed."""
    return await _decided(call, _deny)


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


async def _decided(call: Call[Empty, Empty], decides: _Decides) -> Response:
    fields, call_id = await form_of(call), call.path["call_id"]
    question = question_in(fields)
    next_path = own_path(fields.get("next", APPROVALS))
    conversation, _ = await begun(_by(call, fields.get("actor")))
    try:
        stream = stream_of(conversation_of(conversation))
        step = within_scopes(decides, stream, call_id, fields, question)
        await call.steps.run_in_thread(step)
    except (AlreadyDecided, ApprovalNotAsked) as error:
        look = partial(_decided_before, store_of(call.store), call.path["key"], call_id, question)
        decided = await call.steps.run_long(look)
        if decided is None:
            raise Problem(problem_of(error).type, _ANOTHER) from None
        response = await rendered_list(
            call, "decided.html", Shows(1), decided=decided, next_path=next_path
        )
        response.status_code = 409
        return response
    is_listed = next_path.partition("?")[0] == APPROVALS
    if is_listed or next_path.endswith("#approvals"):
        names = {"key": conversation.key} if is_listed else {}
        next_path = decided_path(next_path, call_id, question, names)
    return RedirectResponse(next_path, 303, {"cache-control": "no-store"})


def _decided_before(
    store: Store, name: str, call_id: str, question: ApprovalQuestion
) -> DecidedCall | None:
    conversation = find_conversation(store, name)
    return None if conversation is None else decided_call(store, conversation, call_id, question)


def _by(call: Call[Empty, Empty], actor: str | None) -> Call[Empty, Empty]:
    """Return the call with who decides: the name of the key or the person, else who says so."""
    if call.access.caller_id is not None or actor is None:
        return call
    return replace(call, names={**call.names, "actor": actor})


_CALL: Final = "/c/{key}/calls/{call_id}"

ROUTES: Final[tuple[Route[Any, Any], ...]] = (
    get_route(APPROVALS, "pageApprovals", "List calls that wait.", approvals, ApprovalsQuery),
    form_route("write", f"{_CALL}/approve", "pageApprove", "Let a call be made.", approve),
    form_route("write", f"{_CALL}/deny", "pageDeny", "Let a call not be made.", deny),
)
