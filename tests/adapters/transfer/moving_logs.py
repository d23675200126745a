"""An old log in clear and a new one that is encrypted, for the tests of moves."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import pytest

import onrecord
from onrecord.adapters.encryption.encrypted_log import EncryptedLog
from onrecord.adapters.encryption.key_file import new_key_file
from onrecord.adapters.seals.signing import new_key
from onrecord.adapters.seals.trust import Seals, seals_of
from onrecord.adapters.settings import SealSettings
from onrecord.adapters.store import backend_of
from onrecord.adapters.transfer import moves
from onrecord.adapters.transfer.moving import TenantMove
from onrecord.domain.log import Cursor, RecordedEvent
from onrecord.domain.operators import LogMoved, is_operators
from onrecord.domain.seals.checkpoint import key_name_of as signer_of
from onrecord.domain.seals.checkpoint import log_id_of
from tests.postgres_places import fresh_log
from tests.postgres_server import VERSIONS
from tests.tampering import forging
from tests.tampering.postgres_rows import PostgresRows
from tests.tampering.rows import Row, Rows
from tests.tampering.sqlite_rows import SqliteRows

SUBJECTS = {(UUID(int=0), "support/4712"): ("customer-812",)}


@dataclass(frozen=True)
class Logs:
    """An old log in clear, and an encrypted one; both are opened anew each time, by their URLs."""

    old: str
    new: str
    folder: Path

    def opened(self) -> OpenedLogs:
        return OpenedLogs(self)

    def rows(self, url: str) -> Rows:
        if url.startswith("postgresql"):
            return PostgresRows(url)
        return SqliteRows(Path(url.removeprefix("sqlite:///")))


class OpenedLogs(ExitStack):
    def __init__(self, logs: Logs) -> None:
        super().__init__()
        folder = logs.folder
        self.source = self.enter_context(onrecord.connect(logs.old, keys="", kek=""))
        self.store = self.enter_context(
            onrecord.connect(logs.new, keys=folder / "keys.db", kek=folder / "kek")
        )
        self.old = backend_of(self.source)
        self.new = cast("EncryptedLog", backend_of(self.store))

    def move(self, **options: Any) -> list[TenantMove]:
        return moves.move(self.old, self.new, actor="ana", subjects=SUBJECTS, **options)

    def check(self) -> list[LogMoved]:
        return moves.check(self.old, self.new).facts


@pytest.fixture(params=["sqlite", "postgres"])
def logs(request: pytest.FixtureRequest, tmp_path: Path) -> Logs:
    new_key_file(tmp_path / "kek")
    old, new = (f"sqlite:///{tmp_path / name}.db" for name in ("old", "new"))
    if request.param == "postgres":
        # Logs of one template have one key, so one id.
        new = fresh_log(VERSIONS[-1])
        old = fresh_log(VERSIONS[0]) if len(VERSIONS) > 1 else old
    return Logs(old, new, tmp_path)


def everything(log: Any) -> list[RecordedEvent]:
    return [
        event
        for last in log.cursors()
        for event in log.read_log(Cursor(last.incarnation, last.shard, 0), 10_000)
    ]


def conversations(log: Any) -> list[RecordedEvent]:
    """The events of a log that say something, and are no operators'."""
    return [event for event in everything(log) if not is_operators(event.type)]


def changed(rows: Rows, conversation: UUID, change: Callable[[Row], Row]) -> None:
    """Change the event of version 2 of a conversation in place, and make its hashes anew."""
    for row in rows.rows("event"):
        of = row["conversation_id"]
        if (of if isinstance(of, UUID) else UUID(bytes=of)) == conversation and row["version"] == 2:
            rows.delete("event", row)
            rows.insert("event", forging.hashed(change(row)))
    rows.close()


def sealed(both: OpenedLogs, place: Path) -> Seals:
    """Seal the old log at a place, with a new key; return the seals as they are read."""
    key = new_key(signer_of(log_id_of(both.old.digest)))
    forging.seal(both.source, key, place)
    return seals_of(SealSettings(places=(str(place),), public_keys=(str(key.public),)))
