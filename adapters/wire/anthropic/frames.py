"""A streamed answer of Anthropic's Messages API as Bedrock brings it: its events in frames.

Each frame of type `chunk` holds the JSON of one event, in base64 (docs.aws.amazon.com,
"ResponseStream", "PayloadPart"); its other members hide its length.
"""

from __future__ import annotations

import base64
import binascii

from onrecord.adapters.wire.answer import Answer, Loss
from onrecord.adapters.wire.anthropic.stream import MessageStream
from onrecord.adapters.wire.bodies.eventstream import Decoder, Frame, failure_of
from onrecord.adapters.wire.bodies.sse import ServerSentEvent
from onrecord.adapters.wire.nesting import read_object
from onrecord.domain import jsontext
from onrecord.domain.errors import MalformedJson


class FramedMessageStream:
    """Reads one streamed response, chunk by chunk; nothing that arrives makes it raise."""

    __slots__ = ("_frames", "_is_given_up", "_message", "_over")

    def __init__(self) -> None:
        """Begin a response."""
        self._frames = Decoder()
        self._message = MessageStream()
        self._is_given_up = False
        self._over = False

    def feed(self, chunk: bytes) -> bool:
        """Take the next bytes in; return whether the response's last event has been seen."""
        for frame in self._frames.feed(chunk):
            self._take(frame)
        if self._frames.fault is not None and not self._is_given_up:
            self._is_given_up = True
            self._message.give_up(self._frames.fault, self._frames.tail)
        return self._over

    def finish(self, loss: Loss = "cut", detail: str | None = None) -> Answer:
        """Return what the response said; `loss` is why, if its last event has not been seen."""
        tail = self._frames.tail
        lost = f"the last frame broke off after {len(tail)} bytes" if tail else None
        return self._message.finish(loss, detail or lost)

    def _take(self, frame: Frame) -> None:
        failure = failure_of(frame)
        if failure is not None:
            told = jsontext.write({"type": "error", "error": failure})
            self._over = self._message.take(ServerSentEvent("error", told))
            return
        data, kind = event_in(frame), frame.text(":event-type")
        if data is None and kind == "chunk":
            self._message.give_up("a chunk without an event", frame.payload)
        else:
            told = frame.payload if data is None else data
            self._over = self._message.take(ServerSentEvent(kind or "", told))


def event_in(frame: Frame) -> bytes | None:
    """Return the event that a frame holds; None where it holds none."""
    try:
        held = read_object(frame.payload).get("bytes")
        return base64.b64decode(held, validate=True) if isinstance(held, str) else None
    except (MalformedJson, binascii.Error, ValueError):
        return None
