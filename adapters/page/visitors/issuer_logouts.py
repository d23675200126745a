"""The logouts that an issuer told of, in the memory of the process."""

from __future__ import annotations

from itertools import takewhile
from typing import Final
from uuid import UUID

from onrecord.adapters.caches.newest import Newest
from onrecord.adapters.page.visitors.issuer import Logout

_MOST: Final = 4_096
"""How many logouts are known at most, so that none counts twice; of more the oldest goes."""


class IssuerLogouts:
    """The logouts of an issuer, by their ids. For one thread: that of the event loop."""

    def __init__(self) -> None:
        """Know of no logout yet."""
        self._logouts: Newest[str, Logout] = Newest(_MOST)

    @property
    def latest_id(self) -> str | None:
        """The id of the latest logout; None where there was none."""
        return next(reversed(self._logouts), None)

    def add(self, logout: Logout) -> bool:
        """Keep a logout, and return whether it is new: each counts once."""
        if logout.id in self._logouts:
            return False
        self._logouts[logout.id] = logout
        return True

    def was_signed_out(self, person_id: UUID, login_id: str | None, *, after: str | None) -> bool:
        """Return whether a person was signed out of a login by a logout after the one with an id."""
        since = takewhile(lambda id_: id_ != after, reversed(self._logouts))
        return any(self._logouts[id_].applies_to(person_id, login_id) for id_ in since)
