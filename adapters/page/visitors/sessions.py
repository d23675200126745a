"""Sessions: which browser was let in by which key or as whom, kept in the memory of the process."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from onrecord.adapters.caches.newest import Newest
from onrecord.adapters.page.visitors.issuer import Logout
from onrecord.adapters.service.access import Access

Visitor: TypeAlias = str | Access
"""A key, which is looked up for each request, or what a person may do whom an issuer named."""

IDLE_SECONDS: Final = 3_600.0
"""A session ends when nothing was asked in it for so long."""

LONGEST_SECONDS: Final = 12 * 3_600.0
"""A session ends so long after it began, in any case."""

MOST: Final = 4_096
"""How many sessions there are at most; the one that was not used for longest goes first."""

MOST_OF_VISITOR: Final = 64
"""How many sessions one key or person has at most, so that nobody signs all others out."""

_ID_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class Session:
    """Whom a session stands for, when it began, and when it was used last, in seconds.

    `login_id` is the issuer's own id of the login that it came of; None where it says none.
    """

    visitor: Visitor = field(repr=False)
    began: float
    used: float
    login_id: str | None = field(default=None, repr=False)

    def matches(self, logout: Logout) -> bool:
        """Return whether a logout of an issuer signs its person out of it."""
        person_id = self.visitor.person_id if isinstance(self.visitor, Access) else None
        return person_id is not None and logout.applies_to(person_id, self.login_id)


class Sessions:
    """The sessions of a process, by ids of 256 random bits. For one thread: that of the event loop."""

    def __init__(self, elapsed: Callable[[], float] = time.monotonic, *, most: int = MOST) -> None:
        """Have no session yet; `elapsed` is a clock in seconds."""
        self._elapsed = elapsed
        self._sessions: Newest[str, Session] = Newest(most)

    def begin(self, visitor: Visitor, login_id: str | None = None) -> str:
        """Return the id of a new session, which stands for a key or a person."""
        of_visitor = [id_ for id_, each in self._sessions.items() if each.visitor == visitor]
        if len(of_visitor) >= MOST_OF_VISITOR:
            self.end(of_visitor[0])
        id_, now = secrets.token_urlsafe(_ID_BYTES), self._elapsed()
        self._sessions[id_] = Session(visitor, began=now, used=now, login_id=login_id)
        return id_

    def visitor(self, id_: str, *, is_used: bool = True) -> Visitor | None:
        """Return whom a session stands for; None where there is none, or it is over.

        The session is used by that, where nothing else is said: it does not end soon.
        """
        session = self._sessions.get(id_)
        if session is None:
            return None
        now = self._elapsed()
        if now - session.used >= IDLE_SECONDS or now - session.began >= LONGEST_SECONDS:
            self.end(id_)
            return None
        if is_used:
            self._sessions[id_] = replace(session, used=now)
        return session.visitor

    def end(self, id_: str) -> Visitor | None:
        """End a session, and return whom it stood for; None where there is none."""
        session = self._sessions.pop(id_, None)
        return None if session is None else session.visitor

    def end_matching(self, logout: Logout) -> int:
        """End the sessions of whom an issuer signed out; return how many there were."""
        ids = [id_ for id_, session in self._sessions.items() if session.matches(logout)]
        for id_ in ids:
            self.end(id_)
        return len(ids)
