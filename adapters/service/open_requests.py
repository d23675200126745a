"""What is open: requests and tails, in all and of each key."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from uuid import UUID

from onrecord.adapters.service.problems import OVERLOADED, TOO_MANY, Problem


@dataclass(slots=True)
class OpenRequests:
    """The requests that are being answered, in all and of each key: what is too many is refused."""

    most: int
    total: int = 0
    of_keys: Counter[UUID] = field(default_factory=Counter[UUID])

    def enter(self, key: UUID | None) -> None:
        """Count one; Problem where there are too many."""
        if self.total >= self.most:
            raise Problem(OVERLOADED)
        if key is not None and self.of_keys[key] >= max(1, self.most // 2):
            raise Problem(TOO_MANY)
        self.total += 1
        if key is not None:
            self.of_keys[key] += 1

    def leave(self, key: UUID | None) -> None:
        """Count one less."""
        self.total -= 1
        if key is not None:
            self.of_keys[key] -= 1
            if not self.of_keys[key]:
                del self.of_keys[key]
