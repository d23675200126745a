"""What requests and the ends of their responses make of the rounds."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from onrecord.domain.events import ResponseCompleted, ResponseInterrupted
from onrecord.projections.api import partial_of
from onrecord.projections.history.history import Block, Note
from onrecord.projections.history.responses import (
    SAW_LESS,
    Item,
    Responses,
    event_of,
    place_of,
    seen_by,
)
from onrecord.projections.history.rounds import Rounds

# Members of a body have a fixed order (docs/format.md): these bytes tell without reading the JSON.

_REFUSAL: Final = b'"stop_reason":"refusal"'
_UNFINISHED: Final = b'"unfinished":['
_LIST: Final = ord("[")


class Answers:
    """The requests so far and the ends of their responses; `saw_less` that one had not seen all.

    That it is there matters of either, seldom what it says: it is read where it does.
    """

    def __init__(self, rounds: Rounds, notes: list[Note]) -> None:
        """Tell the rounds what was asked and answered, and note what is left out of an answer.

        `asked` and `closed` count the requests and the ends of answers so far.
        """
        self.saw_less = False
        self.asked = 0
        self.closed = 0
        self._requests: list[Item] = []
        self._closings: list[Item] = []
        self._rounds = rounds
        self._notes = notes
        self._cut: ResponseInterrupted | None = None

    def ask(self, item: Item, body: bytes | None) -> None:
        """Take in a request; its `body` tells whether it may have seen less, None that it may."""
        if body is None or body.startswith(SAW_LESS):
            self.saw_less = self.saw_less or seen_by(item) is not None
        self._rounds.ask()
        self._requests.append(item)
        self.asked += 1
        self._cut = None

    def complete(self, item: Item, body: bytes | None, at: UUID | None) -> None:
        """Take in the end of a response, of the conversation `at`.

        `body` is searched for what matters; None: the event may say it.
        """
        self._close(item)
        if self._cut or self._rounds.awaits_pause or _may_matter(body):
            event = event_of(item)
            if isinstance(event, ResponseCompleted):
                self._replace_cut(event)
                self._complete(place_of(item)[1], event, at)
        self._rounds.close_response()

    def break_off(self, item: Item, event: ResponseInterrupted, at: UUID | None) -> None:
        """Take in that a response did not end as its API says it must."""
        self._replace_cut(event)
        self._cut = event
        self._keep_unfinished(place_of(item)[1], event, at)
        self._close(item)
        self._rounds.close_response()

    @property
    def is_settled(self) -> bool:
        """Whether no response broke off that may come again."""
        return self._cut is None

    def begin_at(self, asked: int, closed: int) -> None:
        """Go on as if so many requests and ends of answers had not been there."""
        del self._requests[: asked - self.asked + len(self._requests)]
        del self._closings[: closed - self.closed + len(self._closings)]

    def responses(self, rules: int | None) -> Responses:
        """Return the responses so far; `rules` are those that held when the conversation began."""
        before = self.asked - len(self._requests)
        return Responses([*self._requests], [*self._closings], rules, before)

    def _close(self, item: Item) -> None:
        self._closings.append(item)
        self.closed += 1

    def _complete(self, version: int, event: ResponseCompleted, at: UUID | None) -> None:
        self._keep_unfinished(version, event, at)
        if event.stop_reason == "pause_turn":
            self._rounds.pause(str(event.response))
        elif event.stop_reason == "refusal":
            self._rounds.take_back(str(event.response), "refused", "the response was refused")

    def _replace_cut(self, event: ResponseCompleted | ResponseInterrupted) -> None:
        """Leave out what came before of a response to the same request: now it came again."""
        cut, self._cut = self._cut, None
        if cut is not None and cut.request is not None and cut.request == event.request:
            why = "the same request was answered again"
            self._rounds.take_back(str(cut.response), "again", why)

    def _keep_unfinished(
        self, version: int, event: ResponseCompleted | ResponseInterrupted, at: UUID | None
    ) -> None:
        """Keep what may stay of the blocks amid which a response ended."""
        for unfinished in event.unfinished:
            value = partial_of(event.api, unfinished)
            if value and self._rounds.can_break_off():
                content = {"kind": "native", "api": event.api, "value": value}
                request_count = self.asked
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
