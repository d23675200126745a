"""What is known of a Gemini model by its name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

_GENERATION: Final = re.compile(r"gemini-(\d+)")
_LATEST: Final = re.compile(r"gemini-[a-z-]*latest")
_THIRD: Final = 3


@dataclass(frozen=True, slots=True)
class Reader:
    """The model that a request is for.

    `wants_signatures`: it refuses a call that bears none, as those of the third generation do; a
    model that is not known may. `is_known`: its name tells which generation it is of.
    """

    wants_signatures: bool
    is_known: bool = False


@lru_cache(maxsize=64)
def reader_of(model: str | None) -> Reader:
    """Return what a model takes; None and names that say nothing: what is safe with any.

    ai.google.dev, "Thought signatures".
    """
    name = plain_name(model or "")
    found = _GENERATION.match(name)
    if found is not None:
        return Reader(int(found[1]) >= _THIRD, is_known=True)
    return Reader(wants_signatures=not name or _LATEST.match(name) is not None)


def plain_name(model: str) -> str:
    """Return the name of a model without the path of whose it is: `models/`, `publishers/...`."""
    return model.rpartition("/")[2]
