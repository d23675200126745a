"""What is not of its type in a request: where it is, and why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

Step: TypeAlias = str | int


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A member that is not of its type: where it is, pydantic's name for why, and the words."""

    path: tuple[Step, ...]
    reason: str
    message: str
    expected: str | None
    given: Any


@dataclass(frozen=True, slots=True)
class ParameterTypes:
    """The types of an API's request, as a release of its SDK has them.

    `mismatches` returns what is not of its type in a request, given as the JSON that it is on the
    wire.
    """

    sdk: str
    mismatches: Callable[[bytes], tuple[Mismatch, ...]]
