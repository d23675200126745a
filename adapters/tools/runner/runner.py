"""Runs the calls that await a result, each once, and records what each one gave.

A result is durable before the next call is made, so that a process that dies repeats no call that
was finished, and loses none: what has no result yet is run by whoever runs next.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from onrecord.adapters.conversation.conversation import Conversation, stream_of
from onrecord.adapters.conversation.conversation_tools import carried_since, persisted_entries
from onrecord.adapters.conversation.open_calls import OpenCall, open_calls
from onrecord.adapters.conversation.tool_results import give_result
from onrecord.adapters.inputs.arguments import kind_of, several
from onrecord.adapters.streams.results import Rejected, ResultDone
from onrecord.adapters.streams.stream import Done
from onrecord.adapters.tools.python import tool
from onrecord.adapters.tools.runner.calling import Outcome, Work, failure, outcomes, outcomes_async
from onrecord.adapters.tools.runner.decisions import lease_of, tool_to_call
from onrecord.adapters.tools.runner.exchange import (
    MOST_IN_A_ROW,
    given_in_exchange,
    last_in_a_row,
    no_such_tool,
    open_exchange,
    unless_given,
)
from onrecord.adapters.tools.runner.leases import LEASE, CallLease, lease_given, renewals_of
from onrecord.adapters.tools.tool import Failed, Tool, seconds_given
from onrecord.domain.content import ToolCall
from onrecord.domain.errors import CallTakenOver, InvalidContent, InvalidInput, UnknownTool
from onrecord.domain.tool_context import EMPTY, ToolCallContext
from onrecord.domain.tools import ToolDefinition

if TYPE_CHECKING:
    from onrecord.adapters.asynchronous.conversation import AsyncConversation

RunnableTool: TypeAlias = Tool | Callable[..., object] | Iterable[Tool]
"""A tool as a runner takes it: a Python callable, a `Tool`, or several, such as a server's."""

logger = logging.getLogger("onrecord")

_UNDECLARED: Final = (
    "the model was asked, and told of no tools, so it calls none: `runner.declare()` puts those of "
    "this runner in force"
)

Entries: TypeAlias = Mapping[str, Any] | ToolCallContext


@dataclass(frozen=True, slots=True)
class ToolRun:
    """A call that was run: what the tool gave, whether that is an error, what recording it said."""

    call: ToolCall
    output: object
    is_error: bool
    done: ResultDone


class ToolRunner:
    """Runs the calls of one conversation by these tools; one thread, or task, at a time.

    `context` is what the tools are told in each call, over what the conversation carries; `persist`
    names what of it is kept, in the header of each result. `parallel` runs the calls of a round
    together; `timeout` is in seconds, for each call. A call that takes longer has failed; if it
    runs in a thread it goes on there, and what it gives is dropped. A model knows the tools that are
    declared: where it was asked and none are in force, a UserWarning says so. No two runners make
    one call: each has a `lease`, in seconds, which is renewed as long as the tool runs; None is none
    (docs/tool-runner.md). `waiting` are the calls that the last run left open, for a person or another
    runner. `progress` gets the call and what a tool reports by `context.progress(value)`, in the
    thread of the tool.
    """

    def __init__(
        self,
        conversation: Conversation | AsyncConversation,
        tools: Iterable[RunnableTool],
        *,
        context: Entries = EMPTY,
        persist: Iterable[str] = (),
        parallel: bool = False,
        timeout: float | None = None,
        lease: float | None = LEASE,
        progress: Callable[[ToolCall, object], object] | None = None,
    ) -> None:
        """Hold the tools; InvalidInput for two of one name, for no tool, and for no conversation."""
        self.conversation = _conversation(conversation)
        self.tools = _by_name(_tools(tools))
        self._context = ToolCallContext.of(context)
        self._persist = tuple(several("persist", persist))
        self._parallel = parallel
        self._timeout = None if timeout is None else seconds_given(timeout)
        self._lease = lease_given(lease)
        self._progress = progress
        self.waiting: tuple[ToolCall, ...] = ()
        self._carried = EMPTY
        self._seen = 0
        self._has_warned = False
        persisted_entries(self._context, self._persist)

    def declare(self) -> Done:
        """Put the tools in force, with where they come from: requests tell models of them."""
        return self.conversation.tools.declare(self.tools.values())

    async def declare_async(self) -> Done:
        """Do as `declare` without blocking the loop."""
        import asyncio

        return await asyncio.to_thread(self.declare)

    def run(self, context: Entries = EMPTY) -> tuple[ToolRun, ...]:
        """Run each call that awaits a result, record what it gave, in the order of the calls.

        `context` is for these calls alone, and wins. Whatever a tool raises is a result. UnknownTool
        once the model has called tools that there are not too often, one behind the other.
        CallTakenOver where another runner made one of the calls, too.
        """
        begun = self._round(context)
        results = outcomes(begun.work, self._may_begin, parallel=self._parallel)
        try:
            runs = [self._record(begun, work, outcome) for work, outcome in results]
        except BaseException:
            _drop_leases(begun)
            raise
        return self._ended(begun, runs)

    async def run_async(self, context: Entries = EMPTY) -> tuple[ToolRun, ...]:
        """Do as `run` without blocking the loop: asynchronous tools run in it, others in threads."""
        # The loop takes a while to import, and most programs run no tools.
        import asyncio

        begun = await asyncio.to_thread(self._round, context)
        runs: list[ToolRun] = []
        finished: dict[int, tuple[Work, Outcome]] = {}
        results = outcomes_async(begun.work, self._may_begin, finished, parallel=self._parallel)
        try:
            async with aclosing(results):
                async for work, outcome in results:
                    runs.append(await asyncio.to_thread(self._record, begun, work, outcome))
        except asyncio.CancelledError:
            # What ran is recorded, though a call before it is cancelled.
            for _, (work, outcome) in sorted(finished.items(), key=itemgetter(0)):
                await asyncio.to_thread(self._record, begun, work, outcome)
            await asyncio.to_thread(_drop_leases, begun)
            raise
        except Exception:
            await asyncio.to_thread(_drop_leases, begun)
            raise
        return await asyncio.to_thread(self._ended, begun, runs)

    # -- within ------------------------------------------------------------------------------

    def _round(self, context: Entries) -> _Round:
        """Return the calls to be made; InvalidContent where what is to be kept cannot be."""
        level = self._conversation_level()
        entries = level.merge(self._context).merge(context)
        metadata = persisted_entries(entries, (*level, *self._persist))
        stream = stream_of(self.conversation)
        opened = open_calls(stream)
        if not opened:
            self._warn_if_undeclared()
        names_with_result = set(self._names_with_result([each.call for each in opened]))
        now = stream.backend.clock() if any(each.state.begun for each in opened) else 0
        work: list[Work] = []
        for each in opened:
            named = self._called(each.call.name, names_with_result)
            called = tool_to_call(stream, each, named, now)
            if called is not None:
                work.append(self._work(each, called, entries, metadata, work))
        before = (
            0 if not work or work[0].is_known else last_in_a_row(open_exchange(self.conversation))
        )
        return _Round(tuple(work), before, names_with_result, len(opened))

    def _work(
        self,
        opened: OpenCall,
        called: Tool,
        entries: ToolCallContext,
        metadata: Mapping[str, str],
        before: list[Work],
    ) -> Work:
        """Return a call as it is to be made, behind those before it."""
        call = opened.call
        is_known = call.name in self.tools
        return Work(
            call,
            called,
            self._of_call(entries, call),
            metadata,
            self._timeout if called.timeout is None else called.timeout,
            is_known=is_known,
            # Whether the first call of a tool that is called once gives a result is to be seen.
            waits=called.advice is not None and any(call.name == each.call.name for each in before),
            lease=self._lease_on(opened) if is_known else None,
        )

    def _lease_on(self, opened: OpenCall) -> CallLease | None:
        seconds = lease_of(opened, self._lease)
        if seconds is None:
            return None
        stream = stream_of(self.conversation)
        return CallLease(stream, opened, seconds, renewals_of(stream.backend))

    def _of_call(self, entries: ToolCallContext, call: ToolCall) -> ToolCallContext:
        """Return the context of one call, whose progress goes to whoever asked for it."""
        listen = self._progress
        if listen is None:
            return entries.of_call(call.id)
        return entries.of_call(call.id, partial(_report, listen, call))

    def _warn_if_undeclared(self) -> None:
        """Warn, once, where a model was asked that could call nothing, for it was told of no tools."""
        if self._has_warned or not self.tools:
            return
        head = self.conversation.head()
        if not head.request or head.tools or self.conversation.tools.in_force().tools:
            return
        self._has_warned = True
        warnings.warn(_UNDECLARED, UserWarning, stacklevel=4)

    def _conversation_level(self) -> ToolCallContext:
        """Return what the conversation carries; only what is new of it is read."""
        until = self.conversation.head().version
        level = carried_since(stream_of(self.conversation), self._seen, until)
        self._carried = self._carried if level is None else level
        self._seen = max(until, self._seen)
        return self._carried

    def _called(self, name: str, names_with_result: set[str]) -> Tool:
        """Return what is called by a name, beside the tools that gave a result so far."""
        called = self.tools.get(name)
        if called is None:
            return _missing(name, tuple(self.tools))
        return called if called.advice is None else unless_given(called, names_with_result)

    def _names_with_result(self, calls: list[ToolCall]) -> frozenset[str]:
        """Return the tools that gave a result in this exchange, if any of the calls depends on it."""
        called = (self.tools.get(call.name) for call in calls)
        if all(each is None or each.advice is None for each in called):
            return frozenset()
        return given_in_exchange(self.conversation)

    def _may_begin(self, work: Work, is_later: bool) -> bool:
        """Whether a call is made now: a signal may have cancelled it, or another runner have it."""
        if is_later and all(call.id != work.call.id for call in self.conversation.open_calls()):
            return False
        return work.lease is None or work.lease.begin()

    def _ended(self, begun: _Round, runs: list[ToolRun]) -> tuple[ToolRun, ...]:
        """Return what was run; errors as `run`."""
        is_all = len(runs) == begun.opened
        self.waiting = () if is_all else tuple(self.conversation.open_calls())
        _must_be_sole(begun)
        _must_be_known(begun)
        return tuple(runs)

    def _record(self, begun: _Round, work: Work, outcome: Outcome) -> ToolRun:
        """Record a result; what no record can hold is an error of the tool."""
        try:
            done = self._put(work, outcome)
        except InvalidInput as exc:
            outcome = failure(work, exc)
            done = self._put(work, outcome)
        if work.lease is not None:
            work.lease.settle()
        if not (outcome.is_error or isinstance(done, Rejected)):
            begun.names_with_result.add(work.call.name)
        return ToolRun(work.call, outcome.output, outcome.is_error, done)

    def _put(self, work: Work, outcome: Outcome) -> ResultDone:
        return give_result(
            stream_of(self.conversation),
            work.call.id,
            outcome.output,
            is_error=outcome.is_error,
            metadata=work.metadata,
        )


@dataclass(frozen=True, slots=True)
class _Round:
    """The calls that await a result; before them so many in a row named no tool that there is.

    `names_with_result` are the tools that gave a result in this exchange, where that matters;
    `opened` is how many calls await a result, those included that are not to be made now.
    """

    work: tuple[Work, ...]
    unknown_before: int
    names_with_result: set[str]
    opened: int


def _report(listen: Callable[[ToolCall, object], object], call: ToolCall, value: object) -> None:
    try:
        listen(call, value)
    except Exception as exc:  # noqa: BLE001 - a listener is no part of the call
        logger.warning("a listener to progress of %r failed: %s", call.name, type(exc).__name__)


def _drop_leases(begun: _Round) -> None:
    """Give up the calls that have no result: the next runner need not wait until their leases end."""
    for work in begun.work:
        if work.lease is not None:
            work.lease.drop()


def _must_be_sole(done: _Round) -> None:
    """Raise CallTakenOver where another runner made one of the calls, too."""
    lost = tuple(work.call.id for work in done.work if work.lease and work.lease.is_lost)
    if lost:
        raise CallTakenOver(lost)


def _must_be_known(done: _Round) -> None:
    """Raise UnknownTool where too many calls in a row named none of the tools."""
    in_a_row, names = done.unknown_before, list[str]()
    for work in done.work:
        if work.is_known:
            in_a_row, names = 0, []
            continue
        in_a_row += 1
        names.append(work.call.name)
        if in_a_row >= MOST_IN_A_ROW:
            raise UnknownTool(tuple(names), in_a_row)


def _conversation(conversation: Conversation | AsyncConversation) -> Conversation:
    if isinstance(conversation, Conversation):
        return conversation
    # Imported already, where it gave the conversation: most programs await nothing.
    from onrecord.adapters.asynchronous.conversation import AsyncConversation, conversation_of

    if isinstance(cast("object", conversation), AsyncConversation):
        return conversation_of(conversation)
    raise InvalidInput(
        "a runner runs the calls of a conversation, as store.conversation(key) returns it, "
        f"not of {kind_of(conversation)}"
    )


def _missing(name: str, tools: tuple[str, ...]) -> Tool:
    """Return what stands in for a tool that there is not: it says which there are."""
    failed = Failed(no_such_tool(name, tools))
    definition = ToolDefinition(name=name, input_schema={"type": "object"})
    return Tool(definition, lambda _arguments, _context: failed)


def _tools(values: object) -> Iterator[Tool]:
    for each in several("tools", values):
        match each:
            case Tool():
                yield each
            case list() | tuple():
                yield from _tools(cast("object", each))
            case _:
                yield tool(cast("Callable[..., object]", each))


def _by_name(tools: Iterable[Tool]) -> dict[str, Tool]:
    by_name: dict[str, Tool] = {}
    for each in tools:
        if by_name.setdefault(each.name, each) is not each:
            raise InvalidContent(
                f"two tools are named {each.name!r}: rename one, tool.renamed(...), "
                "or give a server's tools a prefix"
            )
    return by_name
