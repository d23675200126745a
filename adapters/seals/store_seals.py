"""How a store is sealed: when somebody asks, and by itself as it grows, as it closes, or every so often.

To seal by itself never fails what it stands beside: an append, a close, a worker. What went wrong is
logged, and `onrecord verify` says what is not sealed.

Processes and threads may seal one log at once, without a lease. The tiles of the same events are the
same bytes, whoever writes them. A checkpoint of a size is written once, and one that another process wrote
meanwhile is as good, since its root is the same. A smaller checkpoint never takes the place of a
larger one that is there as it is written.
"""

from __future__ import annotations

import logging
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Final
from weakref import WeakSet

from onrecord.adapters.storage.interrupts import begin_anew_in_children
from onrecord.domain.errors import InvalidInput, OnrecordError, StorageReadOnly

if TYPE_CHECKING:
    from uuid import UUID

    from onrecord.adapters.seals.checkpoints import SealedCheckpoint
    from onrecord.adapters.seals.proofs import LogProofs
    from onrecord.adapters.seals.sealing import Sealer
    from onrecord.adapters.settings import SealSettings
    from onrecord.domain.log import Backend
    from onrecord.domain.seals.notes import PrivateKey

logger = logging.getLogger("onrecord")

EVENTS: Final = 1_000
"""After how many events an embedded store seals what it has."""

UNSTAMPED: Final = "what was sealed has no timestamp, which the next seal asks for again"


class StoreSeals:
    """The seals of one backend, whatever stores share it. Safe for threads, and made anew in a fork."""

    def __init__(self, backend: Backend, settings: SealSettings, *, events: int = EVENTS) -> None:
        """Seal as settings say; nothing is read yet. After so many `events` it is done by itself."""
        self.settings = settings
        self._backend = backend
        self._events = events
        self._is_closed = False
        self.begin_anew()
        _ALL.add(self)

    def begin_anew(self) -> None:
        """Leave to the parent what it appended and its thread: what a forked child does first.

        `sealed` is how many events the last seal of this process covered.
        """
        self.sealed: int = 0
        self._reached: int = 0
        self._due: int | None = None
        self._failure: str = ""
        self._unstamped: str = ""
        self._turn = threading.Lock()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None

    def seal(self) -> list[SealedCheckpoint]:
        """Seal what the log has, and return the checkpoint of each shard; errors as `Store.seal`.

        The key is read from its file each time: so a new one needs no new start.
        """
        with self._turn:
            sealer = sealer_of(self._backend, self.settings)
            sealed = sealer.seal()
        if sealer.unstamped and sealer.unstamped != self._unstamped:
            logger.warning("%s: %s", UNSTAMPED, sealer.unstamped)
        self._unstamped = sealer.unstamped
        self.sealed = sum(each.checkpoint.size for each in sealed)
        self._due = self.sealed + self._events
        return sealed

    def appended(self, before: int, after: int) -> None:
        """Note that a log of one shard went on between two positions, and seal it where that is due.

        It starts a thread at most: nobody waits for the seal.
        """
        # Two threads at once may note the smaller position: the next append mends that.
        self._reached = max(self._reached, after)
        if self._due is None:
            self._due = before + self._events
        if self._reached >= self._due and not self._is_sealing() and not self._is_closed:
            self._start()

    def attempt(self) -> None:
        """Seal what the log has, or say in the log why that could not be: once for each reason."""
        try:
            self.seal()
        except Exception as exc:  # noqa: BLE001 - whatever the driver of a place raises
            self._due = self._reached + self._events
            why = str(exc) if isinstance(exc, OnrecordError) else f"a {type(exc).__name__}"
            if why != self._failure:
                logger.warning("what was recorded is not sealed yet: %s", why)
            self._failure = why
        else:
            self._failure = ""

    def keep_sealed(self, ended: threading.Event, seconds: float) -> None:
        """Seal every so many seconds until that is ended, and then once more."""
        while not ended.is_set():
            self.attempt()
            ended.wait(seconds)
        self.attempt()

    def close(self) -> None:
        """Seal what this process appended since the last seal."""
        if self._is_closed:
            return
        self._is_closed = True
        if (thread := self._thread) is not None and thread.is_alive():
            thread.join()
        if self._reached > self.sealed:
            self.attempt()

    def _is_sealing(self) -> bool:
        # An interrupt may leave a thread that never began.
        return self._thread is not None and self._thread.is_alive()

    def _start(self) -> None:
        with self._starting:
            if self._is_sealing():
                return
            self._thread = threading.Thread(target=self._run, name="onrecord-seals", daemon=True)
            # At the interpreter's end, and among too many threads, none begins.
            with suppress(RuntimeError):
                self._thread.start()

    def _run(self) -> None:
        while self._due is not None and self._reached >= self._due and not self._is_closed:
            self.attempt()


_ALL: Final[WeakSet[StoreSeals]] = WeakSet()
begin_anew_in_children(_ALL)


def sealer_of(backend: Backend, settings: SealSettings) -> Sealer:
    """Return what seals a log as settings say.

    InvalidInput where no place or no key is named, or the key is of another log, or the timestamp
    authority has no URL of HTTP; StorageReadOnly for a role that does not see all events.
    """
    from onrecord.adapters.seals.places import place_at
    from onrecord.adapters.seals.sealing import Sealer
    from onrecord.adapters.seals.timestamps import TimestampAuthority
    from onrecord.adapters.seals.trust import pinned_keys
    from onrecord.domain.seals.checkpoint import log_id_of

    must_see_all(backend)
    key = signing_key(settings, log_id_of(backend.digest))
    places = [place_at(each) for each in places_of(settings)]
    authority = None if settings.timestamps is None else TimestampAuthority(settings.timestamps)
    return Sealer(backend, key, places, earlier=pinned_keys(settings), authority=authority)


def proofs_of(backend: Backend, settings: SealSettings) -> LogProofs:
    """Return what makes proofs of a log, from what the first place keeps.

    InvalidInput where no place is named, or no key is known.
    """
    from onrecord.adapters.seals.places import place_at
    from onrecord.adapters.seals.proofs import LogProofs
    from onrecord.adapters.seals.trust import trusted_keys
    from onrecord.domain.seals.checkpoint import log_id_of

    place, keys = place_at(places_of(settings)[0]), trusted_keys(settings).keys
    if not keys:
        raise InvalidInput(
            "no key is known: give the public one with --vkey or in ONRECORD_SEAL_VKEY; to seal, name "
            "the file of the private one in ONRECORD_SEAL_KEY"
        )
    return LogProofs(place, log_id_of(backend.digest), keys)


def must_see_all(backend: Backend) -> None:
    """Refuse a role that does not see all events of the log; StorageReadOnly."""
    if backend.prover(None) is None:
        raise StorageReadOnly(
            "this role does not see all events, so it cannot seal: connect as one that serves all "
            "tenants, such as a worker's"
        )


def places_of(settings: SealSettings) -> tuple[str, ...]:
    """Return the places of the seals; InvalidInput where none is named."""
    if not settings.places:
        raise InvalidInput(
            "no place is named for seals: set ONRECORD_SEALS to a folder or an URL (docs/seals.md)"
        )
    return settings.places


def signing_key(settings: SealSettings, log_id: UUID) -> PrivateKey:
    """Return the key that signs; InvalidInput where none is named, or it is of another log."""
    from onrecord.adapters.seals.key_files import read_key_file
    from onrecord.domain.seals.checkpoint import key_name_of

    if settings.key is None:
        raise InvalidInput(
            "no key is named that signs: set ONRECORD_SEAL_KEY to the file that `onrecord seal-key` "
            "wrote (docs/seals.md)"
        )
    key, name = read_key_file(settings.key), key_name_of(log_id)
    if key.public.name != name:
        raise InvalidInput(
            f"the key {settings.key} is of another log: it signs for {key.public.name}, and this "
            f"log is {name}"
        )
    return key
