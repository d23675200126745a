"""Windows: which exchanges of a conversation a request keeps."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field

from onrecord.domain.content import Value


class Window(Value):
    """Keep the last exchanges, `exchanges` of them and up to `step` - 1 more.

    The edge moves `step` exchanges at a time, so that in between each request begins with the bytes
    of the one before and the provider's cache serves it. `pinned` exchanges from the beginning stay
    whatever happens.
    """

    exchanges: Annotated[int, Field(ge=1)] = 20
    step: Annotated[int, Field(ge=1)] = 10
    pinned: Annotated[int, Field(ge=0)] = 0


class MessageWindow(Value):
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
