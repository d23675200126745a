"""The view `window`: the last exchanges of a conversation, read without reading the rest of it.

An entry is an exchange: a user's prompt, or a signal, and everything up to the next one. It is of
the main branch as that is by now: what was given up is not in it, nor what a summary stands for, nor
what a conversation was forked from. What is kept is a row an event, since a line may go on from
amid an exchange; a page reads those of its own exchanges and no others.

Items of a framework's session are told where its main stream holds them: a prompt among them opens an
exchange too, without a number of the log's. Branches that items themselves tell are all in it.

Counts are of what was recorded, what was redacted included; only its text is gone. What a provider
refused to answer is told as it was answered.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, cast
from uuid import UUID

from onrecord.domain.errors import InvalidContent
from onrecord.domain.header import time_of
from onrecord.projections.views.texts import members_of
from onrecord.projections.views.view import Changes, EventBatch, Row, members_in
from onrecord.projections.views.window_rows import MAIN, PROMPTS, WindowEntries, line_of


@dataclass(frozen=True, slots=True)
class Exchange:
    """A prompt and all up to the next one.

    `exchange` is the number that its prompt has in the log (0: an item is its prompt), `first_version` that prompt's version;
    `last_version` is that of the last message, call, document or end of a response in it. Times are
    in microseconds since 1970-01-01 UTC. `prompt` is what the prompt says, `answer` what the last
    response that says anything says, each up to 2,000 characters; None where that says nothing or
    was redacted. `is_closed`: another exchange follows. `key` is the conversation's.
    """

    conversation_id: UUID
    exchange: int
    first_version: int
    last_version: int
    opened_at: int
    last_at: int
    messages: int
    tool_calls: int
    documents: int
    input_tokens: int
    output_tokens: int
    prompt: str | None
    answer: str | None
    is_closed: bool
    key: str | None = None

    @property
    def opened_time(self) -> datetime:
        """Return `opened_at` as a datetime, in UTC."""
        return time_of(self.opened_at)

    @property
    def last_time(self) -> datetime:
        """Return `last_at` as a datetime, in UTC."""
        return time_of(self.last_at)


def exchange_of(row: Row) -> Exchange:
    """Return what a row of a page tells."""
    names = Exchange.__dataclass_fields__
    return Exchange(**members_in(row, names, ids=("conversation_id",), flags=("is_closed",)))


def remembered(exchanges: Iterable[Exchange]) -> list[tuple[Literal["user", "assistant"], str]]:
    """Return who said what, the oldest first, of exchanges as a page has them: the latest first."""
    messages: list[tuple[Literal["user", "assistant"], str]] = []
    for exchange in reversed(list(exchanges)):
        if not isinstance(cast("object", exchange), Exchange):
            raise InvalidContent(
                f"an exchange is an onrecord.Exchange, not {type(exchange).__name__}"
            )
        if exchange.prompt:
            messages.append(("user", exchange.prompt))
        if exchange.answer:
            messages.append(("assistant", exchange.answer))
    return messages


@dataclass(frozen=True, slots=True)
class Window:
    """The view `window`: a row an event that an exchange tells of, by conversation and version.

    Its page is of one conversation, the filter `conversation_id`, and shows the latest first; it goes
    on behind a `first_version`.
    """

    name: str = "window"
    revision: int = 2
    strict: bool = False
    types: frozenset[str] = frozenset(
        (
            *("message.recorded", "signal.received", "document.extracted"),
            *("tool_call.recorded", "server_tool_call.recorded", "tool_result.recorded"),
            *("request.sent", "response.completed", "response.interrupted"),
            *("line.adopted", "history.compacted", "content.redacted"),
            *("item.recorded", "item.withdrawn", "items.replaced", "stream.cleared"),
        )
    )
    texts: frozenset[str] = frozenset({"text"})

    def wanted(self, batch: EventBatch) -> list[Row]:
        """Return what tells whether a prompt opens an exchange, and what amended the main branch."""
        first, of = batch.events[0], {"conversation_id": str(batch.conversation_id)}
        if first.version == 1:
            return []
        keys: list[Row] = []
        # An exchange of a higher number begins here.
        if any(
            event.type in PROMPTS and event.exchange == first.exchange for event in batch.events
        ):
            keys.append({**of, "exchange": first.exchange})
        if any(event.type in _AMENDING for event in batch.events):
            keys.append({**of, "version": MAIN})
        lines = {line_of(event) for event in batch.events} - {None}
        return [*keys, *({**of, "line": line} for line in sorted(filter(None, lines)))]

    def fold(self, batch: EventBatch, known: Sequence[Row]) -> Changes:
        """Return the rows of the events, and what becomes of rows that were there before."""
        entries = WindowEntries(batch, known)
        for event in batch.events:
            if event.type not in _OF_LINES or line_of(event) is not None:
                members = members_of(event)
                if members is not None:
                    entries.take(event, members)
        return Changes(put=tuple(entries.put()))


WINDOW: Final = Window()

_AMENDING: Final = frozenset(
    {
        *("line.adopted", "history.compacted", "content.redacted"),
        *("item.withdrawn", "items.replaced", "stream.cleared"),
    }
)
_OF_LINES: Final = frozenset({"request.sent", "tool_result.recorded"})
"""What says something of side branches alone: the log itself numbers the main branch's exchanges."""
