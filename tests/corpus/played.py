"""Recordings played to the recorder, call by call, as they went over the wire."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast
from urllib.parse import unquote

from onrecord.adapters.conversation.conversation import Conversation, stream_of
from onrecord.adapters.streams.event_reading import events_in
from onrecord.adapters.wire.bodies.attempt import AnswerRecorder
from onrecord.adapters.wire.clients.exchange_recorder import ExchangeRecorder
from onrecord.adapters.wire.clients.sending import Sending
from onrecord.adapters.wire.requests import WireRequest
from onrecord.adapters.wire.wires import WIRES
from onrecord.domain.blobs import referenced, restore
from onrecord.domain.content import Native, Text
from onrecord.domain.events import Event, InstructionsSet, RequestSent
from onrecord.domain.log import Backend, RecordedEvent
from tests.adapters.recorded_calls import Recorded, known
from tests.corpus.interactions import Call
from tests.corpus.wire import JsonObject


@dataclass(frozen=True, slots=True)
class Step:
    """A turn, and what was recorded of it before it went out: `said` anew, and the request."""

    call: Call
    sent: WireRequest
    said: tuple[Event, ...]
    request: RequestSent
    version: int

    @property
    def relation(self) -> str:
        """How it goes on, and `aside` if it is on a side branch."""
        return f"{self.request.relation}{'' if self.request.line is None else ' aside'}"


@dataclass(frozen=True, slots=True)
class Played:
    """What came of a file: its turns in order, and the conversation that they are recorded in."""

    chat: Conversation
    steps: tuple[Step, ...]

    def history(self) -> Iterator[RecordedEvent]:
        """The events of the main branch."""
        for segment in stream_of(self.chat).lineage(self.chat.head().version):
            told = events_in(stream_of(self.chat).backend, segment)
            yield from (event for event in told if known(event).line == segment.line)

    def blocks(self, event: Event) -> list[JsonObject]:
        """The API's own blocks of an event, with what was moved to blobs in its place."""
        return [self._block(held) for held in _held(event)]

    def _block(self, held: object) -> JsonObject:
        match held:
            case Native(value=value):
                blobs = {blob.sha256: self.chat.blob(blob) for blob in referenced(value)}
                block: JsonObject = restore(value, blobs)
                return block
            case Text(text=text):
                return {"type": "text", "text": text}
            case _:
                raise AssertionError(f"{held} is no block")

    def events(self) -> list[Event]:
        return [known(recorded) for recorded in self.chat.events(after=0)]


def play(calls: Iterable[Call], folder: Path, backend: Backend | None = None) -> Played:
    """Play calls to a conversation of their own, in memory if there is no other store."""
    recorded = Recorded(folder, backend)
    turns = ExchangeRecorder(recorded.binding)
    return Played(recorded.chat, tuple(_steps(calls, recorded.chat, turns)))


def _steps(calls: Iterable[Call], chat: Conversation, turns: ExchangeRecorder) -> Iterator[Step]:
    for call in calls:
        version = chat.head().version
        attempt = _asked(call, turns)
        if attempt is None:
            continue
        if call.api:
            *said, request = [known(recorded) for recorded in chat.events(after=version)]
            assert isinstance(request, RequestSent)
            sent = WIRES[call.api].read_request(call.request, unquote(call.path))
            yield Step(call, sent, tuple(said), request, chat.head().version)
        attempt.answered(call.status, {"content-type": call.content_type})
        attempt.feed(call.answer)
        attempt.finish()


def _asked(call: Call, turns: ExchangeRecorder) -> AnswerRecorder | None:
    """What reads the answer; None where it is none of a turn."""
    sending = Sending(call.method, call.target, {})
    # An upload goes to the recorder only if its form has the requests of a batch; none here does.
    if not sending.is_recorded or sending.kind == "upload":
        return None
    return turns.attempt(turns.binding.of({}), sending, call.request)


def _held(event: Event) -> tuple[object, ...]:
    content: object = () if isinstance(event, InstructionsSet) else getattr(event, "content", ())
    return cast("tuple[object, ...]", content) if isinstance(content, tuple) else (content,)
