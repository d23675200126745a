"""Which conversation a call is recorded in, and what becomes of a call that nothing binds."""

from __future__ import annotations

import logging
import os
import threading
import warnings
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Literal, Self, TypeAlias, get_args

from onrecord.adapters.recording.recorder import Recorder
from onrecord.adapters.recording.spool import RecordingWarning
from onrecord.adapters.recording.tenancy import HEADER, Recorders
from onrecord.adapters.streams.scopes import Scope, attribution_in, holding
from onrecord.adapters.telemetry.tracing import current_trace, trace_in
from onrecord.adapters.wire.clients.conversation_wire import ConversationWire
from onrecord.domain.errors import InvalidInput
from onrecord.domain.new_events import NOBODY, Attribution, Trace

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
    """What binds one call: what its header says, else a conversation, else nothing.

    `scopes` are those that the call is made in, the innermost first, `trace` is the program's. `caller`
    is who acts where nothing nearer says so.
    """

    recorders: Recorders
    header: str | None
    recorded: ConversationWire | None
    unbound: Unbound
    scopes: tuple[Scope, ...] = ()
    trace: Trace | None = None
    caller: Attribution = NOBODY

    def known(self) -> Recorder | None:
        """Return the recorder that the call is bound to; InvalidInput if its header is not ours."""
        if self.header is not None:
            return self.recorders.named(self.header)
        return None if self.recorded is None else self.recorded.recorder()

    def attribution(self, recorder: Recorder, traceparent: str | None = None) -> Attribution:
        """Return who made the call that a recorder takes, as `attribution_in` says.

        `traceparent` is the call's own header of that name, if it has one.
        """
        stream = recorder.stream
        call = NOBODY if self.header is None else self.recorders.attribution(self.header)
        recorded, holder = self.recorded, NOBODY
        if recorded is not None and recorded.stream.is_same(stream):
            holder = recorded.stream.holder
        who = attribution_in(stream, self.scopes, holder.or_else(self.caller), call)
        return who.traced(trace_in(traceparent) or self.trace)

    def unbound_recorder(self) -> Recorder:
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
        recorded, scopes = self.recorded, tuple(holding())
        if header is None and recorded is None and scopes:
            recorded = scopes[0].exchanges.binding.recorded
        # Now: what records it may run in another thread, and what answers it later.
        trace = current_trace()
        return CallBinding(self.recorders, header, recorded, self.unbound, scopes, trace)

    def is_like(self, other: Binding) -> bool:
        """Whether both record the same calls in the same place."""
        if self.after is not None or other.after is not None:
            return False
        if self.recorded is None or other.recorded is None:
            return self == other
        return self.recorded.stream is other.recorded.stream and self.splice == other.splice
