"""The loop of an agent: ask the model, run what it calls, ask again, until it calls nothing more."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterable
from inspect import isawaitable
from typing import Any, Final, cast

from onrecord.adapters.conversation.conversation import Conversation
from onrecord.adapters.tools.runner.exchange import is_answered_since, open_exchange
from onrecord.adapters.tools.runner.runner import Entries, ToolRun, ToolRunner
from onrecord.domain.errors import AnswerNotRecorded, InvalidInput, TooManyModelCalls
from onrecord.domain.events import RequestSent, ResponseCompleted
from onrecord.domain.tool_context import EMPTY

LIMIT: Final = 10
"""How often a model is asked within one exchange, unless somebody says otherwise."""

_PAUSED: Final = "pause_turn"

_UNRECORDED: Final = (
    "the model was asked, and the main branch of this conversation has no answer: ask with "
    "chat.record(client), or with store.record(client) and extra_headers=chat.headers, of this very "
    "conversation; read a stream, or what runs in the background, to its end. "
    "`onrecord show KEY --lines` lists answers on side branches"
)


def run_until_answered(
    runner: ToolRunner, ask: Callable[[], object], *, limit: int = LIMIT, context: Entries = EMPTY
) -> tuple[ToolRun, ...]:
    """Return what was run until the model answered without calling a tool of the caller's.

    What a tool gives that answers itself (`Tool.answering`) ends it, too: then no model is asked.
    It ends, too, where calls wait for a person or another runner: `runner.waiting` has them.
    `ask` makes one call of the model with a recorded client. Calls that still await a result, as
    after a crash, are run first. Raises TooManyModelCalls, before the model is asked once more,
    where it was asked `limit` times since the last prompt: counted from the log, by whatever process.
    AnswerNotRecorded where no answer came into the conversation; InvalidInput for a coroutine function.
    """
    runs = list(runner.run(context))
    while not (runner.waiting or _is_answered(runner, runs)):
        version = _version_within(runner.conversation, limit)
        _must_await_nothing(ask())
        _must_be_answered(runner.conversation, version)
        ran = runner.run(context)
        if not ran and not _is_paused(runner.conversation):
            break
        runs += ran
    return tuple(runs)


async def run_until_answered_async(
    runner: ToolRunner,
    ask: Callable[[], Awaitable[object]],
    *,
    limit: int = LIMIT,
    context: Entries = EMPTY,
) -> tuple[ToolRun, ...]:
    """Do as `run_until_answered` without blocking the loop; `ask` is awaited, and so are the tools.

    Where the caller is cancelled, the results of the calls that are over are recorded, and the others
    are run by whoever runs next.
    """
    from asyncio import to_thread

    runs = list(await runner.run_async(context))
    while not (runner.waiting or _is_answered(runner, runs)):
        version = await to_thread(_version_within, runner.conversation, limit)
        await _awaitable(ask())
        await to_thread(_must_be_answered, runner.conversation, version)
        ran = await runner.run_async(context)
        if not ran and not await to_thread(_is_paused, runner.conversation):
            break
        runs += ran
    return tuple(runs)


def _is_answered(runner: ToolRunner, runs: Iterable[ToolRun]) -> bool:
    """Whether a tool ran that answers itself; an error is no answer."""
    ran = (runner.tools.get(run.call.name) for run in runs if not run.is_error)
    return any(called is not None and called.answers for called in ran)


def _version_within(conversation: Conversation, limit: int) -> int:
    """Return the version at which the model may be asked once more; else raise TooManyModelCalls."""
    version = conversation.head().version
    requests = sum(isinstance(event, RequestSent) for event in open_exchange(conversation))
    if requests >= limit:
        raise TooManyModelCalls(requests, limit)
    return version


def _must_await_nothing(returned: object) -> None:
    """Raise InvalidInput for what a coroutine function returns: nobody would await it."""
    if not isawaitable(returned):
        return
    if isinstance(returned, Coroutine):
        cast("Coroutine[Any, Any, Any]", returned).close()
    raise InvalidInput("`ask` is asynchronous: write `await run_until_answered_async(runner, ask)`")


def _awaitable(returned: Awaitable[object]) -> Awaitable[object]:
    """Return what is awaited; InvalidInput for anything else."""
    if isawaitable(cast("object", returned)):
        return returned
    raise InvalidInput(
        "`ask` returned nothing to await: write `async def ask()`, or use run_until_answered"
    )


def _must_be_answered(conversation: Conversation, version: int) -> None:
    """Raise AnswerNotRecorded where no answer came after a version."""
    if not is_answered_since(conversation, version):
        raise AnswerNotRecorded(_UNRECORDED)


def _is_paused(conversation: Conversation) -> bool:
    """Whether the provider wants to be asked again, to go on with its own tools."""
    ended = (event for event in open_exchange(conversation) if isinstance(event, ResponseCompleted))
    last = next(ended, None)
    return last is not None and last.stop_reason == _PAUSED
