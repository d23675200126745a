"""Attempts without a wire: what is recorded of a payload, as the recorder itself records it."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import gettempdir
from uuid import UUID

from onrecord.adapters.wire.answer import Conclusion
from onrecord.adapters.wire.blob_bytes import Scratch, pieces_of
from onrecord.adapters.wire.bodies.answer_body import LIMITS, Limits
from onrecord.adapters.wire.bodies.attempt import Attempt
from onrecord.adapters.wire.bodies.credentials import Credentials
from onrecord.adapters.wire.wires import WIRES
from onrecord.domain.encoding import VERSIONS, decode, encode, name_of
from onrecord.domain.events import Event, ResponseCompleted, ResponseInterrupted

STREAM = {"content-type": "text/event-stream"}
JSON = {"content-type": "application/json"}
CLOSING = (ResponseCompleted, ResponseInterrupted)


@dataclass(slots=True)
class Closed:
    """What an attempt was closed with."""

    recordings: list[Conclusion] = field(default_factory=list[Conclusion])

    def close(self, recording: Conclusion, failed: bool) -> None:
        self.recordings.append(recording)

    @property
    def events(self) -> list[Event]:
        """The events of the only recording, as the log gives them back."""
        [(events, _)] = self.recordings
        names = [name_of(event) for event in events]
        found = [
            decode(name, VERSIONS[name], encode(event))
            for name, event in zip(names, events, strict=True)
        ]
        return [event for event in found if isinstance(event, Event)]

    @property
    def raw(self) -> bytes | None:
        """The bytes that were kept of the wire, if any were."""
        [(events, blobs)] = self.recordings
        kept = [event.raw for event in events if isinstance(event, CLOSING) and event.raw]
        return b"".join(pieces_of(blobs[kept[0].sha256])) if kept else None


def attempted(
    api: str,
    chunks: Iterable[bytes],
    headers: dict[str, str] = STREAM,
    status: int = 200,
    *,
    limits: Limits = LIMITS,
    secrets: Iterable[str] = (),
) -> Closed:
    """What is recorded of an answer in these chunks."""
    closed = Closed()
    secret = Credentials(secrets, digest)
    scratch = Scratch(Path(gettempdir()), is_encrypted=False)
    attempt = Attempt(WIRES[api], UUID(int=1), None, lambda: secret, closed.close, scratch, limits)
    attempt.answered(status, headers)
    for chunk in chunks:
        if attempt.feed(chunk):
            attempt.finish()
        attempt.write_out()
    attempt.finish()
    return closed


def digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
