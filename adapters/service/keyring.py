"""The keyring of a log: what a key gives now, by the facts that are told of it."""

from __future__ import annotations

import hmac
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar
from uuid import UUID

from onrecord.adapters.caches.newest import Newest
from onrecord.adapters.service.access import Access
from onrecord.adapters.storage.steps import beside_loop
from onrecord.adapters.upkeep.keys import moment, new_request, parsed
from onrecord.domain.errors import CorruptRecord, InvalidInput, StorageError
from onrecord.domain.log import Backend
from onrecord.domain.marks.marked_ids import is_key, key_id
from onrecord.domain.operators import USED, KeyIssued, KeyUsed, decode_fact
from onrecord.projections.history.key_records import is_expired, issued_key

logger = logging.getLogger("onrecord")

T = TypeVar("T")

KEPT_FOR: Final = 5.0
"""How many seconds what was found of a key is kept: so long a key may count that was revoked."""

MOST_KEPT: Final = 4096
"""How many keys are kept at most; the one that was not asked for longest goes first."""

USED_EVERY: Final = 3_600_000_000
"""In microseconds: a key is told of as used at most once in so long."""

_HEADS: Final = 64
_BEFORE_KEYS: Final = UUID("4f4e524a-ffff-ffff-ffff-ffffffffffff")
_LAST_KEY: Final = UUID("4f4e524b-ffff-ffff-ffff-ffffffffffff")


@dataclass(frozen=True, slots=True)
class _Found:
    """What the log has of a key, None where that is none which counts, and until when it is kept."""

    issued: KeyIssued | None
    until: float


class LogKeyring:
    """The keys of a log. Safe for threads; its verbs are steps of the log, but for what is kept.

    An id that does not fit its secret costs a keyed digest, and is looked for nowhere: only who has the
    log can make two that fit (`key_id`). So strangers neither fill what is kept nor reach the log.
    """

    def __init__(
        self,
        backend: Backend,
        *,
        now: Callable[[], int] = moment,
        elapsed: Callable[[], float] = time.monotonic,
        without_keys: bool = False,
    ) -> None:
        """Look into a log; `now` is in microseconds since 1970-01-01 UTC, `elapsed` in seconds.

        A log that shows its keys to nobody counts as one that has some, but `without_keys`.
        """
        self._backend = backend
        self._without_keys = without_keys
        self._now = now
        self._elapsed = elapsed
        self._lock = threading.Lock()
        self._kept: Newest[UUID, _Found] = Newest(MOST_KEPT)
        self._told: Newest[UUID, int] = Newest(MOST_KEPT)
        self._untold: dict[UUID, UUID] = {}
        self._unused_until = 0.0
        self._is_used = False

    def access(self, token: str) -> Access | None:
        """Return what a key gives; None for what is no key, or none that counts now.

        StorageError where the log cannot be asked.
        """
        if (key := parsed(token)) is None:
            return None
        id_, digest = key
        found = self._fresh(id_)
        if found is None or not _is_of(digest, found.issued):
            if not hmac.compare_digest(key_id(self._backend.digest, digest).bytes, id_.bytes):
                return None
            found = found or self._found(id_)
        # What is recorded decides, whatever the id says.
        issued = found.issued
        if issued is None or not _is_of(digest, issued):
            return None
        now = self._now()
        if is_expired(issued, now):
            return None
        self._note(id_, issued.tenant, now)
        return Access(issued.tenant, issued.role, issued.name, id_, issued.all_tenants)

    def is_used(self) -> bool:
        """Return whether a key was ever issued, for whichever tenant that the log shows."""
        if not self._is_used and self._elapsed() >= self._unused_until:
            self._is_used = beside_loop(self._has_keys)
            self._unused_until = self._elapsed() + KEPT_FOR
        return self._is_used

    def record_uses(self) -> int:
        """Record which keys were used since the last time; return of how many that was told.

        It takes a while: call it beside the requests, every minute or so, and in the end. What cannot be
        recorded is warned of, and tried again when the key is used next.
        """
        with self._lock:
            untold, self._untold = self._untold, {}
        return sum(self._is_recorded(id_, tenant) for id_, tenant in untold.items())

    def _fresh(self, id_: UUID) -> _Found | None:
        """Return what is kept of a key; None where that is nothing, or too old."""
        with self._lock:
            found = self._kept.get(id_)
            if found is None or self._elapsed() >= found.until:
                return None
            self._kept.move_to_end(id_)
            return found

    def _found(self, id_: UUID) -> _Found:
        """Look a key up, and keep what is found."""
        # Taken before the look: the log may have changed since.
        until = self._elapsed() + KEPT_FOR
        found = _Found(self._looked_up(id_), until)
        with self._lock:
            self._kept[id_] = found
        return found

    def _looked_up(self, id_: UUID) -> KeyIssued | None:
        """Return what was issued, if that was not taken back; None, with a warning, if it is damaged."""
        try:
            since = self._backend.new_since(id_, 0, 1)
            if not since.events or since.head.closed:
                return None
            return issued_key(since.events[0], self._backend.owner(id_), self._backend.digest)
        except CorruptRecord as error:
            logger.warning("the key %s counts no more: %s", id_, error)
            return None

    def _note(self, id_: UUID, tenant: UUID, now: int) -> None:
        with self._lock:
            if now >= self._told.get(id_, 0) and len(self._untold) < MOST_KEPT:
                self._untold[id_] = tenant

    def _is_recorded(self, id_: UUID, tenant: UUID) -> bool:
        now = self._now()
        try:
            version = self._backend.head(id_).version
            used_at = self._used_at(id_, version)
            is_due = now - used_at >= USED_EVERY
            if is_due:
                fact = KeyUsed(tenant=tenant, at=now)
                # Where another server was faster, that one told of it.
                self._backend.append([new_request(id_, fact, expected_version=version)])
        except StorageError as error:
            logger.warning("that the key %s was used could not be recorded: %s", id_, error)
            return False
        with self._lock:
            self._told[id_] = (now if is_due else used_at) + USED_EVERY
        return is_due

    def _used_at(self, id_: UUID, version: int) -> int:
        """Return when a key was used last, as the last event tells; 0 where it does not."""
        last = next(self._backend.read(id_, after=version - 1, until=version), None)
        if last is None or last.type != USED:
            return 0
        try:
            return decode_fact(last.type, last.schema_version, last.body or b"").at
        except CorruptRecord:
            return 0

    def must_show_keys(self) -> None:
        """Raise InvalidInput where keys cannot be seen, and nobody said to go on without them."""
        if not (self._without_keys or self._backend.inventory().shows_operators()):
            raise InvalidInput(
                "this role sees no keys of the service: none would be good, and nobody could tell whether "
                "one was issued. Connect as a gateway, which the log's owner lets in with SELECT "
                "onrecord.admit_gateway('role', 'tenant'); or say --without-keys, to answer programs of "
                "this machine alone"
            )

    def _has_keys(self) -> bool:
        """Look for a stream with the id of a key: heads come in the order of their ids."""
        after, inventory = _BEFORE_KEYS, self._backend.inventory()
        if not inventory.shows_operators():
            return not self._without_keys
        with inventory.moment() as moment_:
            while heads := moment_.heads(after, _HEADS):
                for head in heads:
                    if is_key(head.conversation_id):
                        return True
                    after = head.conversation_id
                    if after > _LAST_KEY:
                        return False
        return False


def _is_of(digest: str, issued: KeyIssued | None) -> bool:
    """Return whether the secret of a digest is that of a key; it takes as long either way."""
    return issued is not None and hmac.compare_digest(issued.digest, digest)
