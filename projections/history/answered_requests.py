"""Requests that were sent, and how the responses to them ended: what these make of the turns.

A response that broke off keeps its finished blocks and the text of an unfinished one. One that was
refused, and one that came again for the same request, is no part of the history.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, cast
from uuid import UUID

from onrecord.domain import events
from onrecord.domain.content import Native
from onrecord.domain.events import ResponseCompleted, ResponseInterrupted, Unfinished
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.log import Told
from onrecord.projections.api import api_of
from onrecord.projections.history.history import Block
from onrecord.projections.history.report import Note
from onrecord.projections.history.responses import Item, event_of
from onrecord.projections.history.rounds import Rounds
from onrecord.projections.history.seen import SAW_LESS, seen_by

# What stays of the blocks amid which a response ended, or was cut.


def text_blocks(closing: ResponseCompleted | ResponseInterrupted) -> Iterator[Native]:
    """Yield the blocks of text that came in part."""
    for part in closing.unfinished:
        if (value := text_block(part, closing.api)) is not None:
            yield Native(api=closing.api, value=value)


def text_block(part: Unfinished, api: str) -> JsonObject | None:
    """Return the block of text that came, as far as it did; None where nothing of it may stay.

    Anthropic's own rule, which serves for all: of the blocks that did not stop, only text that is
    not empty stays.
    """
    known = api_of(api)
    partial = known.reader.partial if known else None
    return partial(part) if partial else None


def says(content: Any, member: str) -> bool:
    """Whether a text, or a member of one of the parts of a list, is not blank."""
    match content:
        case str():
            return bool(content.strip())
        case list():
            parts = [
                cast("JsonObject", part)
                for part in cast("list[Any]", content)
                if isinstance(part, dict)
            ]
            return any(says(part.get(member), "") for part in parts)
        case _:
            return False


# Members of a body have a fixed order (docs/format.md): these bytes tell without reading the JSON.
_REFUSAL: Final = b'"stop_reason":"refusal"'
_UNFINISHED: Final = b'"unfinished":['
_LIST: Final = ord("[")


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
        if body is None or body.startswith(SAW_LESS):
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
                self._complete(_version_of(item), event, at)
        self._rounds.close_response()

    def break_off(self, item: Item, event: events.ResponseInterrupted, at: UUID | None) -> None:
        """Take in that a response did not end as its API says it must."""
        self._replace_cut(event)
        self._cut = event
        self._keep_unfinished(_version_of(item), event, at)
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
            value = text_block(unfinished, event.api)
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


def _version_of(item: Item) -> int:
    return item.version if isinstance(item, Told) else item[0]
