"""Windows: which exchanges of a conversation a request keeps."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

from hansard.domain.content import Value


class Window(Value):
    """Keep the last exchanges, `exchanges` of them and up to `step` - 1 more.

    The edge moves `step` exchanges at a time, so that in between each request begins with the bytes
    of the one before and the provider's cache serves it. `pinned` exchanges from the beginning stay
    whatever happens.
    """

    exchanges: Annotated[int, Field(ge=1)] = 20
    step: Annotated[int, Field(ge=1)] = 10
    pinned: Annotated[int, Field(ge=0)] = 0


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
