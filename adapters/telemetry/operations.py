"""The store's own operations, as spans: where the program observes none, they cost next to nothing."""

from __future__ import annotations

from types import TracebackType
from typing import Final, Protocol, Self

from onrecord.adapters.telemetry.providers import tracer_provider


class Operation(Protocol):
    """An operation that is under way, as a scope: its end is the end of its span."""

    def __enter__(self) -> Self:
        """Begin it, as a child of the span that is active here."""
        ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End it; an error is told by its type alone, for its message may say more."""
        ...

    def at(self, version: int) -> None:
        """Say which version of the conversation it came to."""
        ...


class _Unobserved:
    """An operation that nobody observes."""

    __slots__ = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        return None

    def at(self, version: int) -> None:
        return None


_UNOBSERVED: Final = _Unobserved()


def operation(name: str, key: str) -> Operation:
    """Return the scope of an operation on the conversation of a key, by its name in `names.py`."""
    provider = tracer_provider()
    if provider is None:
        return _UNOBSERVED
    from onrecord.adapters.telemetry.spans import OperationSpan

    return OperationSpan(provider, name, key)
