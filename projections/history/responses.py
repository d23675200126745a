"""Requests that were sent and the responses to them: what is known of each, and what it makes of turns.

Requests and envelopes are long and seldom needed, so recorded ones are read only when asked for.

A response that broke off keeps its finished blocks and the text of an unfinished one. One that was
refused, and one that came again for the same request, is no part of the history.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from uuid import UUID

from pydantic_core import from_json

from onrecord.domain import events, jsontext
from onrecord.domain.content import Native
from onrecord.domain.encoding import VERSIONS, Erased, Unrecognised, encode
from onrecord.domain.events import (
    Event,
    RequestSent,
    ResponseCompleted,
    ResponseInterrupted,
)
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.log import RecordedEvent, Told
from onrecord.projections.api import partial_of
from onrecord.projections.history.history import Block, Note

if TYPE_CHECKING:
    from onrecord.projections.history.rounds import Rounds

# Recorded events as plain JSON, for folds that read many and need few members of each.
#
# A body was checked when it was recorded, so its members are taken as they stand in it. Making
# the event's model from it would cost more than all else that a fold does.


def plain_of(recorded: Told | RecordedEvent) -> JsonObject | Unrecognised | Erased:
    """Return the members of a recorded event's body, lifted to the present shape of its name.

    Members at their default are absent. Raises CorruptRecord if the bytes are not an event's.
    """
    body = recorded.body
    if body is not None and VERSIONS.get(recorded.type) == recorded.schema_version:
        try:
            plain: JsonObject | list[Any] | str | float | None = from_json(body)
            if isinstance(plain, dict):
                return plain
        except ValueError:
            # A lone surrogate is legal JSON, but not for the fast reader; all else is corrupt.
            pass
    event = recorded.event()
    return event if isinstance(event, Unrecognised | Erased) else plain_of_event(event)


def plain_of_event(event: Event) -> JsonObject:
    """Return the members that the body of an event has."""
    return jsontext.read_object(encode(event))


Item = Told | tuple[int, Event]
"""An event as a fold takes it: as the log has it, or its version and the event."""

Place = tuple[UUID | None, int]
"""Where an event is: its conversation, if that is known, and its version."""


class Response(NamedTuple):
    """One response: what was sent for it and what closed it, as far as these are known."""

    sent: RequestSent | None = None
    closing: ResponseCompleted | ResponseInterrupted | None = None

    @property
    def models(self) -> frozenset[str]:
        """The names of the model that answered: as it was asked for, and its own."""
        ends = (self.sent, self.closing)
        return frozenset(event.model for event in ends if event and event.model)

    @property
    def is_paused(self) -> bool:
        """Whether the provider wants the same turn back, to go on with it."""
        closing = self.closing
        return isinstance(closing, ResponseCompleted) and closing.stop_reason == "pause_turn"


UNKNOWN = Response()


class Responses:
    """The responses of a conversation's main branch, by id."""

    def __init__(self, requests: Sequence[Item] = (), closings: Sequence[Item] = ()) -> None:
        """Take what was sent and what closed responses, in order of version."""
        self._requests = requests
        self._closings = closings
        self._by_response: dict[str, ResponseCompleted | ResponseInterrupted] | None = None
        self._by_request: dict[bytes, Item] | None = None
        self._models: dict[str, str | None] | None = None

    def of(self, response: str, asked: int) -> Response:
        """Return a response; `asked` is how many requests were sent before its first block.

        A response that names no request answers the last one that was sent before it.
        """
        closing = self.last().closing
        if closing is None or str(closing.response) != response:
            closing = self._closed().get(response)
        return self._response(closing, asked)

    def is_of_another(self, response: str | None, asked: int, account: str | None) -> bool:
        """Whether a response was given to another account than this one; False: nobody told."""
        if response is None or account is None:
            return False
        sent = self.of(response, asked).sent
        return sent is not None and sent.account not in (None, account)

    def model_of(self, response: str) -> str | None:
        """Return the model that gave a response; None: nobody told.

        It costs a fraction of what `of` does, where a rule asks for every response.
        """
        if self._models is None:
            closings = map(_plain_of, self._closings)
            self._models = {
                closing["response"]: closing.get("model") for closing in closings if closing
            }
        return self._models.get(response)

    def model_asked(self, asked: int) -> str | None:
        """Return the model that the last of so many requests asked; None: nobody told."""
        return _plain_of(self._requests[asked - 1]).get("model") if asked else None

    def last_asked(self, api: str) -> str | None:
        """Return the model that was asked last through an API; None: nobody told."""
        requests = map(_plain_of, reversed(self._requests))
        models = (request.get("model") for request in requests if request.get("api") == api)
        return next(filter(None, models), None)

    def last_model(self, api: str) -> str | None:
        """Return the model that answered last through an API; None: nobody told."""
        closings = map(_plain_of, reversed(self._closings))
        models = (closing.get("model") for closing in closings if closing.get("api") == api)
        return next(filter(None, models), None)

    def readers(self, api: str, wished: str | None) -> frozenset[str]:
        """Return the names of the model that is to read a request: empty if nobody told.

        It is the one that is wished, or that gave the last whole answer through the API.
        """
        if wished is not None:
            return frozenset({wished})
        closing = self.last_completed(api)
        return self._response(closing, 0).models if closing else frozenset()

    def last(self) -> Response:
        """Return how the last response ended."""
        return Response(None, _closing(self._closings[-1])) if self._closings else UNKNOWN

    def last_completed(self, api: str) -> ResponseCompleted | None:
        """Return how the last response ended that came through an API and did not break off."""
        closings = map(_closing, reversed(self._closings))
        completed = (one for one in closings if isinstance(one, ResponseCompleted))
        return next((one for one in completed if one.api == api), None)

    def last_with(self, api: str, member: str) -> ResponseCompleted | None:
        """Return how the last whole response of an API ended that has such an object with it.

        `member` is a plain word, and stands in the envelope.
        """
        name = b'"%s":{' % member.encode()
        for item in reversed(self._closings):
            # Bodies are canonical: most are not read. From the end, they are searched in half the time.
            if isinstance(item, Told) and (item.body or b"").rfind(name) < 0:
                continue
            closing = _closing(item)
            if not isinstance(closing, ResponseCompleted) or closing.api != api:
                continue
            if isinstance(closing.envelope.get(member), dict):
                return closing
        return None

    def _response(
        self, closing: ResponseCompleted | ResponseInterrupted | None, asked: int
    ) -> Response:
        request = closing.request if closing else None
        sent = self._named().get(request.bytes) if request else None
        if sent is None and asked:
            sent = self._requests[asked - 1]
        event = event_of(sent) if sent else None
        return Response(event if isinstance(event, RequestSent) else None, closing)

    def _closed(self) -> dict[str, ResponseCompleted | ResponseInterrupted]:
        if self._by_response is None:
            closings = map(_closing, self._closings)
            self._by_response = {str(closing.response): closing for closing in closings if closing}
        return self._by_response

    def _named(self) -> dict[bytes, Item]:
        if self._by_request is None:
            self._by_request = {
                item.event_id: item for item in self._requests if isinstance(item, Told)
            }
        return self._by_request


def event_of(item: Item) -> Event | Unrecognised | Erased:
    """Return what happened."""
    return item.event() if isinstance(item, Told) else item[1]


def place_of(item: Item) -> Place:
    """Return where an event is."""
    return (item.conversation_id, item.version) if isinstance(item, Told) else (None, item[0])


def _plain_of(item: Item) -> JsonObject:
    """Return the members of an event; none where it cannot be read."""
    plain = plain_of(item) if isinstance(item, Told) else plain_of_event(item[1])
    return plain if isinstance(plain, dict) else {}


def _closing(item: Item) -> ResponseCompleted | ResponseInterrupted | None:
    event = event_of(item)
    return event if isinstance(event, ResponseCompleted | ResponseInterrupted) else None


# What stays of the blocks amid which a response ended, or was cut.


def text_blocks(closing: ResponseCompleted | ResponseInterrupted) -> Iterator[Native]:
    """Yield the blocks of text that came in part."""
    for part in closing.unfinished:
        if (value := partial_of(closing.api, part)) is not None:
            yield Native(api=closing.api, value=value)


# Members of a body have a fixed order (docs/format.md): these bytes tell without reading the JSON.
# A request on the main branch that saw less begins so.
_SAW_LESS: Final = b'{"seen":'
_REFUSAL: Final = b'"stop_reason":"refusal"'
_UNFINISHED: Final = b'"unfinished":['
_LIST: Final = ord("[")


def seen_by(item: Item) -> int | None:
    """Return the last version that a request of the main branch saw, if others came after it."""
    if isinstance(item, Told):
        body = item.body or b""
        is_request = item.type == "request.sent" and body.startswith(_SAW_LESS)
        return int(body[len(_SAW_LESS) : body.index(b",")]) if is_request else None
    event = item[1]
    return event.seen if isinstance(event, RequestSent) and event.line is None else None


class Answers:
    """The requests so far and the ends of their responses; `saw_less` that one had not seen all.

    That it is there matters of either, seldom what it says: it is read where it does.
    """

    def __init__(self, rounds: Rounds, notes: list[Note]) -> None:
        """Tell the rounds what was asked and answered, and note what is left out of an answer."""
        self.saw_less = False
        self.requests: list[Item] = []
        self.closings: list[Item] = []
        self._rounds = rounds
        self._notes = notes
        self._cut: events.ResponseInterrupted | None = None

    def ask(self, item: Item, body: bytes | None) -> None:
        """Take in a request; `body` is searched for what matters, None: the event may say so."""
        if body is None or body.startswith(_SAW_LESS):
            self.saw_less = self.saw_less or seen_by(item) is not None
        self._rounds.ask()
        self.requests.append(item)
        self._cut = None

    def complete(self, item: Item, body: bytes | None, at: UUID | None) -> None:
        """Take in the end of a response; `body` as of a request, `at` is its conversation."""
        self.closings.append(item)
        if self._cut or self._rounds.awaits_pause or _may_matter(body):
            event = event_of(item)
            if isinstance(event, events.ResponseCompleted):
                self._replace_cut(event)
                self._complete(place_of(item)[1], event, at)
        self._rounds.close_response()

    def break_off(self, item: Item, event: events.ResponseInterrupted, at: UUID | None) -> None:
        """Take in that a response did not end as its API says it must."""
        self._replace_cut(event)
        self._cut = event
        self._keep_unfinished(place_of(item)[1], event, at)
        self.closings.append(item)
        self._rounds.close_response()

    def _complete(self, version: int, event: events.ResponseCompleted, at: UUID | None) -> None:
        self._keep_unfinished(version, event, at)
        if event.stop_reason == "pause_turn":
            self._rounds.pause(str(event.response))
        elif event.stop_reason == "refusal":
            self._rounds.take_back(str(event.response), "refused", "the response was refused")

    def _replace_cut(self, event: events.ResponseCompleted | events.ResponseInterrupted) -> None:
        """Leave out what came before of a response to the same request: now it came again."""
        cut, self._cut = self._cut, None
        if cut is not None and cut.request is not None and cut.request == event.request:
            why = "the same request was answered again"
            self._rounds.take_back(str(cut.response), "again", why)

    def _keep_unfinished(
        self,
        version: int,
        event: events.ResponseCompleted | events.ResponseInterrupted,
        at: UUID | None,
    ) -> None:
        """Keep what may stay of the blocks amid which a response ended."""
        for unfinished in event.unfinished:
            value = partial_of(event.api, unfinished)
            if value and self._rounds.can_break_off():
                content = {"kind": "native", "api": event.api, "value": value}
                request_count = len(self.requests)
                self._rounds.speak(
                    Block(version, at, content, True, str(event.response), request_count)
                )
            else:
                kind = unfinished.value.get("type", "block")
                why = f"the {kind} did not arrive whole"
                self._notes.append(Note("left out", "unfinished", version, why))


def _may_matter(body: bytes | None) -> bool:
    """Whether the end of a response may change what its turn is."""
    # Words that are not there are missed in half the time from the end.
    if body is None or body.rfind(_REFUSAL) >= 0:
        return True
    # Few ends hold a list, and one byte is found in a tenth of the time.
    return _LIST in body and body.rfind(_UNFINISHED) >= 0
