"""How a request was made, in words: its window, its model and its other options; pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from onrecord.domain.errors import counted
from onrecord.projections.apis.request import Options
from onrecord.projections.history.windows import MessageWindow, Window


@dataclass(frozen=True, slots=True)
class Difference:
    """How two requests are made otherwise, in words: only what is not the same of both."""

    sent: str
    chosen: str


def difference(sent: Options, chosen: Options) -> Difference | None:
    """Return how a request that is chosen is made otherwise than one that was sent; None where it is not."""
    one = (f"for {sent.api}", *_words(sent))
    other = [f"for {chosen.api}", *_words(chosen)]
    if sent.model is not None and chosen.model is None:
        other.append("for the model that answered before")
    of_sent = ", ".join(each for each in one if each not in other)
    of_chosen = ", ".join(each for each in other if each not in one)
    return Difference(of_sent, of_chosen) if of_sent or of_chosen else None


def option_words(options: Options) -> tuple[str, ...]:
    """Return what a request was made with, a piece of a sentence for each option that counts."""
    return tuple(_words(options))


def _words(options: Options) -> Iterator[str]:
    yield window_words(options.window)
    if options.model is not None:
        yield f"for the model {options.model}"
    if options.thinking == "drop":
        yield "without signed reasoning"
    if options.cache:
        yield "with cache marks"
    if options.missing == "drop":
        yield "without calls that have no result"
    if options.missing == "refuse":
        yield "only if each call has its result"
    if options.tags != "short-id":
        yield f"with documents marked as {options.tags}"
    if options.capabilities is not None:
        yield "with the program's own rules on which documents the model takes"
    if options.matrix is not None:
        yield "with the store's own rules on which documents models take"


def window_words(window: Window | MessageWindow | None) -> str:
    """Return which part of a conversation a window keeps."""
    match window:
        case None:
            return "without a window"
        case MessageWindow():
            return (
                f"in a window of the last {counted(window.messages, 'message')} ({window.strategy})"
            )
        case Window():
            return "".join(_exchange_words(window))


def _exchange_words(window: Window) -> Iterator[str]:
    last = "exchange" if window.exchanges == 1 else counted(window.exchanges, "exchange")
    yield f"in a window of the last {last} and the open one"
    if window.step > 1:
        yield f" (its edge moves {counted(window.step, 'exchange')} at a time)"
    if window.pinned:
        first = "exchange" if window.pinned == 1 else counted(window.pinned, "exchange")
        yield f" and the first {first}"
