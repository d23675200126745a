"""A streamed answer of OpenAI's Responses API, put together from its bytes.

Our own assembly: the SDK raises where ids change amid a stream, and says nothing where the final
response leaves out what was streamed. Order and shapes of events: the OpenAPI description of
OpenAI's API, "ResponseStreamEvent".
"""

from __future__ import annotations

from typing import Any, Final, cast

from onrecord.adapters.wire.answer import Anomaly, Answer, Loss, named
from onrecord.adapters.wire.openai_responses.answers import (
    API,
    closed,
    ended,
    envelope_of,
    error_code,
    taken_back,
)
from onrecord.adapters.wire.openai_responses.items import Items
from onrecord.adapters.wire.openai_responses.pieces import is_about_an_item
from onrecord.adapters.wire.stream_reader import DONE, EventReader, ServerSentEvent
from onrecord.domain.jsontext import JsonObject

_LAST: Final = {
    "response.completed": "completed",
    "response.incomplete": "incomplete",
    "response.failed": "failed",
    "response.cancelled": "cancelled",
}
_BEFORE: Final = frozenset({"response.created", "response.in_progress", "response.queued"})
_MEMBERS: Final = frozenset(
    {
        *("type", "sequence_number", "output_index", "item_id", "obfuscation", "stream_id"),
        *("content_index", "summary_index", "command_index", "annotation_index"),
        *("response", "item", "part", "annotation", "delta", "logprobs", "status", "output"),
        *("text", "refusal", "arguments", "name", "input", "code", "diff", "command"),
        *("partial_image_index", "partial_image_b64"),
        *("size", "quality", "background", "output_format"),
    }
)
"""What events hold: items say it, but for places, padding and pictures that others replace."""


class ResponseStream(EventReader):
    """Reads one streamed response; its last event is that of the final response, or `error`."""

    __slots__ = (*("_envelope", "_items", "_number", "_skipped", "_status", "_taken_back"),)

    def __init__(self) -> None:
        """Begin a response."""
        super().__init__()
        self._items = Items()
        self._envelope: JsonObject = {}
        self._taken_back: JsonObject = {}
        self._status: str | None = None
        self._number: int | None = None
        self._skipped = 0

    def finish(self, loss: Loss = "cut", detail: str | None = None) -> Answer:
        """Return what the response said; `loss` is why, if its last event has not been seen."""
        ending = self._ending(loss, detail or self._broken_off())
        if ending[0] is None and not self._items.are_whole() and self._status == "completed":
            ending = "malformed", "completed with an item that is not whole"
        odd = self._left_over() if ending[0] is None else []
        answer = self._answer(API, self._envelope, ending, *self._numbering(), *odd)
        return closed(self._items.brought_together(answer, self._taken_back))

    def _take(self, event: ServerSentEvent) -> None:
        if event.data == DONE:
            return
        data = self._read(event.data)
        if data is None:
            # Items stand for themselves, so the others can be taken in.
            self._over = self._over or event.name in _LAST or event.name == "error"
            return
        kind = data.setdefault("type", event.name)
        self._count(data.get("sequence_number"))
        if self._over and not self._explains(kind):
            self._note(f"an event of type {named(kind)} after the last one")
        else:
            self._follow(kind, data)

    def _follow(self, kind: object, data: JsonObject) -> None:
        match kind:
            case "response.output_item.added":
                self._note_odd(self._items.begin(data))
            case "response.output_item.done":
                self._note_odd(self._items.finish(data))
            case "error":
                self._fail(data.get("error") or data)
            case str() if kind in _LAST:
                self._end(kind, data)
            case str() if kind in _BEFORE:
                if self._respond(data).get("output"):
                    self._note(f"a {kind} with output, which its end should bring")
            case str() if is_about_an_item(kind) and self._items.tell(data):
                pass
            case _:
                self._note(f"an event of unknown type or item: {named(kind)}")
                return
        if kind != "error":
            self._look_for_more(data, _MEMBERS)

    def _respond(self, data: JsonObject) -> JsonObject:
        """Take in what is known of the response; what comes later replaces it."""
        response = data.get("response")
        if not isinstance(response, dict):
            self._note("an event of a response without one")
            return {}
        known = cast("JsonObject", response)
        for name, value in taken_back(self._envelope, envelope_of(known)).items():
            if self._taken_back.setdefault(name, value) != value:
                self._note(f"the response's {named(name)} changes again")
        if self._envelope.get("id", known.get("id")) != known.get("id"):
            self._note("the response's id changes amid the stream", b"")
        self._envelope = envelope_of(known)
        return known

    def _end(self, kind: str, data: JsonObject) -> None:
        self._status = _LAST[kind]
        response = self._respond(data)
        if not response and self._interruption is None:
            self._interruption, self._detail = "malformed", f"a {kind} without its response"
        for odd in self._items.conclude(response.get("output")):
            self._note(odd, b"")
        interruption, detail = ended(self._status, self._envelope)
        if interruption is not None and self._interruption in (None, interruption):
            self._interruption, self._detail = interruption, self._detail or detail
        if interruption == "error":
            self._error = self._error or self._envelope.get("error")
        self._over = True

    def _fail(self, error: Any) -> None:
        super()._fail(error)
        self._detail = error_code(error)

    def _explains(self, kind: object) -> bool:
        """Whether an event after an error is the failed response that it is the error of."""
        return kind == "response.failed" and self._interruption == "error" and not self._status

    def _count(self, number: object) -> None:
        """Follow the numbers of events; a stream may begin at any, where it goes on."""
        if not isinstance(number, int) or isinstance(number, bool):
            return
        if self._number is not None and number != self._number + 1:
            self._skipped += 1
        self._number = number

    def _numbering(self) -> list[Anomaly]:
        if not self._skipped:
            return []
        return [Anomaly(f"the numbers of events do not follow in {self._skipped} places")]

    def _note_odd(self, what: str | None) -> None:
        if what is not None:
            self._note(what)
