"""Verbs of a log and of a conversation, awaited as the async face awaits them."""

from collections.abc import Sequence
from functools import partial

from onrecord.adapters.asynchronous.conversation import AsyncConversation
from onrecord.adapters.conversation.conversation import Conversation, stream_of
from onrecord.adapters.storage.steps import steps_of
from onrecord.domain.log import Append, Backend, Verdict


async def appended(log: Backend, appends: Sequence[Append]) -> list[Verdict]:
    """What became of appends that a coroutine waited for."""
    return await steps_of(log).run(partial(log.append, appends))


def awaited(chat: Conversation) -> AsyncConversation:
    """The same conversation, for coroutines."""
    return AsyncConversation(chat, steps_of(stream_of(chat).backend))
