"""What the ledger costs: encryption and seals beside appends in clear and unsealed, a seal, and proofs.

Costs are time of the processor, of all threads, for other programs share the machine.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from itertools import cycle, islice
from pathlib import Path
from time import perf_counter
from typing import Final
from uuid import UUID, uuid4

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from onrecord.adapters.encryption.aes import BodyCipher
from onrecord.adapters.encryption.encrypted_log import EncryptedLog
from onrecord.adapters.encryption.key_file import new_key_file
from onrecord.adapters.encryption.sqlite.key_store import open_key_store
from onrecord.adapters.encryption.subject_keys import SubjectKeys
from onrecord.adapters.seals.key_files import make_key_file
from onrecord.adapters.seals.proofs import LogProofs
from onrecord.adapters.seals.store_seals import StoreSeals, proofs_of
from onrecord.adapters.settings import SealSettings
from onrecord.adapters.storage.sqlite.sqlite import Sqlite, open_sqlite
from onrecord.domain.encryption.bodies import NONCE_SIZE
from onrecord.domain.log import Append, Backend, Cursor, Log, NewEvent, RecordedEvent
from onrecord.domain.seals.checkpoint import key_name_of, log_id_of
from tests.bench import ledger_memory
from tests.bench.growth import fill
from tests.bench.measure import (
    Aim,
    Contender,
    Figures,
    Measure,
    Pace,
    Work,
    computing,
    over,
    stopwatch,
    take_turns,
)
from tests.bench.payload import prompt
from tests.bench.workspace import Workspace
from tests.factories import TENANT, appending

_GROUP: Final = 50
"""Events of one timed operation."""

_TURNS: Final = 2
"""How many times as many rounds as elsewhere, for sides of which one costs little more than the other."""

_CONVERSATIONS: Final = 20
_PROOFS: Final = 100
_TOGETHER: Final = {"each": 1, "together": _GROUP}
"""How many appends share a commit."""

_ALONE: Final = "a nonce and AESGCM of `cryptography` alone"

_ENCRYPTION: Final = Aim(3)
"""Microseconds an event, in memory. Behind the wait for a commit AES alone takes longer."""
_SEALS: Final = Aim(1.05)
_SEAL: Final = Aim(30)
"""Microseconds an event: 1,000,000 in half a minute."""
_PROOF: Final = Aim(5, "below")
"""Milliseconds."""


def measures(workspace: Workspace) -> Iterator[Measure]:
    """Yield what encryption and seals add to an append, what a seal costs, a proof, and evidence."""
    workspace.say("ledger: appends with encryption beside appends without")
    for name, together in _TOGETHER.items():
        yield from _encrypted_appends(workspace, name, together)
    yield from _encrypting(workspace)
    workspace.say("ledger: appends with seals beside appends without")
    yield from _sealed_appends(workspace)
    yield from _sealed(workspace)
    yield from ledger_memory.measures(workspace)


def _encrypted_appends(workspace: Workspace, name: str, together: int) -> Iterator[Measure]:
    """Append encrypted, in clear, and in clear with AES alone beside it: nothing encrypts for less."""
    clear = open_sqlite(workspace.path("clear.db"))
    encrypted = encrypted_log(workspace.path("encrypted"))
    aes = AESGCM(os.urandom(32))
    what = f"an event of 1 KB, {together} to a commit"

    def append_beside(appends: list[Append]) -> None:
        _encrypt_alone(aes, [event for append in appends for event in append.events])
        clear.append(appends)

    sides = (
        _appending(encrypted, encrypted.append, f"{what}, encrypted", together),
        _appending(clear, append_beside, f"{what}, in clear and {_ALONE}", together),
        _appending(clear, clear.append, f"{what}, in clear", together),
    )
    with_keys, with_aes, without = take_turns(sides, Pace(_TURNS * workspace.scale.pace.rounds, 1))
    added = over(with_keys, without, f"what encryption adds to {what}")
    least = over(with_aes, without, f"what {_ALONE} adds to {what}")
    yield Measure(f"ledger.encryption.{name}", "us", added)
    yield Measure(f"ledger.encryption.{name}.least", "us", least)
    yield Measure(f"ledger.encryption.{name}.beside", "us", with_keys, without)
    encrypted.close()
    clear.close()


def _encrypt_alone(aes: AESGCM, events: Sequence[NewEvent]) -> None:
    for event in events:
        aes.encrypt(os.urandom(NONCE_SIZE), event.body, event.header)


def _appending(
    log: Log, append: Callable[[list[Append]], object], what: str, together: int
) -> Contender:
    """Append to conversations that have begun, so that their keys are there."""
    ids = [uuid4() for _ in range(_CONVERSATIONS)]
    log.append([appending(each, prompt()) for each in ids])

    def prepare(_: int) -> Work:
        appends = list(islice(_appends(ids), _GROUP))
        batches = [appends[at : at + together] for at in range(0, _GROUP, together)]
        return lambda: [append(batch) for batch in batches]

    return Contender(what, "", prepare, _of_each(_GROUP))


def _appends(ids: list[UUID]) -> Iterator[Append]:
    return (appending(each, prompt(), tenant=TENANT) for each in cycle(ids))


def _of_each(count: int) -> Callable[[Work], float]:
    """Return a clock of the processor that tells the seconds of one event of so many."""
    return lambda work: computing(work) / count


def encrypted_log(folder: Path) -> EncryptedLog:
    """Return a new encrypted log on SQLite, its key store and its key file beside it."""
    folder.mkdir()
    stored = open_sqlite(folder / "log.db")
    log_id = log_id_of(stored.digest)
    store = open_key_store(folder / "keys.db", log_id)
    return EncryptedLog(
        stored, SubjectKeys(store, new_key_file(folder / "kek"), log_id, stored.digest)
    )


def _encrypting(workspace: Workspace) -> Iterator[Measure]:
    """Encrypt appends that go nowhere, beside AES alone: no disk is in these figures."""
    log, aes = encrypted_log(workspace.path("encrypted")), AESGCM(os.urandom(32))
    ids = [uuid4() for _ in range(_CONVERSATIONS)]
    log.append([appending(each, prompt()) for each in ids])
    appends = list(islice(_appends(ids), _GROUP))
    events = [event for append in appends for event in append.events]

    def ours(_: int) -> Work:
        batch: dict[UUID, BodyCipher] = {}
        return lambda: [log.encrypted(append, batch) for append in appends]

    def alone(_: int) -> Work:
        return lambda: _encrypt_alone(aes, events)

    sides = (
        Contender("an append of an event of 1 KB, encrypted in memory", "", ours, _of_each(_GROUP)),
        Contender(_ALONE, "", alone, _of_each(_GROUP)),
    )
    shown, peer = take_turns(sides, workspace.scale.pace)
    yield Measure("ledger.encryption.memory", "us", shown, aim=_ENCRYPTION)
    yield Measure("ledger.encryption.memory.beside", "us", shown, peer)
    log.close()


def _sealed_appends(workspace: Workspace) -> Iterator[Measure]:
    """Append one by one, with a seal by itself as an embedded store has it, and at the end."""
    count = min(2_000, workspace.scale.sealed)
    pace = Pace(max(2, workspace.scale.pace.rounds // 2), 1)
    logs = [open_sqlite(workspace.path(name)) for name in ("sealed.db", "unsealed.db")]
    settings = seal_settings(logs[0], workspace.path("seals"))
    for name, clock, aim in (("seals", computing, _SEALS), ("seals.clock", stopwatch, None)):
        what = f"{count:,} appends of an event of 1 KB each"
        sides = (
            Contender(f"{what}, sealed", "", _sealing(logs[0], count, settings), clock),
            Contender(what, "", _sealing(logs[1], count, None), clock),
        )
        with_seals, without = take_turns(sides, pace)
        yield Measure(f"ledger.{name}", "ms", with_seals, without, aim)
    for log in logs:
        log.close()


def _sealing(log: Sqlite, count: int, settings: SealSettings | None) -> Callable[[int], Work]:
    ids = [uuid4() for _ in range(_CONVERSATIONS)]

    def prepare(_: int) -> Work:
        appends = list(islice(_appends(ids), count))
        return lambda: _append_all(log, appends, settings)

    return prepare


def _append_all(log: Sqlite, appends: list[Append], settings: SealSettings | None) -> None:
    seals = None if settings is None else StoreSeals(log, settings)
    log.file.appended = None if seals is None else seals.appended
    for append in appends:
        log.append([append])
    if seals is not None:
        seals.close()


def seal_settings(log: Backend, folder: Path) -> SealSettings:
    """Return how to seal a log at a folder that is made, with a new key beside it."""
    folder.mkdir()
    key = folder / "key"
    make_key_file(key, key_name_of(log_id_of(log.digest)))
    return SealSettings((str(folder / "place"),), key)


def _sealed(workspace: Workspace) -> Iterator[Measure]:
    """Seal half of a log and then the rest, and prove that the one goes on from the other."""
    half = workspace.scale.sealed // 2
    workspace.say(f"ledger: {2 * half:,} events on SQLite")
    log = open_sqlite(workspace.path("ledger.db"))
    settings = seal_settings(log, workspace.path("seals"))
    sealing: list[list[float]] = []
    elapsed = 0.0
    for _ in range(2):
        fill(log, half, group=1_000)
        began = perf_counter()
        sealing.append([_of_each(half)(StoreSeals(log, settings).seal)])
        elapsed += perf_counter() - began
    what = f"an event, of {2 * half:,} that are sealed at a folder"
    note = f"{elapsed:.1f} s by the clock"
    yield Measure("ledger.seal", "us", Figures(what, "", sealing), aim=_SEAL, note=note)
    yield from _proofs(log, settings, half)
    log.close()


def _proofs(log: Sqlite, settings: SealSettings, half: int) -> Iterator[Measure]:
    """Prove by programs that begin: each reads the last checkpoint and the tiles that it needs."""
    end = log.cursors()[0]
    positions = range(1, 2 * half + 1, max(1, 2 * half // _PROOFS))
    events = [_event_at(log, end, position) for position in positions]
    inclusion = [computing(_inclusion(proofs_of(log, settings), event)) for event in events]
    consistency = [computing(_consistency(proofs_of(log, settings), half)) for _ in range(_PROOFS)]
    for name, seconds in (("inclusion", inclusion), ("consistency", consistency)):
        what = f"a proof of {name} in a log of {2 * half:,} events, nothing read before"
        yield Measure(f"ledger.proof.{name}", "ms", Figures(what, "", [seconds]), aim=_PROOF)


def _event_at(log: Log, end: Cursor, position: int) -> RecordedEvent:
    before = Cursor(end.incarnation, end.shard, position - 1)
    return log.read_log(before, 1)[0]


def _inclusion(proofs: LogProofs, event: RecordedEvent) -> Work:
    return lambda: proofs.of(event.shard).inclusion(event)


def _consistency(proofs: LogProofs, half: int) -> Work:
    return lambda: proofs.of(0).consistency(half, 2 * half)
