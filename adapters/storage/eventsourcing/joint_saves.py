"""Aggregates of the `eventsourcing` library, saved with what is said in a conversation: all or none."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, Generic, NamedTuple, ParamSpec, TypeVar, cast
from uuid import UUID

from eventsourcing.application import Application
from eventsourcing.domain import BaseAggregate, MutableOrImmutableAggregate
from eventsourcing.persistence import Recording

from onrecord.adapters.asynchronous.conversation import AsyncConversation, conversation_of
from onrecord.adapters.conversation.conversation import Conversation, stream_of, tenancy_of
from onrecord.adapters.storage.eventsourcing.recorders import Appender, LogApplicationRecorder
from onrecord.adapters.storage.steps import steps_of
from onrecord.domain.errors import InvalidInput
from onrecord.domain.log import Append, Verdict

P = ParamSpec("P")
T = TypeVar("T")

_VERBS: Final = (
    *("user", "assistant", "signal", "instruct", "tool_result", "cancel", "redact"),
    *("annotate", "compact", "edit_message", "retract_answer", "set_tool_context", "end"),
)
"""Those that record by one append. Others may record twice, and a transaction holds one append."""
_OTHER_VERB: Final = (
    f"what is recorded with a save is said by one of a conversation's verbs: {', '.join(_VERBS)}"
)

_PROBE: Final = "onrecord/one-log"
"""A text whose digest tells logs apart."""


class SavedTogether(NamedTuple, Generic[T]):
    """What was saved with what was said, by one transaction.

    `recordings` are those that `Application.save` returns, and `said` is what the verb of the
    conversation returns.
    """

    recordings: list[Recording[UUID]]
    said: T


def save_together(
    application: Application[UUID],
    aggregates: Sequence[MutableOrImmutableAggregate[UUID]],
    verb: Callable[P, T],
    /,
    *args: P.args,
    **kwargs: P.kwargs,
) -> SavedTogether[T]:
    """Save aggregates as `application.save` does, and call a verb of a conversation: all or none.

    `verb` is that of a conversation, such as `chat.tool_result`; its arguments follow. Both are one
    transaction of one database, which is durable when this returns. If the conversation has what is
    said already, the aggregates are saved alone. If the application conflicts, that is IntegrityError of
    the library; if the conversation does, the verb's own error. Then nothing is recorded, and the
    aggregates have what is to be saved as before. InvalidInput where the application records
    elsewhere, or the verb is another.
    """
    conversation = _conversation_of(verb)
    _must_be_one_log(application, conversation)
    said: list[T] = []

    def say(append: Appender) -> None:
        joined = tenancy_of(conversation).appending_by(_Appends(append))
        stream = stream_of(conversation)
        beside = Conversation(joined, conversation.key, stream.holder, stream.subjects)
        method: Callable[P, T] = getattr(beside, verb.__name__)
        said.append(method(*args, **kwargs))

    with _keeping_what_is_pending(aggregates):
        recordings = application.save(*aggregates, beside=say)
    if not said:
        raise InvalidInput(
            "nothing was said: the application's own `save` does not pass `**kwargs` on to the "
            "library's, so the aggregates were saved alone"
        )
    return SavedTogether(recordings, said[0])


async def save_together_async(
    application: Application[UUID],
    aggregates: Sequence[MutableOrImmutableAggregate[UUID]],
    verb: Callable[P, Awaitable[T]],
    /,
    *args: P.args,
    **kwargs: P.kwargs,
) -> SavedTogether[T]:
    """Do as `save_together` with a verb of an `AsyncConversation`, without holding up the event loop.

    A thread saves, for the library's `save` waits in its own way. Where the caller is cancelled, both are
    recorded or neither is.
    """
    conversation = conversation_of(_awaited_conversation_of(verb))
    method: Callable[P, T] = getattr(conversation, verb.__name__)
    save = partial(save_together, application, aggregates, method, *args, **kwargs)
    return await steps_of(stream_of(conversation).backend).run_in_thread(save)


@contextmanager
def _keeping_what_is_pending(aggregates: Iterable[object]) -> Generator[None]:
    """Where an error comes, give aggregates their pending events back, which a save takes out first.

    Else who mends what was refused, and saves again, would record the words alone. What was recorded
    after all conflicts when it is saved again.
    """
    mutable = [
        cast("BaseAggregate[UUID]", each) for each in aggregates if isinstance(each, BaseAggregate)
    ]
    pending = [(each.pending_events, tuple(each.pending_events)) for each in mutable]
    try:
        yield
    except BaseException:
        for events, before in pending:
            events[:] = before
        raise


class _Appends(NamedTuple):
    """What a stream appends by, from a function."""

    by: Appender

    def append(self, appends: Sequence[Append]) -> list[Verdict]:
        return self.by(appends)


def _conversation_of(verb: Callable[..., object]) -> Conversation:
    owner: object = getattr(verb, "__self__", None)
    if isinstance(owner, Conversation) and verb.__name__ in _VERBS:
        return owner
    raise InvalidInput(_OTHER_VERB)


def _awaited_conversation_of(verb: Callable[..., object]) -> AsyncConversation:
    owner: object = getattr(verb, "__self__", None)
    if isinstance(owner, AsyncConversation) and verb.__name__ in _VERBS:
        return owner
    raise InvalidInput(_OTHER_VERB)


def _must_be_one_log(application: Application[UUID], conversation: Conversation) -> None:
    recorder = application.recorder
    if not isinstance(recorder, LogApplicationRecorder):
        raise InvalidInput(
            "the application records elsewhere: set PERSISTENCE_MODULE to onrecord.eventsourcing.sqlite "
            "or onrecord.eventsourcing.postgres"
        )
    store = cast("LogApplicationRecorder[Any]", recorder).store
    # The key of digests is each log's own.
    if store.digest(_PROBE) != stream_of(conversation).backend.digest(_PROBE):
        raise InvalidInput("application and conversation are in two logs: give both the same URL")
