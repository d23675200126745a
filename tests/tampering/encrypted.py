"""An encrypted store that is attacked row by row, and what its readers and `verify` make of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple
from uuid import UUID

import onrecord
from onrecord import Verified
from onrecord.adapters.encryption.encrypted_log import EncryptedLog
from onrecord.adapters.encryption.key_file import new_key_file
from onrecord.adapters.seals.signing import new_key
from onrecord.adapters.seals.trust import seals_of
from onrecord.adapters.settings import SealSettings
from onrecord.adapters.store import backend_of
from onrecord.adapters.upkeep.verifying import verify_log
from onrecord.domain.errors import OnrecordError
from onrecord.domain.seals.checkpoint import key_name_of, log_id_of
from onrecord.domain.seals.notes import PrivateKey
from tests.postgres_places import fresh_log
from tests.postgres_server import VERSIONS, server
from tests.tampering import forging
from tests.tampering.postgres_rows import PostgresRows
from tests.tampering.rows import Row, Rows
from tests.tampering.sqlite_rows import SqliteRows


class Spoken(NamedTuple):
    """A conversation of one subject: three events, a document in the second one."""

    tenant: UUID
    key: str
    subject: str


ANA: Final = Spoken(UUID(int=1), "support/1", "ana")
AGAIN: Final = Spoken(UUID(int=1), "support/2", "ana")
BEN: Final = Spoken(UUID(int=1), "support/3", "ben")
CLEO: Final = Spoken(UUID(int=2), "support/1", "cleo")
ALL: Final = (ANA, AGAIN, BEN, CLEO)
PROMPT, LATER = 1, 2
"""The indexes of the two prompts among the events of a conversation."""


def words(spoken: Spoken) -> str:
    """What all that is said in a conversation begins with, and nothing else does."""
    return f"canary {spoken.subject} {spoken.key} of {spoken.tenant.int} "


Heard = list[str] | OnrecordError
"""All texts of a conversation and its documents; or the error that says why there are none."""


@dataclass(frozen=True)
class Encrypted:
    """An encrypted and sealed store, whose rows and keys are changed by hand."""

    rows: Rows
    folder: Path
    key: PrivateKey
    ids: Mapping[Spoken, UUID]

    def opened(self, spoken: Spoken = ANA, keys: Path | None = None) -> onrecord.Store:
        """The store of who spoke, with the keys in a folder."""
        return opened(self.rows.url, spoken, keys or self.folder)

    def verify(self, keys: Path | None = None) -> Verified:
        """What `verify` says with the seals and with keys."""
        return self.both(keys)[0]

    def both(self, keys: Path | None = None) -> tuple[Verified, Verified]:
        """What `verify` says with the seals: with keys, and without any."""
        seals = SealSettings(
            places=(str(self.folder / "seals"),), public_keys=(str(self.key.public),)
        )
        with self.opened(keys=keys) as store:
            log = backend_of(store)
            assert isinstance(log, EncryptedLog)
            locked = EncryptedLog(log.stored, None)
            with_keys, without = (verify_log(each, seals=seals_of(seals)) for each in (log, locked))
        return with_keys, without

    def noticed(self) -> tuple[bool, bool]:
        """Whether `verify` finds something with the keys, and without.

        Where an error says that it cannot go on, that is noticed, too.
        """
        try:
            with_keys, without = self.both()
        except OnrecordError:
            return True, True
        return not with_keys.is_whole, not without.is_whole

    def heard(self, spoken: Spoken, keys: Path | None = None) -> Heard:
        """What a reader of a conversation gets."""
        (heard,) = self.heard_by([spoken], keys)
        return heard

    def heard_by(self, readers: Sequence[Spoken], keys: Path | None = None) -> list[Heard]:
        """What readers of one tenant get of their conversations."""
        try:
            with self.opened(readers[0], keys) as store:
                return [read(store, each.key) for each in readers]
        except OnrecordError as error:
            return [error for _ in readers]

    def must_hear_their_own(
        self, keys: Path | None = None, readers: Sequence[Spoken] = ALL
    ) -> list[OnrecordError]:
        """No reader gets another's text. Return the errors of those who get none."""
        refused: list[OnrecordError] = []
        for tenant in dict.fromkeys(each.tenant for each in readers):
            own = [each for each in dict.fromkeys(readers) if each.tenant == tenant]
            for spoken, heard in zip(own, self.heard_by(own, keys), strict=True):
                if isinstance(heard, OnrecordError):
                    refused.append(heard)
                else:
                    assert [text for text in heard if not text.startswith(words(spoken))] == []
        return refused

    def events(self, spoken: Spoken) -> list[Row]:
        """The rows of a conversation's events, in order."""
        rows = forging.events(self.rows)
        return [row for row in rows if id_in(row["conversation_id"]) == self.ids[spoken]]

    def put(self, changed: Sequence[Row]) -> None:
        """Put rows in the place of those at their positions."""
        places = [place_of(row) for row in changed]
        for row in forging.events(self.rows):
            if place_of(row) in places:
                self.rows.delete("event", row)
        for row in changed:
            self.rows.insert("event", row)


def read(store: onrecord.Store, key: str) -> Heard:
    """All that a conversation tells, a line each."""
    try:
        chat = store.get(key)
        lines = "\n".join(turn.text or "" for turn in chat.history()).splitlines()
        blobs = (each.blob for each in chat.documents())
        return lines + [chat.blob(blob).decode() for blob in blobs if blob is not None]
    except OnrecordError as error:
        return error


def opened(url: str, spoken: Spoken, keys: Path) -> onrecord.Store:
    return onrecord.connect(
        url, tenant=spoken.tenant, actor="eve", keys=keys / "keys.db", kek=keys / "kek"
    )


def id_in(value: UUID | bytes) -> UUID:
    """An id, as either database has it."""
    return value if isinstance(value, UUID) else UUID(bytes=value)


def place_of(row: Row) -> tuple[object, object]:
    """The shard and the position of an event; a file has one shard."""
    return row.get("shard"), row["position"]


def record(url: str, folder: Path) -> dict[Spoken, UUID]:
    """Four conversations of three subjects and two tenants, in turn; return their ids."""
    ids: dict[Spoken, UUID] = {}
    for number in (PROMPT, LATER):
        for spoken in ALL:
            with opened(url, spoken, folder) as store:
                chat = store.conversation(spoken.key, subjects=[spoken.subject])
                documents = [f"{words(spoken)}document".encode()] if number == PROMPT else []
                chat.user(f"{words(spoken)}{number}", documents=documents)
                ids[spoken] = chat.conversation_id
    return ids


def places(kind: str, folder: Path) -> Iterator[Encrypted]:
    """An encrypted store on SQLite or on PostgreSQL, recorded and sealed."""
    if kind == "sqlite":
        file = folder / "talks.db"
        yield from _recorded(f"sqlite:///{file}", folder, lambda: SqliteRows(file))
        return
    url = fresh_log(VERSIONS[-1])
    yield from _recorded(url, folder, lambda: PostgresRows(url))
    server(VERSIONS[-1]).drop(url)


def _recorded(url: str, folder: Path, rows: Callable[[], Rows]) -> Iterator[Encrypted]:
    new_key_file(folder / "kek")
    ids = record(url, folder)
    with opened(url, ANA, folder) as store:
        key = new_key(key_name_of(log_id_of(backend_of(store).digest)))
        forging.seal(store, key, folder / "seals")
    by_hand = rows()
    yield Encrypted(by_hand, folder, key, ids)
    by_hand.close()


def with_members(row: Row, other: Row, names: Sequence[str]) -> Row:
    """A row with some members of another one."""
    return {**row, **{name: other[name] for name in names}}


def faults_of(verified: Verified) -> Mapping[tuple[UUID | None, int], list[str]]:
    """The faults of `verify` by the conversation and the version that they name."""
    found: dict[tuple[UUID | None, int], list[str]] = {}
    for fault in verified.faults:
        found.setdefault((fault.conversation_id, fault.version), []).append(fault.why)
    return found
