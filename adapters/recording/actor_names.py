"""Who acts, by name: the digests that headers bear, and the names in the directory beside them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Final
from uuid import UUID

from onrecord.adapters.inputs.arguments import name_given
from onrecord.domain.log import Backend
from onrecord.domain.new_events import NOBODY, Attribution

_KNOWN_AT_MOST: Final = 10_000
"""How many names a store knows to be kept; the others it keeps again, which changes nothing."""


class ActorNames:
    """The names of a tenant's actors; safe to share between threads.

    A name is written before the first event that bears its digest, and once in a store that is
    open: so one that was forgotten meanwhile is not written again by what goes on in its name.
    What this store forgot it never writes again. What another process forgot it does write again
    where more names than it keeps in mind acted since the name was written here.
    """

    def __init__(self, backend: Backend, tenant: UUID) -> None:
        """Keep names in the directory of a log."""
        self._backend = backend
        self._tenant = tenant
        self._known: OrderedDict[str, None] = OrderedDict()
        self._forgotten: set[str] = set()  # All of them: few are, and none may come back.
        self._lock = threading.Lock()

    def attribution(self, actor: str | None, on_behalf_of: str | None) -> Attribution:
        """Return who acts, and for whom, by their names; InvalidContent where one is no name."""
        if actor is None and on_behalf_of is None:
            return NOBODY
        acting = self._digested("an actor", actor)
        served = self._digested("whom an actor acts for", on_behalf_of)
        names = dict(pair for pair in (acting, served) if pair is not None)
        return Attribution(acting and acting[0], served and served[0], None, tuple(names.items()))

    def keep(self, who: Attribution) -> None:
        """Write the names of those who act, durably, where this store has not done so before."""
        for digest, name in who.names:
            if not (who.bears(digest) and self._is_new(digest)):
                continue
            self._backend.actors().keep(self._tenant, bytes.fromhex(digest), name)
            with self._lock:
                self._known[digest] = None
                if len(self._known) > _KNOWN_AT_MOST:
                    self._known.popitem(last=False)

    def leave(self, digest: str) -> None:
        """Write the name of a digest no more, in this store: it was forgotten."""
        with self._lock:
            self._forgotten.add(digest)

    def _is_new(self, digest: str) -> bool:
        return digest not in self._known and digest not in self._forgotten

    def _digested(self, what: str, name: str | None) -> tuple[str, str] | None:
        """Return the digest of a name, and the name; None for None."""
        if name is None:
            return None
        return self._backend.digest(name_given(what, name)).hex(), name
