"""Which conversation a call is recorded in, and what becomes of a call that nothing binds."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
import os
import threading
import warnings
import weakref
from collections.abc import Mapping, MutableMapping
from contextvars import ContextVar
from dataclasses import dataclass
from types import CodeType, FrameType, TracebackType
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypeAlias, get_args

from onrecord.adapters.recording.recorder import Recorder
from onrecord.adapters.recording.spool import RecordingWarning
from onrecord.adapters.recording.tenancy import HEADER, Recorders
from onrecord.adapters.wire.clients.conversation_wire import ConversationWire
from onrecord.domain.errors import InvalidInput

if TYPE_CHECKING:
    from onrecord.adapters.wire.clients.exchange_recorder import ExchangeRecorder


OnMissing: TypeAlias = Literal["raise", "warn"]
"""What becomes of a call that is bound to no conversation."""

VARIABLE: Final = "ONRECORD_REQUIRE_RECORDING"

logger = logging.getLogger("onrecord")

_HOW: Final = (
    "it is bound to no conversation: use chat.record(client), extra_headers=chat.headers, or "
    "`with chat.recording():`"
)
_IN_THREADS: Final = (
    ", which holds in this thread only if contextvars.copy_context().run(...) took it along"
)

_changing: Final = threading.Lock()
_required: list[RequiredRecording] = []


# Whether each call to a provider has to be recorded: what becomes of one that nothing binds.
#
# Where nothing is required, a call of a client that nobody recorded passes, and one through
# `store.record(client)` has a conversation of its own. Where it is, both are refused, or warned of.


class RequiredRecording:
    """What `require_recording` asked for, until `undo()`, or the end of its `with` block."""

    def __init__(self, on_missing: OnMissing) -> None:
        """Ask that calls which nothing binds are refused, or warned of."""
        self.on_missing: OnMissing = on_missing

    def undo(self) -> None:
        """Ask for it no longer: what was asked for before holds again."""
        with _changing:
            if self in _required:
                _required.remove(self)

    def __enter__(self) -> Self:
        """Return itself: it holds already."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Undo it."""
        self.undo()


def require_recording(on_missing: OnMissing = "raise") -> RequiredRecording:
    """Require that each call to a provider's API is bound to a conversation, in this process.

    From now on a call that is bound to none is refused, before anything is sent, with an error of
    its SDK's own family (`"raise"`), or said in a `RecordingWarning` (`"warn"`). That holds for
    clients that nobody recorded as well: those of the five SDKs, and all others that speak through
    httpx2, httpx, or botocore. A call is one to a provider by its method and path, whatever its
    host. `$ONRECORD_REQUIRE_RECORDING`, raise or warn, asks for it when onrecord is imported.

    Returns what undoes it: `undo()`, or a `with` block. InvalidInput for any other word.
    """
    from onrecord.adapters.wire.clients import unrecorded, unwrapped

    if on_missing not in get_args(OnMissing):
        raise InvalidInput(f"on_missing must be `raise` or `warn`, not {on_missing!r}")
    unwrapped.heed_all()
    unrecorded.warn_of_all()
    requirement = RequiredRecording(on_missing)
    with _changing:
        _required.append(requirement)
    return requirement


def require_by_environment(environment: Mapping[str, str] = os.environ) -> None:
    """Require what `$ONRECORD_REQUIRE_RECORDING` says; InvalidInput for another word."""
    match environment.get(VARIABLE):
        case None | "":
            return
        case "raise" | "warn" as on_missing:
            require_recording(on_missing)
        case other:
            raise InvalidInput(f"{VARIABLE} must be `raise` or `warn`, not {other!r}")


def required() -> OnMissing | None:
    """Return what is asked for last; None where nothing is."""
    # Another thread may undo it meanwhile: a slice is a copy, taken at once.
    return next((requirement.on_missing for requirement in _required[-1:]), None)


def why_refused() -> str:
    """Return why a call that nothing binds is refused, and what to do."""
    is_main = threading.current_thread() is threading.main_thread()
    return _HOW if is_main else _HOW + _IN_THREADS


def say_missing(what: str = "a call") -> None:
    """Warn of a call that nothing binds."""
    text = f"{what} is not recorded, although recording is required: {why_refused()}"
    logger.warning(text)
    warnings.warn(text, RecordingWarning, stacklevel=3)


# Scopes: which conversation the calls are for that are made within a `with` block.
#
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

_GENERATOR: Final = inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR

_INNERMOST: ContextVar[Scope | None] = ContextVar("onrecord.scope", default=None)


class Scope:
    """A `with` block whose calls are one conversation's; enter each once."""

    def __init__(self, exchanges: ExchangeRecorder) -> None:
        """Have calls opened as these turns, where nothing more specific binds them."""
        self.exchanges = exchanges
        self._outer: Scope | None = None
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
    def outer(self) -> Scope | None:
        """The scope around this one."""
        return self._outer

    def _is_here(self) -> bool:
        """Whether the scope was entered in this very task and thread, not inherited by it."""
        task = _task()
        entered = None if self._task is None else self._task()
        return task is entered and threading.get_ident() == self._thread


def current() -> ExchangeRecorder | None:
    """Return the turns of the innermost scope that holds where this is asked."""
    scope = _INNERMOST.get()
    while scope is not None and not scope.holds():
        scope = scope.outer
    return None if scope is None else scope.exchanges


def _task() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
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


# Which conversation a call is recorded in: decided when it starts, from the most specific.
#
# 1. The header that `chat.headers` gives, in the call's `extra_headers`.
# 2. The conversation that the client was recorded for, with `chat.record(client)`.
# 3. The innermost scope around the call, `with chat.recording():`.
#
# A call that none of them binds has a conversation of its own, or is refused.

Unbound: TypeAlias = Literal["record", "refuse"]
"""What becomes of calls that nothing binds: a conversation of their own, or an error."""


@dataclass(frozen=True, slots=True)
class CallBinding:
    """What binds one call: what its header says, else a conversation, else nothing."""

    recorders: Recorders
    header: str | None
    recorded: ConversationWire | None
    unbound: Unbound

    def known(self) -> Recorder | None:
        """Return the recorder that the call is bound to; InvalidInput if its header is not ours."""
        if self.header is not None:
            return self.recorders.named(self.header)
        return None if self.recorded is None else self.recorded.recorder()

    def own(self) -> Recorder:
        """Return the recorder of a conversation of its own; InvalidInput where that is refused."""
        on_missing = required()
        if self.unbound == "refuse" or on_missing == "raise":
            raise InvalidInput(why_refused())
        if on_missing == "warn":
            say_missing()
        return self.recorders.unbound()


@dataclass(frozen=True, slots=True)
class Binding:
    """What binds the calls of one client: the store that records it, and the conversation, if one.

    A scope is such a binding too: of the calls of clients that nobody recorded. `after` is the
    version that the first request goes on from, where whoever makes it knows. `splice` has what was
    rendered sent as it was rendered, though the SDK spells it otherwise.
    """

    recorders: Recorders
    recorded: ConversationWire | None = None
    unbound: Unbound = "record"
    after: int | None = None
    splice: bool = False

    def of(self, headers: MutableMapping[str, str], taken_out: str | None = None) -> CallBinding:
        """Return what binds a call that starts here and now; takes our own header out of it.

        `taken_out` is that header where it was taken out before.
        """
        header = headers.pop(HEADER, None) or taken_out
        recorded = self.recorded
        if header is None and recorded is None:
            around = current()
            recorded = None if around is None else around.binding.recorded
        return CallBinding(self.recorders, header, recorded, self.unbound)

    def is_like(self, other: Binding) -> bool:
        """Whether both record the same calls in the same place."""
        if self.after is not None or other.after is not None:
            return False
        if self.recorded is None or other.recorded is None:
            return self == other
        return self.recorded.stream is other.recorded.stream and self.splice == other.splice
