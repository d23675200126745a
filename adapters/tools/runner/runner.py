"""Runs the calls that await a result, each once, and records what each one gave.

A result is durable before the next call is made, so that a process that dies repeats no call that
was finished, and loses none: what has no result yet is run by whoever runs next.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from threading import TIMEOUT_MAX
from typing import Any, Final, TypeAlias, cast

from onrecord.adapters.conversation.conversation import Conversation, stream_of
from onrecord.adapters.conversation.conversation_tools import carried_since, persisted_entries
from onrecord.adapters.conversation.tool_results import give_result
from onrecord.adapters.inputs.arguments import several
from onrecord.adapters.streams.results import Rejected, ResultDone
from onrecord.adapters.streams.stream import Done
from onrecord.adapters.tools.python import tool
from onrecord.adapters.tools.runner.calling import Outcome, Work, failure, outcomes, outcomes_async
from onrecord.adapters.tools.runner.exchange import (
    MOST_IN_A_ROW,
    given_in_exchange,
    last_in_a_row,
    no_such_tool,
    open_exchange,
    unless_given,
)
from onrecord.adapters.tools.tool import Failed, Tool
from onrecord.domain.content import ToolCall
from onrecord.domain.errors import InvalidContent, InvalidInput, TooManyModelCalls, UnknownTool
from onrecord.domain.events import RequestSent, ResponseCompleted
from onrecord.domain.tool_context import EMPTY, ToolCallContext
from onrecord.domain.tools import ToolDefinition

RunnableTool: TypeAlias = Tool | Callable[..., object] | Iterable[Tool]
"""A tool as a runner takes it: a Python callable, a `Tool`, or several, such as a server's."""

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
    declared: where it was asked and none are in force, a UserWarning says so.
    """

    def __init__(
        self,
        conversation: Conversation,
        tools: Iterable[RunnableTool],
        *,
        context: Entries = EMPTY,
        persist: Iterable[str] = (),
        parallel: bool = False,
        timeout: float | None = None,
    ) -> None:
        """Hold the tools; InvalidContent for two of one name, and for what is no tool."""
        self.conversation = conversation
        self.tools = _by_name(_tools(tools))
        self._context = ToolCallContext.of(context)
        self._persist = tuple(several("persist", persist))
        self._parallel = parallel
        self._timeout = _seconds(timeout)
        self._carried = EMPTY
        self._seen = 0
        self._has_warned = False
        persisted_entries(self._context, self._persist)

    def declare(self) -> Done:
        """Put the tools in force, with where they come from: requests tell models of them."""
        return self.conversation.tools.declare(self.tools.values())

    def run(self, context: Entries = EMPTY) -> tuple[ToolRun, ...]:
        """Run each call that awaits a result, record what it gave, in the order of the calls.

        `context` is for these calls alone, and wins. Whatever a tool raises is a result. UnknownTool
        once the model has called tools that there are not too often, one behind the other.
        """
        begun = self._round(context)
        results = outcomes(begun.work, self._is_awaited, parallel=self._parallel)
        runs = [self._record(begun, work, outcome) for work, outcome in results]
        _must_be_known(begun)
        return tuple(runs)

    async def run_async(self, context: Entries = EMPTY) -> tuple[ToolRun, ...]:
        """Do as `run` without blocking the loop: asynchronous tools run in it, others in threads."""
        # The loop takes a while to import, and most programs run no tools.
        import asyncio

        begun = await asyncio.to_thread(self._round, context)
        runs: list[ToolRun] = []
        results = outcomes_async(begun.work, self._is_awaited, parallel=self._parallel)
        async with aclosing(results):
            async for work, outcome in results:
                runs.append(await asyncio.to_thread(self._record, begun, work, outcome))
        _must_be_known(begun)
        return tuple(runs)

    # -- within ------------------------------------------------------------------------------

    def _round(self, context: Entries) -> _Round:
        """Return the calls to be made; InvalidContent where what is to be kept cannot be."""
        level = self._conversation_level()
        entries = level.merge(self._context).merge(context)
        metadata = persisted_entries(entries, (*level, *self._persist))
        calls = self.conversation.open_calls()
        if not calls:
            self._warn_if_undeclared()
        names_with_result = set(self._names_with_result(calls))
        work: list[Work] = []
        for call in calls:
            called, is_known = self._called(call.name, names_with_result), call.name in self.tools
            # Whether the first call of a tool that is called once gives a result is to be seen.
            waits = called.advice is not None and any(call.name == each.call.name for each in work)
            each = Work(
                call, called, entries, metadata, self._timeout, is_known=is_known, waits=waits
            )
            work.append(each)
        before = (
            0 if not work or work[0].is_known else last_in_a_row(open_exchange(self.conversation))
        )
        return _Round(tuple(work), before, names_with_result)

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

    def _is_awaited(self, work: Work) -> bool:
        """Whether a call still awaits its result: a signal may have cancelled it meanwhile."""
        return any(call.id == work.call.id for call in self.conversation.open_calls())

    def _record(self, begun: _Round, work: Work, outcome: Outcome) -> ToolRun:
        """Record a result; what no record can hold is an error of the tool."""
        try:
            done = self._put(work, outcome)
        except InvalidInput as exc:
            outcome = failure(work, exc)
            done = self._put(work, outcome)
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

    `names_with_result` are the tools that gave a result in this exchange, where that matters.
    """

    work: tuple[Work, ...]
    unknown_before: int
    names_with_result: set[str]


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


def _seconds(value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
        return min(value, TIMEOUT_MAX)
    raise InvalidContent("a time-out is a number of seconds above 0")


# The loop of an agent: ask the model, run what it calls, ask again, until it calls nothing more.

LIMIT: Final = 10
"""How often a model is asked within one exchange, unless somebody says otherwise."""

_PAUSED: Final = "pause_turn"


def run_until_answered(
    runner: ToolRunner, ask: Callable[[], object], *, limit: int = LIMIT, context: Entries = EMPTY
) -> tuple[ToolRun, ...]:
    """Return what was run until the model answered without calling a tool of the caller's.

    What a tool gives that answers itself (`Tool.answering`) ends it, too: then no model is asked.
    `ask` makes one call of the model with a recorded client. Calls that still await a result, as
    after a crash, are run first. Raises TooManyModelCalls, before the model is asked once more,
    where it was asked `limit` times since the last prompt: counted from the log, by whatever process.
    """
    runs = list(runner.run(context))
    while not _is_answered(runner, runs):
        _must_be_within(runner.conversation, limit)
        ask()
        ran = runner.run(context)
        if not ran and not _is_paused(runner.conversation):
            break
        runs += ran
    return tuple(runs)


def _is_answered(runner: ToolRunner, runs: Iterable[ToolRun]) -> bool:
    """Whether a tool ran that answers itself; an error is no answer."""
    ran = (runner.tools.get(run.call.name) for run in runs if not run.is_error)
    return any(called is not None and called.answers for called in ran)


def _must_be_within(conversation: Conversation, limit: int) -> None:
    requests = sum(isinstance(event, RequestSent) for event in open_exchange(conversation))
    if requests >= limit:
        raise TooManyModelCalls(requests, limit)


def _is_paused(conversation: Conversation) -> bool:
    """Whether the provider wants to be asked again, to go on with its own tools."""
    ended = (event for event in open_exchange(conversation) if isinstance(event, ResponseCompleted))
    last = next(ended, None)
    return last is not None and last.stop_reason == _PAUSED
