"""Windows: which exchanges, or which messages, of a conversation a request keeps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from typing import Annotated, Final, Literal, assert_never

from pydantic import Field

from onrecord.domain.content import CallerValue, Role
from onrecord.domain.errors import InvalidInput
from onrecord.projections.history.history import Block, History, Turn


class Window(CallerValue):
    """Keep the last exchanges, `exchanges` of them and up to `step` - 1 more.

    The edge moves `step` exchanges at a time, so that in between each request begins with the bytes
    of the one before and the provider's cache serves it. `pinned` exchanges from the beginning stay
    whatever happens.
    """

    exchanges: Annotated[int, Field(ge=1)] = 20
    step: Annotated[int, Field(ge=1)] = 10
    pinned: Annotated[int, Field(ge=0)] = 0


class MessageWindow(CallerValue):
    """Keep the last messages, so many of them, in one of the ways of other agent frameworks.

    `message-window` drops the oldest messages, a call's results with it, until so many are left, the
    instructions counted (Camunda's). `sliding-window` keeps the last ones beside the instructions,
    without results whose calls are gone (Embabel's). Documents ride with their results and do not
    count. Both may begin amid an exchange, and move with each message: no cache survives that.
    """

    messages: int = 20
    strategy: Literal["message-window", "sliding-window"] = "message-window"


EVERYTHING: Final = 1
"""The first exchange there is: where a request without a window begins."""


def edge(closed: int, window: Window | None) -> int:
    """Return the number of the first exchange that a request keeps, after so many closed ones.

    The open exchange is kept beside the `exchanges` of the window. With `step` 10 and `exchanges`
    20: exchange 1 until 29 are closed, then 11 until 39 are, and so on. 1 where nothing is cut, and
    where the pinned exchanges reach the edge.
    """
    if window is None:
        return EVERYTHING
    surplus = closed - window.exchanges
    first = EVERYTHING + max(0, surplus - surplus % window.step)
    return EVERYTHING if first <= window.pinned + 1 else first


def exchanges_of(window: Window | MessageWindow | None) -> Window | None:
    """Return the exchanges that are to be read for a window: an exchange has a message at least."""
    if isinstance(window, MessageWindow):
        return Window(exchanges=max(1, window.messages), step=1)
    return window


# Windows by messages: the last ones of a history, as two other agent frameworks keep them.
#
# `message-window` is that of Camunda's agent connectors, `sliding-window` that of Embabel's tool
# loop; both are views, and what they leave out stays in the record. A message is what one event
# of the caller's says, one response of the model's, or all results of a round together. What the
# model said at once is one response, too, where nobody recorded of which it is. A document that
# travels on its own rides with what stands before it, and does not count.

_Kind = Literal["said", "note", "answer", "results", "document"]


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a history: blocks of one speaker that come or go together."""

    kind: _Kind
    role: Role
    blocks: tuple[Block, ...]

    @property
    def counts(self) -> bool:
        """Whether a window counts it."""
        return self.kind != "document"

    @property
    def calls(self) -> bool:
        """Whether it holds calls of the caller's tools."""
        return any(block.mark in ("call", "unawaited") for block in self.blocks)


def in_window(history: History, window: Window | MessageWindow | None) -> History:
    """Return what a window by messages keeps of a history; all of it for any other window.

    No result is kept without its call. InvalidInput for a negative number of messages.
    """
    if not isinstance(window, MessageWindow):
        return history
    if window.messages < 0:
        raise InvalidInput(f"maxMessages must not be negative (was {window.messages})")
    messages = list(messages_of(history.turns))
    instructions = 0 if history.instructions is None else 1
    match window.strategy:
        case "message-window":
            view = _without_oldest(messages, window.messages - instructions)
        case "sliding-window":
            view = _last(messages, window.messages - instructions)
        case _:
            assert_never(window.strategy)
    return history if len(view) == len(messages) else _viewed(history, _paired(view))


def messages_of(turns: Iterable[Turn]) -> Iterator[Message]:
    """Yield the messages that turns are made of, in order."""
    for turn in turns:
        for (kind, _), blocks in groupby(turn.blocks, partial(_source, turn.role)):
            yield Message(kind, turn.role, tuple(blocks))


def _source(role: Role, block: Block) -> tuple[_Kind, object]:
    """Return what kind of message a block is of, and what it shares with the rest of it."""
    if block.mark in ("result", "missing"):
        return "results", None
    if block.mark == "document" and not block.signal:
        return "document", block.place
    if role == "assistant":
        return "answer", block.response
    return "note" if block.mark == "note" else "said", block.place


def _without_oldest(messages: Sequence[Message], most: int) -> list[Message]:
    """Return messages without the oldest: calls go with their results, results with documents."""
    newest = list(messages)
    count = sum(message.counts for message in newest)
    while newest and count > most:
        oldest = newest.pop(0)
        count -= oldest.counts
        while oldest.calls and newest and newest[0].kind == "results":
            newest.pop(0)
            count -= 1
        while newest and newest[0].kind == "document":
            newest.pop(0)
    return newest


def _last(messages: Sequence[Message], most: int) -> list[Message]:
    """Return the notes and so many of the other messages, the last ones, without leading results.

    Notes count; where any other message goes, they stand before those that stay. Of notes, too, only
    those are there that stand in the exchanges that were read (`exchanges_of`).
    """
    notes = [message for message in messages if message.kind == "note"]
    others = [message for message in messages if message.kind != "note"]
    surplus = sum(message.counts for message in others) - max(0, most - len(notes))
    if surplus <= 0:
        return list(messages)
    while others and surplus > 0:
        surplus -= others.pop(0).counts
    while others and others[0].kind in ("results", "document"):
        others.pop(0)
    return [*notes, *others]


def _paired(messages: Iterable[Message]) -> Iterator[Message]:
    """Yield messages without results whose calls are gone; what is empty then is gone, too."""
    called: set[int | None] = set()
    for message in messages:
        called.update(block.call for block in message.blocks if block.mark in ("call", "unawaited"))
        if message.kind != "results":
            yield message
        elif blocks := tuple(block for block in message.blocks if block.call in called):
            yield replace(message, blocks=blocks)


def _role(message: Message) -> Role:
    return message.role


def _viewed(history: History, messages: Iterable[Message]) -> History:
    """Return a history of these of its messages alone."""
    turns = tuple(
        Turn(role, [block for message in group for block in message.blocks])
        for role, group in groupby(messages, _role)
    )
    blocks = [block for turn in turns for block in turn.blocks]
    stays = {id(block) for block in blocks}
    gone = [block for turn in history.turns for block in turn.blocks if id(block) not in stays]
    answers = {block.response for block in blocks if block.response}
    return replace(
        history,
        turns=turns,
        left_out=history.left_out + len({block.place for block in gone}),
        torn=history.torn | {block.place for block in gone if block.response in answers},
    )
