"""No message, log line, warning or traceback of an encrypted store tells what was said, nor any key.

The errors are those of ciphertexts, documents and keys that somebody changed, of wrong keys, and of a
disk that is full. Everything is logged, down to what is for developers.
"""

from __future__ import annotations

import base64
import errno
import logging
import shutil
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import NoReturn

import apsw
import pytest

import onrecord
from onrecord.adapters.encryption.encrypted_log import EncryptedLog
from onrecord.adapters.encryption.key_file import KeyFile
from onrecord.adapters.encryption.sqlite.key_store import open_key_store
from onrecord.adapters.recording import spool
from onrecord.adapters.recording.unstored import PendingAppend
from onrecord.adapters.storage.sqlite.connection import Session, Value
from onrecord.adapters.store import backend_of, tenancy_of
from onrecord.adapters.transfer.export import export
from onrecord.domain.encryption.wrapped import WrappedKey, context_of
from onrecord.domain.errors import (
    CorruptRecord,
    InvalidInput,
    OnrecordError,
    StorageFull,
    StorageUnavailable,
)
from onrecord.domain.seals.checkpoint import log_id_of
from tests.factories import appending, prompt
from tests.sqlite_by_hand import ByHand
from tests.tampering.encrypted import ALL, ANA, LATER, PROMPT, Encrypted, places
from tests.tampering.postgres_rows import PostgresRows

CANARY = "canary"
"""What all texts and documents of the store begin with."""

FULL = """
CREATE FUNCTION onrecord.full() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END $$;
CREATE TRIGGER full_disk BEFORE INSERT ON onrecord.event FOR EACH ROW EXECUTE FUNCTION onrecord.full()
"""


@pytest.fixture(params=["sqlite", "postgres"])
def attacked(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Encrypted]:
    yield from places(request.param, tmp_path)


def secrets_of(attacked: Encrypted) -> list[bytes]:
    """All keys of a store: the key-encryption key, those of subjects, and what is derived from them."""
    line = (attacked.folder / "kek").read_text("ascii").strip()
    found = [base64.urlsafe_b64decode(f"{line.rpartition('.')[2]}=")]
    with attacked.opened() as store:
        log = backend_of(store)
        assert isinstance(log, EncryptedLog)
        log_id = log_id_of(log.digest)
        assert log.keys is not None
        kek = KeyFile(attacked.folder / "kek")
        with closing(open_key_store(attacked.folder / "keys.db", log_id)) as keys:
            for key_id in key_ids(attacked):
                record = keys.get(key_id)
                assert isinstance(record, WrappedKey)
                found.append(kek.unwrap(record.wrapped, context_of(log_id, key_id))[:32])
                cipher = log.cipher(key_id)
                assert cipher is not None
                data_key = cipher.data_key
                found += [data_key.body, data_key.blob_address, data_key.blob_pieces]
    return found


def key_ids(attacked: Encrypted) -> set[str]:
    headers = (attacked.events(spoken)[0]["header"] for spoken in ALL)
    return {header.partition(b'"key":"')[2].partition(b'"')[0].decode() for header in headers}


def forms(secret: bytes) -> list[str]:
    """How a text may show bytes: in hex, in base64 wherever it begins, and as Python does."""
    shifted = [base64.b64encode(bytes(shift) + secret)[4:-4].decode() for shift in (0, 1, 2)]
    safe = [text.replace("+", "-").replace("/", "_") for text in shifted]
    return [secret.hex(), repr(secret)[2:-1], *shifted, *safe]


class Heard:
    """All that a program tells of its errors."""

    def __init__(self) -> None:
        self.texts, self.errors = list[str](), list[type[BaseException]]()

    def of(self, work: Callable[[], object]) -> None:
        """Take the message and the traceback of what some work raises, if it does, and its warnings."""
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                work()
            except OnrecordError as error:
                self.errors.append(type(error))
                self.texts += [repr(error), *traceback.format_exception(error)]
        self.texts += [str(each.message) for each in warned]


def ask(attacked: Encrypted, heard: Heard, keys: Path | None = None) -> None:
    """Do all that reads a conversation, and take what it says where it fails."""

    def read_all() -> None:
        with attacked.opened(keys=keys) as store:
            log, chat = backend_of(store), store.get(ANA.key)
            reads: tuple[Callable[[], object], ...] = (
                chat.history,
                lambda: chat.request(api="openai-chat", model="gpt-4.1"),
                lambda: chat.blob(blob_of(store)),
                lambda: list(store.subjects.export("ana")),
                lambda: list(export(log, attacked.ids[ANA], ANA.key)),
                lambda: list(store.views.conversations()),
                lambda: heard.texts.extend(map(str, store.verify().faults)),
            )
            for read in reads:
                heard.of(read)

    heard.of(read_all)


def blob_of(store: onrecord.Store) -> onrecord.Blob:
    blob = store.get(ANA.key).documents()[0].blob
    assert blob is not None
    return blob


def damage(attacked: Encrypted) -> Iterator[str]:
    """Change one thing after the other; yield the table that is to be put back."""
    for index in (PROMPT, LATER):
        row = attacked.events(ANA)[index]
        attacked.rows.change("event", row, "body", row["body"][:-1] + b"\0")
        yield "event"
    row = attacked.events(ANA)[0]
    attacked.rows.change("event", row, "body", row["body"][:20])
    yield "event"
    one, other = attacked.events(ANA)[PROMPT], attacked.events(ALL[2])[PROMPT]
    names = ("header", "salt", "body")
    attacked.put([{**one, **{name: other[name] for name in names}}])
    yield "event"
    (table,) = {"blob_piece", "blob_chunk"} & set(attacked.rows.tables())
    for row in attacked.rows.rows(table):
        attacked.rows.change(table, row, "data", row["data"][:-1] + b"\0")
    yield table


def change_keys(keys: Path) -> Iterator[None]:
    """Change one thing of a key store, or of the key-encryption key, after the other."""
    kek, store = keys / "kek", keys / "keys.db"
    text, data = kek.read_text("ascii"), store.read_bytes()
    for changed in (text[:-9], f"{text[:-3]}A\n", text.replace("kek-", "kek-0"), text * 2):
        kek.write_text(changed, "ascii")
        yield
    kek.write_text(text, "ascii")
    for change in ("SET wrapped = zeroblob(76)", "SET wrapped = x'00'", "SET generation = 'kek-0'"):
        with closing(ByHand.open(store)) as by_hand:
            by_hand.run(f"UPDATE subject_key {change}")
        yield
        for beside in keys.glob("keys.db-wal"):
            beside.unlink()
        store.write_bytes(data)


def fill_disk(attacked: Encrypted, patch: pytest.MonkeyPatch) -> None:
    """Have no room for any event, nor for any file of the spool."""
    run = Session.run

    def without_room(session: Session, query: str, *values: Value) -> None:
        if query == "commit":
            raise apsw.FullError("FullError: database or disk is full")
        run(session, query, *values)

    def no_file(*_: object, **__: object) -> NoReturn:
        raise OSError(errno.ENOSPC, "No space left on device")

    patch.setattr(f"{spool.__name__}.write_atomically", no_file)
    if isinstance(attacked.rows, PostgresRows):
        attacked.rows.run(FULL)
    else:
        patch.setattr(Session, "run", without_room)


def say(attacked: Encrypted, heard: Heard, patch: pytest.MonkeyPatch) -> None:
    """Say something where there is no room for it."""
    with attacked.opened() as store:
        chat = store.get(ANA.key)
        late = PendingAppend(appending(chat.conversation_id, prompt(f"{CANARY} late")), {})
        with patch.context() as full:
            fill_disk(attacked, full)
            heard.of(lambda: chat.user(f"{CANARY} of a full disk"))
            heard.of(lambda: chat.assistant(f"{CANARY} answer"))
            heard.of(lambda: chat.user(f"{CANARY} paper", documents=[CANARY.encode()]))
            heard.of(lambda: store.conversation(f"{CANARY} key", subjects=[CANARY]).user(CANARY))
            heard.of(lambda: tenancy_of(store).spool.put(late, StorageFull("no room")))


def test_no_error_and_no_log_of_an_encrypted_store_tells_a_text_or_a_key(
    attacked: Encrypted,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("ONRECORD_SPOOL", str(tmp_path / "spool"))
    heard, secrets = Heard(), secrets_of(attacked)
    for table in damage(attacked):
        ask(attacked, heard)
        attacked.rows.undo(table)
    keys = tmp_path / "changed"
    keys.mkdir()
    for file in (*attacked.folder.glob("keys.db*"), attacked.folder / "kek"):
        shutil.copy(file, keys)
    for _ in change_keys(keys):
        ask(attacked, heard, keys)
    monkeypatch.setenv("CUT", (keys / "kek").read_text("ascii").strip()[:-5])
    heard.of(lambda: onrecord.connect(attacked.rows.url, keys=keys / "keys.db", kek="env:CUT"))
    say(attacked, heard, monkeypatch)
    assert len(heard.errors) > 25
    assert {CorruptRecord, InvalidInput, StorageFull, StorageUnavailable} <= set(heard.errors)
    assert "could not be recorded" in caplog.text
    out, err = capfd.readouterr()
    everything = "\n".join([*heard.texts, caplog.text, out, err])
    # Whose lines stand in tracebacks, this file's too, have it by its name alone.
    assert CANARY not in everything
    for secret in secrets:
        assert [form for form in forms(secret) if form in everything] == []
    assert len(secrets) == 13
