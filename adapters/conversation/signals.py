"""Signals on their way into the log: those that wait for a round, and those that interrupt it.

One that interrupts is recorded with the cancelled results of the calls that were open, all or none.
What comes meanwhile makes it look again: a result that was quicker stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from onrecord.adapters.conversation.history_edits import settle
from onrecord.adapters.conversation.tails import calls_open
from onrecord.adapters.conversation.tool_results import ToolOutput, tool_output
from onrecord.adapters.inputs.arguments import several, text_if_given
from onrecord.adapters.inputs.document_inputs import Unstored, described, must_hold, stored
from onrecord.adapters.streams.knowledge import knowledge_of
from onrecord.adapters.streams.stream import Done, Stream, stored_again
from onrecord.domain import conversation
from onrecord.domain.content import Document, Text
from onrecord.domain.errors import IdempotencyMismatch
from onrecord.domain.events import Event, SignalReceived, ToolResultRecorded
from onrecord.domain.head import Head


def new_signal(
    output: ToolOutput,
    stream: Stream,
    name: str | None,
    message_id: str | None,
    attached: Iterable[Document | Unstored] = (),
) -> SignalReceived:
    """Return a signal that a caller gives: its text, then each document once, stored now."""
    attached = tuple(attached)
    must_hold(stream, attached)
    parts = output.stored(stream).parts
    texts = [part for part in parts if isinstance(part, Text)]
    documents = [part for part in parts if isinstance(part, Document)]
    documents += [stored(document, stream) for document in attached]
    return SignalReceived(
        content=(*texts, *dict.fromkeys(documents)), name=name, message_id=message_id
    )


def signal_content(content: object) -> ToolOutput:
    """Return what a signal says, looked through; nothing of it is stored yet.

    A string is text, anything else its JSON; None, a blank text, an empty list or mapping is no
    content, 0 and False are. InvalidContent for what no record can hold.
    """
    return tool_output(None if is_empty(content) else content)


def is_empty(content: object) -> bool:
    """Whether a signal with this content has none: what is null, blank, or an empty collection."""
    match content:
        case None:
            return True
        case str():
            return not content.strip()
        case Mapping() | list() | tuple():
            return not cast("Sequence[object]", content)
        case _:
            return False


def record_signal(
    stream: Stream,
    content: object,
    documents: object,
    name: object,
    interrupts: object,
    message_id: object,
) -> Done:
    """Record a signal; `interrupts` gives up the calls that are open in the same commit.

    The same message again changes nothing. VersionConflict where the conversation moves on
    whenever its open calls are to be given up.
    """
    named = text_if_given("the name of a signal", name)
    once = text_if_given("message_id", message_id)
    output = signal_content(content)
    attached = [described(document) for document in several("documents", documents)]
    conversation.receive(stream.known_head(), ())

    def record() -> Done:
        received = new_signal(output, stream, named, once, attached)
        if not interrupts:
            return stream.append(*conversation.receive(stream.known_head(), (received,)))
        return settle(stream, lambda head: _interrupting(stream, head, received)).done

    return stored_again(record)


def given_up(stream: Stream, head: Head) -> list[ToolResultRecorded]:
    """Return the cancelled results of the calls that are open, in the order of the calls."""
    if not head.version:
        return []
    awaited = calls_open(stream.backend, stream.lineage(head.version, head), head)
    return [
        with_call_of_reused_id(stream, head, *conversation.cancel_call(head, call.call_id))
        for call in awaited
    ]


def with_call_of_reused_id(
    stream: Stream, head: Head, result: ToolResultRecorded
) -> ToolResultRecorded:
    """Return the result of an open call, with its version where an earlier call had its id."""
    if knowledge_of(stream, result) == "new":
        return result
    return result.model_copy(update={"call": head.open_calls.get(result.call_id)})


def as_recorded(stream: Stream, head: Head, received: SignalReceived) -> SignalReceived | None:
    """Return a signal as it was recorded before under its message id; None where it is new.

    IdempotencyMismatch where that stands for another message.
    """
    if received.message_id is None or not head.version:
        return None
    for interrupts in (True, False):
        signal = received.model_copy(update={"interrupts": interrupts})
        match knowledge_of(stream, signal):
            case "new":
                return None
            case "same":
                return signal
            case "other":
                continue
    raise IdempotencyMismatch(
        "the message_id of a signal was recorded before, of a message or signal with other content: "
        "use a new message_id for a new fact"
    )


def _interrupting(stream: Stream, head: Head, received: SignalReceived) -> tuple[Event, ...]:
    if (before := as_recorded(stream, head, received)) is not None:
        return (before,)
    return conversation.receive(head, (received,), given_up(stream, head))
