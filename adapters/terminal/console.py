"""The terminal as Rich draws on it, deaf to what is said in the texts that are drawn."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.console import Console
from rich.segment import Segment

from onrecord.adapters.presentation.control_characters import escaped_lines

if TYPE_CHECKING:
    from rich.console import ConsoleOptions, RenderableType


class Terminal(Console):
    """Draws text as text: no markup, no emoji names, no control codes but Rich's own.

    Whoever draws a text escapes it before it is measured (`flat`). What nobody thought of is
    escaped here: a table may then be crooked, but says what it says.
    """

    def __init__(self, *, stderr: bool = False, quiet: bool = False) -> None:
        """Draw on standard output or standard error; a `quiet` one draws nothing."""
        super().__init__(stderr=stderr, quiet=quiet, highlight=False, emoji=False, markup=False)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Yield what is to be written; Rich's own control codes bear a mark."""
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(escaped_lines(segment.text), segment.style)
