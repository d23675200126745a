"""Requests that were sent and the responses to them: what is known of each.

Requests and envelopes are long and seldom needed, so recorded ones are read only when asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple
from uuid import UUID

from pydantic_core import from_json

from onrecord.domain import jsontext
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

    def __init__(
        self,
        requests: Sequence[Item] = (),
        closings: Sequence[Item] = (),
        rules: int | None = None,
        before: int = 0,
    ) -> None:
        """Take what was sent and what closed responses, in order of version.

        `rules` is the number of the rules that held when the conversation began; None: not read.
        `before` is how many requests were sent before the first of these, and count as sent.
        """
        self._requests = requests
        self._closings = closings
        self._rules = rules
        self.before = before
        self._rules_by_request: list[int | None] | None = None
        self._by_response: dict[str, ResponseCompleted | ResponseInterrupted] | None = None
        self._by_request: dict[bytes, Item] | None = None
        self._models: dict[str, str | None] | None = None

    def of(self, response: str, asked: int) -> Response:
        """Return a response; `asked` is how many requests were sent before its first block.

        A response that names no request answers the last one that was sent before it.
        """
        return self._response(self._closing_of(response), asked)

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

    def rules_of(self, asked: int, newest: int) -> int:
        """Return the number of the rules by which a block goes; `asked` is as of `of`.

        It is that of the first request that was rendered after the block: so it goes as it went
        then. What was not sent yet goes by the newest rules, unless no request was ever rendered:
        then by those that held when the conversation began.
        """
        if newest == 1:
            return 1
        rendered = self._rules_rendered()
        later = rendered[max(0, asked - self.before) :]
        first = next((rules for rules in later if rules is not None), None)
        if first is None:
            was_rendered = any(rules is not None for rules in rendered)
            first = newest if was_rendered or self._rules is None else self._rules
        return min(first, newest)

    def _rules_rendered(self) -> list[int | None]:
        """Return the rules of each request; None for one that a program made itself."""
        if self._rules_by_request is None:
            recipes = [_plain_of(request).get("recipe") for request in self._requests]
            self._rules_by_request = [recipe and recipe.get("rules", 1) for recipe in recipes]
        return self._rules_by_request

    def model_asked(self, asked: int) -> str | None:
        """Return the model that the last of so many requests asked; None: nobody told."""
        request = self._asked_last(asked)
        return _plain_of(request).get("model") if request else None

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

    def last_of(self, api: str) -> ResponseCompleted | ResponseInterrupted | None:
        """Return how the last response ended that came through an API, whole or not."""
        closings = map(_closing, reversed(self._closings))
        return next((closing for closing in closings if closing and closing.api == api), None)

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
        if sent is None:
            sent = self._asked_last(asked)
        event = event_of(sent) if sent else None
        return Response(event if isinstance(event, RequestSent) else None, closing)

    def _closing_of(self, response: str) -> ResponseCompleted | ResponseInterrupted | None:
        if self._by_response is None:
            # Where it is the last one, no other is read.
            last = self.last().closing
            if last is not None and str(last.response) == response:
                return last
        return self._closed().get(response)

    def _asked_last(self, asked: int) -> Item | None:
        """Return the last of so many requests; None where it is none of these."""
        return self._requests[asked - self.before - 1] if asked > self.before else None

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


SAW_LESS: Final = b'{"seen":'
"""How a request on the main branch begins that saw less: the order of members is fixed (format.md)."""


def seen_by(item: Item) -> int | None:
    """Return the last version that a request of the main branch saw, if others came after it."""
    if isinstance(item, Told):
        body = item.body or b""
        is_request = item.type == "request.sent" and body.startswith(SAW_LESS)
        return int(body[len(SAW_LESS) : body.index(b",")]) if is_request else None
    event = item[1]
    return event.seen if isinstance(event, RequestSent) and event.line is None else None
