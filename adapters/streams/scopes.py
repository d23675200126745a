"""Scopes: which conversation the calls are for that are made within a `with` block, and who acts."""

from __future__ import annotations

import contextlib
import inspect
import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from functools import partial
from types import CodeType, FrameType, TracebackType
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeAlias, TypeVar

from onrecord.domain.new_events import NOBODY, Attribution

if TYPE_CHECKING:
    import asyncio

    from onrecord.adapters.streams.stream import Stream
    from onrecord.adapters.wire.clients.exchange_recorder import ExchangeRecorder


# A scope goes where context variables go (PEP 567): into what is awaited, into tasks that are
# begun in it, into `asyncio.to_thread`. It does not go into threads and executors by itself:
# `contextvars.copy_context().run` takes it there.
#
# A generator has no context of its own: what is set in it, its consumer sees (PEP 568 would
# change that). So a scope that is entered in a generator holds while that runs, and in tasks that
# were begun in it; not in its consumer while it waits, nor when it was left unfinished, nor in
# another generator that takes turns with it. A task that one of two such generators begins sees
# the scope that was entered last, for nothing tells which of them began it: give such calls
# `stream.headers`. A generator that is a context manager (`contextlib`) opens its scope for those
# who use it.

P = ParamSpec("P")
T = TypeVar("T")

_GENERATOR: Final = inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR

_INNERMOST: ContextVar[_Link | None] = ContextVar("onrecord.scope", default=None)


class Scope:
    """A `with` block whose calls are one conversation's; enter each once."""

    def __init__(
        self, stream: Stream, exchanges: ExchangeRecorder, attribution: Attribution = NOBODY
    ) -> None:
        """Have calls opened as these turns, where nothing more specific binds them.

        `attribution` is who acts in the scope, in the conversation of the stream.
        """
        self.stream = stream
        self.exchanges = exchanges
        self.attribution = attribution
        self._outer: _Link | None = None
        self._generator: int | None = None
        self._thread = 0
        self._task: weakref.ref[asyncio.Task[Any]] | None = None
        self._is_over = False

    def __enter__(self) -> None:
        """Begin: the calls that are made from here on are of this scope."""
        if self._thread:
            raise RuntimeError("a scope is entered once: ask for another with chat.recording()")
        self._outer = _INNERMOST.get()
        while self._outer is not None and self._outer.is_left():
            self._outer = self._outer.outer
        self._generator = _generator_around(inspect.currentframe())
        self._thread, task = threading.get_ident(), _task()
        self._task = None if task is None else weakref.ref(task)
        _INNERMOST.set(self)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End, in whatever order and wherever that is: a generator may be closed elsewhere."""
        self._is_over = True
        if _INNERMOST.get() is self:
            _INNERMOST.set(self._outer)

    def holds(self) -> bool:
        """Whether the code that asks is within the scope."""
        if self._generator is None:
            return not (self._is_over and self._is_here())
        if self._is_over:
            return False
        return not self._is_here() or self._generator in _stack(inspect.currentframe())

    def is_left(self) -> bool:
        """Whether the scope is over and holds for nobody who would ask here."""
        return self._is_over and not self.holds()

    @property
    def scope(self) -> Scope:
        """The scope itself."""
        return self

    @property
    def outer(self) -> _Link | None:
        """The scope around this one."""
        return self._outer

    def _is_here(self) -> bool:
        """Whether the scope was entered in this very task and thread, not inherited by it."""
        task = _task()
        entered = None if self._task is None else self._task()
        return task is entered and threading.get_ident() == self._thread


@dataclass(frozen=True, slots=True)
class _Carried:
    """A scope that held where a call was asked for, and holds in all that the call does."""

    scope: Scope
    outer: _Link | None

    def holds(self) -> bool:
        return True

    def is_left(self) -> bool:
        return False


_Link: TypeAlias = Scope | _Carried


def holding() -> Iterator[Scope]:
    """Yield the scopes that hold where this is asked, the innermost first."""
    link = _INNERMOST.get()
    while link is not None:
        if link.holds():
            yield link.scope
        link = link.outer


def within_scopes(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Callable[[], T]:
    """Return a call that another thread, or another stack, makes: the scopes that hold here hold there.

    The frames that ask are not to be seen there, so which generator asks is not, either.
    """
    made = partial(call, *args, **kwargs)
    if _INNERMOST.get() is None:
        return made
    outer: _Link | None = None
    for scope in reversed(tuple(holding())):
        outer = _Carried(scope, outer)
    context = copy_context()
    context.run(_INNERMOST.set, outer)
    return partial(context.run, made)


def current() -> ExchangeRecorder | None:
    """Return the turns of the innermost scope that holds where this is asked."""
    scope = next(holding(), None)
    return None if scope is None else scope.exchanges


def attribution_in(
    stream: Stream, scopes: Iterable[Scope], holder: Attribution, call: Attribution = NOBODY
) -> Attribution:
    """Return who acts in a conversation: what the nearest leaves open, the next one says.

    That is the call's own header, the scopes that are of the conversation, who holds it where the
    call is made, who holds it in those scopes, the store.
    """
    theirs = [scope for scope in scopes if scope.stream.is_same(stream)]
    attribution = call
    for scope in theirs:
        attribution = attribution.or_else(scope.attribution)
    attribution = attribution.or_else(holder)
    for scope in theirs:
        attribution = attribution.or_else(scope.stream.holder)
    return attribution.or_else(stream.default)


def _task() -> asyncio.Task[Any] | None:
    # A program without coroutines does not load asyncio, and runs no task of it.
    tasks = sys.modules.get("asyncio.tasks")
    try:
        return None if tasks is None else tasks.current_task()
    except RuntimeError:  # No event loop runs here.
        return None


def _generator_around(entered: FrameType | None) -> int | None:
    """Return which generator a scope is entered in, if it is one that somebody iterates.

    Frames are known by their `id`: holding one would keep what was dropped from being closed.
    """
    frame = None if entered is None else entered.f_back
    while frame is not None:
        driver = frame.f_back
        if _is_contextlib(frame.f_code):
            frame = driver
        elif not frame.f_code.co_flags & _GENERATOR:
            return None
        elif driver is not None and _is_contextlib(driver.f_code):
            frame = driver
        else:
            return id(frame)
    return None


def _is_contextlib(code: CodeType) -> bool:
    return code.co_filename == contextlib.__file__


def _stack(frame: FrameType | None) -> set[int]:
    """Return the frames that run now, by id."""
    running: set[int] = set()
    while frame is not None:
        running.add(id(frame))
        frame = frame.f_back
    return running
