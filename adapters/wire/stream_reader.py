"""What the readers of streamed answers share: how an answer ends, what is odd, blocks by index."""

from __future__ import annotations

from typing import Any, Generic, Protocol, TypeVar

from onrecord.adapters.wire.answer import Anomaly, Answer, Interruption, Loss
from onrecord.adapters.wire.api import error_kind
from onrecord.adapters.wire.blocks import Block
from onrecord.domain.errors import MalformedJson
from onrecord.domain.events import Unfinished
from onrecord.domain.jsontext import JsonObject, read_bounded_object

Otherwise = TypeVar("Otherwise", int, None)


class StreamReader:
    """What is known of an answer while it arrives, beside what it says.

    `_over` says that its last event was seen; `_raw` is what arrived last, which anomalies keep.
    """

    __slots__ = ("_anomalies", "_detail", "_error", "_interruption", "_over", "_raw")

    def __init__(self) -> None:
        """Begin an answer."""
        self._anomalies: list[Anomaly] = []
        self._interruption: Interruption | None = None
        self._detail: str | None = None
        self._error: Any = None
        self._over = False
        self._raw = b""

    def _read(self, data: bytes, what: str = "an event") -> JsonObject | None:
        """Return the object of an event; what cannot be read makes the answer given up."""
        self._raw = data
        try:
            return read_bounded_object(data)
        except MalformedJson as exc:
            self._give_up(f"{what} cannot be read: {exc}")
            return None

    def _note(self, what: str, raw: bytes | None = None) -> None:
        self._anomalies.append(Anomaly(what, self._raw if raw is None else raw))

    def _give_up(self, why: str, raw: bytes | None = None) -> None:
        """Keep what is known, and put nothing more in: what follows may belong elsewhere.

        What was over, or given up, stays as it was.
        """
        self._note(why, raw)
        if self._interruption is None and not self._over:
            self._interruption, self._detail = "malformed", why

    def _fail(self, error: Any) -> None:
        """Take in what went wrong at the service: nothing follows."""
        self._over = True
        self._interruption = "error"
        self._error = error
        self._detail = error_kind(error)

    def _ending(self, loss: Loss, detail: str | None) -> tuple[Interruption | None, str | None]:
        """Return why the answer is not whole, if it is not; `loss` is why no more comes."""
        if self._interruption is None and not self._over:
            return loss, detail
        return self._interruption, self._detail

    def _answer(
        self,
        api: str,
        envelope: JsonObject,
        ending: tuple[Interruption | None, str | None],
        *anomalies: Anomaly,
    ) -> Answer:
        """Return an answer without its blocks."""
        return Answer(
            api=api,
            envelope=envelope,
            interruption=ending[0],
            detail=ending[1],
            error=self._error,
            anomalies=(*self._anomalies, *anomalies),
        )


def broken_off(what: str, tail: bytes) -> str | None:
    """Return what is to be said of bytes that no whole event came of."""
    return f"the last {what} broke off after {len(tail)} bytes" if tail else None


def index_or(value: object, otherwise: Otherwise) -> int | Otherwise:
    """Return a value that is an index; another where it is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) else otherwise


class OpenBlock(Protocol):
    """A block that has begun and not yet stopped."""

    def stop(self) -> JsonObject:
        """Return the whole block; MalformedJson where its input is not JSON that can be kept."""
        ...

    def unfinished(self, index: int) -> Unfinished:
        """Return what is known of a block that did not arrive whole."""
        ...


Opened = TypeVar("Opened", bound=OpenBlock)


class BlocksByIndex(Generic[Opened]):
    """The blocks of an answer by their indexes: those that are open, and those that came whole.

    An open one of which nothing is known, not even its kind, is None.
    """

    __slots__ = ("_broken", "open", "whole")

    def __init__(self) -> None:
        """Begin with no block."""
        self.open: dict[int, Opened | None] = {}
        self.whole: dict[int, JsonObject] = {}
        self._broken: list[Unfinished] = []

    def is_taken(self, index: int) -> bool:
        """Whether there is a block at an index."""
        return index in self.open or index in self.whole

    def stop(self, index: int) -> str | None:
        """Close an open block; return what is odd about it."""
        block = self.open.pop(index)
        if block is None:
            return f"block {index} stopped without a word of its kind"
        try:
            self.whole[index] = block.stop()
        except MalformedJson as exc:
            self._broken.append(block.unfinished(index))
            return f"block {index} stopped with an input that cannot be read: {exc}"
        return None

    def blocks(self) -> tuple[Block, ...]:
        """Return the blocks that came whole, in order."""
        return tuple(Block(index, self.whole[index]) for index in sorted(self.whole))

    def unfinished(self) -> tuple[Unfinished, ...]:
        """Return the others, in order."""
        still = [block.unfinished(index) for index, block in self.open.items() if block]
        return tuple(sorted([*self._broken, *still], key=lambda block: block.index))

    def gaps(self) -> list[Anomaly]:
        """Return what is to be said of indexes below the last at which no block is."""
        indexes = {*self.whole, *(block.index for block in self.unfinished())}
        missing = sorted(set(range(max(indexes, default=-1) + 1)) - indexes)
        return [Anomaly(f"no block at index {index}") for index in missing]
