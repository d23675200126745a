"""A streamed answer of Bedrock's ConverseStream, put together from its frames.

Our own assembly, never an SDK's: botocore drops members that its service model does not know, and
the payload of unknown events. Order and shapes: docs.aws.amazon.com, "ConverseStreamOutput".
"""

from __future__ import annotations

from typing import Any, Final, cast

from onrecord.adapters.wire.answer import Anomaly, Answer, Block, Interruption, Loss, named
from onrecord.adapters.wire.api import error_kind
from onrecord.adapters.wire.bedrock.answers import AMID_A_BLOCK, API, closed
from onrecord.adapters.wire.bedrock.blocks import OpenBlock, begun, begun_by
from onrecord.adapters.wire.eventstream import Decoder, Frame, failure_of
from onrecord.adapters.wire.nesting import read_object
from onrecord.domain.errors import MalformedJson
from onrecord.domain.events import Unfinished
from onrecord.domain.jsontext import JsonObject

_PADDING: Final = "p"
"""A member of events that hides their length, and says nothing."""

_OF_A_DELTA: Final = ("contentBlockIndex", "delta")


class ConverseStream:
    """Reads one streamed response, chunk by chunk; nothing that arrives makes it raise."""

    __slots__ = (
        "_anomalies",
        "_decoder",
        "_detail",
        "_envelope",
        "_error",
        "_interruption",
        "_is_broken",
        "_message",
        "_metered",
        "_odd",
        "_raw",
        "_stopped",
        "_unfinished",
        "_whole",
        "_writing",
    )

    def __init__(self) -> None:
        """Begin a response."""
        self._decoder = Decoder()
        self._envelope: JsonObject = {}
        self._message: JsonObject | None = None
        self._writing: dict[int, OpenBlock | None] = {}
        self._whole: dict[int, JsonObject] = {}
        self._unfinished: list[Unfinished] = []
        self._anomalies: list[Anomaly] = []
        self._odd: set[str] = set()
        self._interruption: Interruption | None = None
        self._detail: str | None = None
        self._error: Any = None
        self._is_broken = False
        self._stopped = False
        self._metered = False
        self._raw = b""

    def feed(self, chunk: bytes) -> bool:
        """Take the next bytes in; return whether the response's last event has been seen.

        These are `messageStop` and `metadata`, which counts the tokens, or an error. Once seen, it
        stays seen. A response whose `messageStop` came is whole without `metadata`.
        """
        for frame in self._decoder.feed(chunk):
            self._take(frame)
        if self._decoder.fault is not None and not self._is_broken:
            self._is_broken, self._raw = True, self._decoder.tail
            self._give_up(self._decoder.fault)
        return self._is_over

    @property
    def endings(self) -> int:
        """1 once `messageStop` came, at which readers may leave, and nothing but counts is due."""
        return int(self._stopped and not self._is_over)

    def finish(self, loss: Loss = "cut", detail: str | None = None) -> Answer:
        """Return what the response said; `loss` is why, if its last event has not been seen."""
        interruption, known = self._interruption, self._detail
        if interruption is None and not self._stopped:
            interruption, known = loss, detail or self._lost()
        elif interruption is None and self._is_amid_a_block():
            reason = named(self._envelope.get("stopReason"))
            interruption, known = "malformed", f"stopped ({reason}) with a block that is not whole"
        told = {} if self._message is None else {"output": {"message": self._message}}
        answer = Answer(
            api=API,
            blocks=tuple(Block(index, self._whole[index]) for index in sorted(self._whole)),
            envelope={**told, **self._envelope},
            unfinished=self._all_unfinished(),
            interruption=interruption,
            detail=known,
            error=self._error,
            anomalies=(*self._anomalies, *self._gaps()),
        )
        return closed(answer)

    @property
    def _is_over(self) -> bool:
        return (self._stopped and self._metered) or self._interruption == "error"

    def _take(self, frame: Frame) -> None:
        self._raw = frame.payload
        failure = failure_of(frame)
        if self._is_over:
            self._note("a frame after the last one")
        elif failure is not None:
            self._fail(failure)
        elif self._interruption is None:
            self._read(frame.text(":event-type"), frame.payload)

    def _read(self, kind: str | None, payload: bytes) -> None:
        try:
            data = read_object(payload)
        except MalformedJson as exc:
            self._give_up(f"an event cannot be read: {exc}")
            return
        data.pop(_PADDING, None)
        match kind:
            case "contentBlockDelta":
                self._delta(data)
            case "contentBlockStart":
                self._start_block(data)
            case "contentBlockStop":
                self._stop_block(data)
            case "messageStart":
                self._start(data)
            case "messageStop":
                self._stop(data)
            case "metadata":
                self._metered = True
                self._tell(data)
            case _:
                self._note(f"an event of unknown type {named(kind)}")

    def _start(self, data: JsonObject) -> None:
        if self._message is None:
            self._message = data
        elif self._whole or self._writing:
            self._give_up("a messageStart of another message")
        else:
            self._note("a second messageStart")

    def _start_block(self, data: JsonObject) -> None:
        index, start = _index(data), data.get("start")
        if index < 0 or not isinstance(start, dict | None):
            self._give_up("a contentBlockStart out of place")
        elif index in self._writing or index in self._whole:
            self._give_up("a contentBlockStart of another block at the same index")
        else:
            self._writing[index] = begun(cast("JsonObject", start or {}))
            self._look_for_more(data, "start")

    def _delta(self, data: JsonObject) -> None:
        index, delta = _index(data), data.get("delta")
        if index < 0 or index in self._whole or not isinstance(delta, dict):
            self._note("a contentBlockDelta of no open block")
            return
        for member, piece in cast("JsonObject", delta).items():
            self._grow(index, member, piece)
        if len(data) > len(_OF_A_DELTA):
            self._look_for_more(data, "delta")

    def _grow(self, index: int, member: str, piece: Any) -> None:
        block = self._writing.get(index) or begun_by(member)
        if block is None:
            self._note(f"a delta of unknown kind {named(member)}")
            return
        self._writing[index] = block
        complaint = block.add(member, piece)
        if complaint is not None:
            self._note(complaint)

    def _stop_block(self, data: JsonObject) -> None:
        index = _index(data)
        if index not in self._writing:
            self._note("a contentBlockStop of no open block")
            return
        self._look_for_more(data)
        self._close(index)

    def _close(self, index: int) -> None:
        block = self._writing.pop(index)
        if block is None:
            self._note(f"block {index} stopped without a word of its kind")
            return
        try:
            self._whole[index] = block.stop()
        except MalformedJson as exc:
            self._note(f"block {index} stopped with an input that cannot be read: {exc}")
            self._unfinished.append(block.unfinished(index))

    def _stop(self, data: JsonObject) -> None:
        if self._stopped:
            self._note("a second messageStop")
            return
        self._stopped = True
        self._tell(data)
        for index, block in list(self._writing.items()):
            if block is not None and block.may_stay_open:
                self._close(index)
        if data.get("stopReason") is None:
            self._note("a messageStop without a stop reason")

    def _tell(self, members: JsonObject) -> None:
        """Put members of the answer in; what is said twice, and not alike, stays as it was."""
        for name, value in members.items():
            if self._envelope.setdefault(name, value) != value:
                self._note(f"more than one value of {named(name)}")

    def _look_for_more(self, data: JsonObject, member: str = "") -> None:
        """Note members that nobody knows of events that make blocks: the first time is enough."""
        for name in data.keys() - {"contentBlockIndex", member} - self._odd:
            self._odd.add(name)
            self._note(f"an unknown member {named(name)} of an event")

    def _is_amid_a_block(self) -> bool:
        """Whether a block is not whole, and the reason to stop is none to stop amid one."""
        stopped_amid = self._envelope.get("stopReason") in AMID_A_BLOCK
        return bool(self._all_unfinished()) and not stopped_amid

    def _fail(self, error: JsonObject) -> None:
        self._interruption = "error"
        self._error = error
        self._detail = error_kind(error)

    def _give_up(self, why: str) -> None:
        """Keep what is known, and put nothing more in: what follows may belong elsewhere.

        What had stopped stays whole.
        """
        self._note(why)
        if not self._stopped and self._interruption is None:
            self._interruption, self._detail = "malformed", why

    def _note(self, what: str) -> None:
        self._anomalies.append(Anomaly(what, self._raw))

    def _lost(self) -> str | None:
        tail = self._decoder.tail
        return f"the last frame broke off after {len(tail)} bytes" if tail else None

    def _all_unfinished(self) -> tuple[Unfinished, ...]:
        writing = [block.unfinished(index) for index, block in self._writing.items() if block]
        return tuple(sorted([*self._unfinished, *writing], key=lambda block: block.index))

    def _gaps(self) -> list[Anomaly]:
        indexes = {*self._whole, *(block.index for block in self._all_unfinished())}
        missing = sorted(set(range(max(indexes, default=-1) + 1)) - indexes)
        return [Anomaly(f"no block at index {index}") for index in missing]


def _index(data: JsonObject) -> int:
    """Return the index that an event names; -1, where no block is, if it names none."""
    value = data.get("contentBlockIndex")
    return value if isinstance(value, int) and not isinstance(value, bool) else -1
