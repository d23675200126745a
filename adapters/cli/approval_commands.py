"""`onrecord approvals`, `approve` and `deny`: calls of tools that wait for a person."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from onrecord.adapters.cli.program.options import AsJson, Key, Url
from onrecord.adapters.cli.program.stores import acting_name, open_store
from onrecord.adapters.presentation.control_characters import flat
from onrecord.adapters.presentation.conversations import require_conversation
from onrecord.adapters.presentation.pending_calls import DOUBT, pending_calls
from onrecord.adapters.presentation.sizes_and_times import moment
from onrecord.adapters.store import Store
from onrecord.adapters.terminal import output
from onrecord.domain import jsontext
from onrecord.domain.header import timestamp

if TYPE_CHECKING:
    from onrecord.adapters.conversation.approvals import ApprovalQuestion, PendingApproval
    from onrecord.adapters.conversation.conversation import Conversation

Call = Annotated[str, typer.Argument(help="The id of the call, as `onrecord approvals` shows it.")]
Actor = Annotated[
    str | None,
    typer.Option(help="Who decides.", show_default="$ONRECORD_ACTOR, else who is logged in"),
]
Question = Annotated[
    str | None,
    typer.Option(
        metavar="VERSION:NUMBER",
        help="Decide this question only, as `onrecord approvals` shows it: a later call may have the same id.",
    ),
]


def approvals(
    context: typer.Context,
    key: Annotated[
        str | None, typer.Argument(help="Of this conversation only: its key or its id.")
    ] = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """List the calls of tools that wait until a person grants or denies them.

    Piped: key, id of the call, tool, arguments, since when, `unsure` where it may have been made, question.

    Example: `onrecord approvals`
    """
    with open_store(context, url) as store:
        for of_key, pending in _pending(store, key):
            if as_json:
                output.json_line(_pending_document(of_key, pending))
            elif output.is_drawn():
                output.sentence(flat(_sentence(of_key, pending)))
            else:
                output.plain(*_pending_columns(of_key, pending))


def approve(
    context: typer.Context,
    key: Key,
    call: Call,
    reason: Annotated[str | None, typer.Option(help="Why, in words.")] = None,
    actor: Actor = None,
    question: Question = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Let a call of a tool be made, once: the next run of its `ToolRunner` makes it.

    Example: `onrecord approve support/4711 toolu_1 --reason "a known customer"`
    """
    with open_store(context, url) as store:
        conversation = store.conversation(require_conversation(store, key).require_key())
        who, asked = acting_name(actor), _question(question)
        pending = _pending_call(conversation, call, asked)
        # What is reported is what was decided: where a call waits, its question is named.
        asked = asked if pending is None else pending.question
        conversation.approve(call, reason=reason, actor=who, question=asked)
        _report(call, pending, "granted", who, as_json=as_json)


def deny(
    context: typer.Context,
    key: Key,
    call: Call,
    reason: Annotated[str, typer.Option(help="Why, in words: the model reads it.")],
    actor: Actor = None,
    question: Question = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Let a call of a tool not be made: its result says so, and why.

    Example: `onrecord deny support/4711 toolu_1 --reason "too much"`
    """
    with open_store(context, url) as store:
        conversation = store.conversation(require_conversation(store, key).require_key())
        who, asked = acting_name(actor), _question(question)
        pending = _pending_call(conversation, call, asked)
        # What is reported is what was decided: where a call waits, its question is named.
        asked = asked if pending is None else pending.question
        conversation.deny(call, reason=reason, actor=who, question=asked)
        _report(call, pending, "denied", who, as_json=as_json)


def _pending(store: Store, key: str | None) -> Iterator[tuple[str, PendingApproval]]:
    """Yield the pending calls of one conversation, or of all, each with the key of its conversation."""
    if key is None:
        return ((each.key, each.approval) for each in pending_calls(store))
    of_key = require_conversation(store, key).require_key()
    return ((of_key, each) for each in store.conversation(of_key).approvals())


def _question(text: str | None) -> ApprovalQuestion | None:
    from onrecord.adapters.conversation.approvals import ApprovalQuestion

    return None if text is None else ApprovalQuestion.parse(text)


def _pending_call(
    conversation: Conversation, call: str, question: ApprovalQuestion | None
) -> PendingApproval | None:
    """Return the call of an id that waits; only where it has the question, if one is named."""
    of_id = (each for each in conversation.approvals() if each.call.id == call)
    return next((each for each in of_id if question in (None, each.question)), None)


def _report(
    call: str, pending: PendingApproval | None, decision: str, actor: str | None, *, as_json: bool
) -> None:
    tool = None if pending is None else pending.call.name
    question = None if pending is None else str(pending.question)
    if as_json:
        document = {"call": call, "tool": tool, "question": question}
        output.json_line({**document, "decision": decision, "actor": actor})
        return
    of_tool = "" if tool is None else f" of {tool}"
    output.sentence(flat(f"The call {call}{of_tool} is {decision}, by {actor}."))


def _sentence(key: str, pending: PendingApproval) -> str:
    arguments = jsontext.write(pending.call.arguments).decode()
    doubt = f" {DOUBT}" if pending.unsure else ""
    call = f"{key}: {pending.call.name} {arguments}, call {pending.call.id}"
    return f"{call}, question {pending.question}, since {moment(pending.requested_at)}.{doubt}"


def _pending_columns(key: str, pending: PendingApproval) -> tuple[object, ...]:
    call = pending.call
    arguments = jsontext.write(call.arguments).decode()
    doubt = "unsure" if pending.unsure else ""
    since = timestamp(pending.requested_at)
    return key, call.id, call.name, arguments, since, doubt, pending.question


def _pending_document(key: str, pending: PendingApproval) -> dict[str, object]:
    return {
        "key": key,
        "call": pending.call.id,
        "tool": pending.call.name,
        "arguments": pending.call.arguments,
        "requested_at": timestamp(pending.requested_at),
        "unsure": pending.unsure,
        "question": str(pending.question),
    }
