"""Calls of tools: what is to be called, and that whatever becomes of it is a result.

Only what ends a program, or a task, gets through: `KeyboardInterrupt`, `SystemExit`, the
cancellation of the task that runs the tools. Then nothing is a result yet.
"""

from __future__ import annotations

import contextvars
import logging
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, TypeVar, cast

from onrecord.adapters.conversation.arguments import kind_of
from onrecord.adapters.tools.context_values import without_values
from onrecord.adapters.tools.tool import Failed, Tool
from onrecord.domain.content import ToolCall
from onrecord.domain.errors import InvalidInput
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.tool_context import ToolCallContext

logger = logging.getLogger("onrecord")

TIMED_OUT: Final = "Error: Tool execution timed out"
"""What a model is told of a call that took too long."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a tool gave, or why it gave nothing."""

    given: object
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Work:
    """A call to be made: of which tool, what it is told besides, and what its result's header keeps.

    `timeout` is in seconds. A call that names no tool has one that says so, and is not known. One
    that `waits` is not made before those in front of it have their results.
    """

    call: ToolCall
    tool: Tool
    context: ToolCallContext
    metadata: Mapping[str, str]
    timeout: float | None = None
    is_known: bool = True
    waits: bool = False


def begin(work: Work) -> object:
    """Call the tool; return what it gives, or what is to be awaited for it."""
    return work.tool.call(_arguments(work.call), work.context)


def timed_out(work: Work) -> Outcome:
    """Return the result of a call that took too long."""
    logger.info("the tool %r timed out", work.tool.name)
    return Outcome(TIMED_OUT, is_error=True)


def failure(work: Work, exc: BaseException) -> Outcome:
    """Return the result of a call that failed; no value of its context is in the message."""
    cause = _alone(exc)
    # No traceback: it may quote what the context holds.
    logger.info("the tool %r failed: %s", work.tool.name, type(cause).__name__)
    told = without_values(_message(cause), work.context)
    # Names of files may be no UTF-8 (PEP 383), and no record holds half a surrogate pair.
    told = told.encode("utf-8", "backslashreplace").decode("utf-8")
    return Outcome(f"Error: {told}", is_error=True)


def _message(exc: BaseException) -> str:
    """Return what an exception says, or its name where it says nothing, or fails at that too."""
    name = type(exc).__name__
    with suppress(Exception):
        # All that a KeyError says is the key: alone, nobody could tell what is the matter with it.
        before = f"{name}: " if type(exc) is KeyError and exc.args else ""
        return before + str(exc).strip() or name
    return name


def _alone(exc: BaseException) -> BaseException:
    """Return the one exception that a group is of: task groups wrap even a single one."""
    if not isinstance(exc, BaseExceptionGroup):
        return exc
    group = cast("BaseExceptionGroup[BaseException]", exc)
    return _alone(group.exceptions[0]) if len(group.exceptions) == 1 else group


def outcome(given: object) -> Outcome:
    """Return what a tool gave, as a result."""
    if isinstance(given, Failed):
        return Outcome(given.content, is_error=True)
    return Outcome(given)


def _arguments(call: ToolCall) -> JsonObject:
    """Return the arguments; a model that gives none may say so in several ways."""
    given: object = call.arguments
    if given is None or given == "":
        return {}
    if isinstance(given, dict):
        return cast("JsonObject", given)
    raise InvalidInput(f"the arguments are no JSON object but {kind_of(given)}")


# Functions in threads of their own, which no ending program waits for.

T = TypeVar("T")


def in_thread(function: Callable[[], T]) -> Future[T]:
    """Return what a function gives, once it gives it, in a thread that sees the caller's context.

    The threads of an executor are waited for when the program ends, and a tool that hangs would
    keep it from ending.
    """
    future: Future[T] = Future()
    context = contextvars.copy_context()

    def run() -> None:
        try:
            result = context.run(function)
        except BaseException as exc:  # noqa: BLE001 - whoever asks for the result gets it
            future.set_exception(exc)
        else:
            future.set_result(result)

    future.set_running_or_notify_cancel()
    try:
        threading.Thread(target=run, daemon=True, name="onrecord-tool").start()
    except RuntimeError as exc:  # The system gives no more threads.
        future.set_exception(exc)
    return future
