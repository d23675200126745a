"""The answers of Ollama's chat API, read from the bytes of a JSON body."""

from __future__ import annotations

from onrecord.adapters.capture.answer import Answer, Loss
from onrecord.adapters.capture.ollama_stream import ChatStream


def read_body(body: bytes, loss: Loss = "malformed", detail: str | None = None) -> Answer:
    """Return what a whole JSON body said; `loss` is why, if it is not whole. Never raises.

    A body is a stream of one line; a proxy that does not name a stream sends several.
    """
    stream = ChatStream()
    stream.feed(body)
    return stream.finish(loss, detail)
