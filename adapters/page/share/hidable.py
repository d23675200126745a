"""The kinds of pieces that whoever makes a file may hide; pure."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class Hidable(StrEnum):
    """A kind of pieces to hide."""

    REASONING = "reasoning"
    RESULTS = "results"
    DOCUMENTS = "documents"
    PEOPLE = "people"


HIDABLE: Final[Mapping[Hidable, str]] = {
    Hidable.REASONING: "reasoning",
    Hidable.RESULTS: "results of tools",
    Hidable.DOCUMENTS: "documents, with their names",
    Hidable.PEOPLE: "names of people who act in it, wherever they stand",
}
"""Each kind in words."""
