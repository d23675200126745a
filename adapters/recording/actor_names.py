"""Who acts and under which rules, by name: what headers bear, and the names in the directory beside them."""

from __future__ import annotations

import threading
from array import array
from bisect import bisect_left, insort
from typing import TypedDict
from uuid import UUID

from onrecord.adapters.inputs.arguments import name_given, version_named
from onrecord.domain.actors import actor_id
from onrecord.domain.log import Backend
from onrecord.domain.new_events import NOBODY, Attribution


class AttributionNames(TypedDict, total=False):
    """Who does something and under which rules, by name; what is left out, what is around says.

    `actor` is who acts, `on_behalf_of` for whom (docs/actors.md); of these, events bear digests only.
    `policy` is the version of the policy in force, `deployment` what runs: events bear both in clear.
    """

    actor: str | None
    on_behalf_of: str | None
    policy: str | None
    deployment: str | None


class ActorNames:
    """The names of a tenant's actors; safe to share between threads.

    A name is written before the first event that bears its digest, and once in a store that is
    open: so one that was forgotten meanwhile, by whomever, is not written again by what goes on in
    its name.
    """

    def __init__(self, backend: Backend, tenant: UUID) -> None:
        """Keep names in the directory of a log."""
        self._backend = backend
        self._tenant = tenant
        # The first 64 bits of each digest, sorted: a million names are 8 MB, and none comes back.
        self._known = array("Q")
        self._forgotten = set[str]()
        self._lock = threading.Lock()

    def attribution(
        self,
        *,
        actor: str | None = None,
        on_behalf_of: str | None = None,
        policy: str | None = None,
        deployment: str | None = None,
    ) -> Attribution:
        """Return who acts, for whom and under which rules; InvalidContent where one is no name."""
        if (actor, on_behalf_of, policy, deployment) == (None, None, None, None):
            return NOBODY
        acting = self._digested("an actor", actor)
        served = self._digested("whom an actor acts for", on_behalf_of)
        names = dict(pair for pair in (acting, served) if pair is not None)
        return Attribution(
            acting and acting[0],
            served and served[0],
            names=tuple(names.items()),
            policy=None if policy is None else version_named("a policy", policy),
            deployment=None if deployment is None else version_named("a deployment", deployment),
        )

    def keep(self, who: Attribution) -> None:
        """Write the names of those who act, durably, where this store has not done so before."""
        for digest, name in who.names:
            if not (who.bears(digest) and self._is_new(digest)):
                continue
            self._backend.actors().keep(self._tenant, bytes.fromhex(digest), name)
            self._note(digest)
            if digest in self._forgotten:
                # Another thread forgot it after the look, and perhaps before the write. No lock may be
                # held over both: a step that a loop drives waits for the log.
                self._backend.forget(actor_id(self._tenant, bytes.fromhex(digest)))

    def forget(self, digest: str) -> None:
        """Write the name of a digest no more, in this store: it is about to be erased."""
        self._forgotten.add(digest)
        self._note(digest)

    def _note(self, digest: str) -> None:
        beginning = _beginning(digest)
        with self._lock:
            if not self._is_known(beginning):
                insort(self._known, beginning)

    def are_kept(self, who: Attribution) -> bool:
        """Whether there is no name to be written of those who act."""
        return not any(who.bears(digest) and self._is_new(digest) for digest, _ in who.names)

    def _is_new(self, digest: str) -> bool:
        with self._lock:
            return not self._is_known(_beginning(digest))

    def _is_known(self, beginning: int) -> bool:
        """Whether a digest begins so; the lock is held."""
        place = bisect_left(self._known, beginning)
        return place < len(self._known) and self._known[place] == beginning

    def _digested(self, what: str, name: str | None) -> tuple[str, str] | None:
        """Return the digest of a name, and the name; None for None."""
        if name is None:
            return None
        return self._backend.digest(name_given(what, name)).hex(), name


def _beginning(digest: str) -> int:
    return int(digest[:16], 16)
