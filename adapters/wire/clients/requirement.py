"""Whether each call to a provider has to be recorded: what becomes of one that nothing binds.

Where nothing is required, a call of a client that nobody recorded passes, and one through
`store.record(client)` has a conversation of its own. Where it is, both are refused, or warned of.
"""

from __future__ import annotations

import logging
import os
import threading
import warnings
from collections.abc import Mapping
from types import TracebackType
from typing import Final, Literal, Self, TypeAlias, get_args

from onrecord.adapters.recording.spool import RecordingWarning
from onrecord.domain.errors import InvalidInput

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
