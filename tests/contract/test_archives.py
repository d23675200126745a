"""What counts as an archive, on every backend: nothing is erased behind one that is not what it says."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from onrecord.adapters.recording.spool import Spool
from onrecord.adapters.seals.places import place_at
from onrecord.adapters.store import Store, backend_of
from onrecord.adapters.upkeep.archives import ArchiveWriter, archived_bytes
from onrecord.adapters.upkeep.dispositions import Disposition
from onrecord.domain.errors import CorruptRecord
from onrecord.domain.log import Backend, RecordedEvent
from onrecord.domain.seals.checkpoint import log_id_of
from tests.contract.places import WHERE_THE_LOG_IS, prepared
from tests.factories import TENANT

RULE = "EU AI Act 19(1)"


class Death(BaseException):
    """The process ends here."""


@pytest.fixture(params=WHERE_THE_LOG_IS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    for place in prepared(request.param, tmp_path):
        opened = place.open()
        spool = Spool(tmp_path / "spool")
        yield Store(opened, "a store", spool=spool, tenant=TENANT, actor="eve")
        opened.close()


def expiring(store: Store, patch: pytest.MonkeyPatch, *names: str) -> None:
    """Let the class of these conversations have run out."""
    for name in names:
        store.conversation(name).user("swordfish")
    store.retention.set_class(1, rule=RULE)
    backend = backend_of(store)
    real, ahead = backend.clock, timedelta(days=2) // timedelta(microseconds=1)
    patch.setattr(backend, "clock", lambda: real() + ahead)


def altered(
    backend: Backend, patch: pytest.MonkeyPatch, change: Callable[[RecordedEvent], RecordedEvent]
) -> None:
    """Let the log give messages otherwise than they were recorded."""
    real = backend.read

    def read(*arguments: Any, **options: Any) -> Iterator[RecordedEvent]:
        for event in real(*arguments, **options):
            yield change(event) if event.type == "message.recorded" else event

    patch.setattr(backend, "read", read)


def with_another_body(event: RecordedEvent) -> RecordedEvent:
    return event._replace(body=(event.body or b"").replace(b"swordfish", b"goldfish!"))


def with_another_digest(event: RecordedEvent) -> RecordedEvent:
    return event._replace(digest=bytes(32))


def behind_a_gap(event: RecordedEvent) -> RecordedEvent:
    return event._replace(version=event.version + 1)


def other_bytes(_: UUID, __: str | None) -> list[bytes]:
    return [b"an archive"]


@pytest.mark.parametrize("change", [with_another_body, with_another_digest, behind_a_gap])
@pytest.mark.parametrize("writer", [None, other_bytes])
def test_a_damaged_conversation_is_not_erased_behind_an_archive(
    store: Store,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[RecordedEvent], RecordedEvent],
    writer: ArchiveWriter | None,
) -> None:
    expiring(store, monkeypatch, "a")
    outcomes: list[Disposition] = []
    with pytest.MonkeyPatch.context() as patch:
        altered(backend_of(store), patch, change)
        done = store.retention.expire(
            str(tmp_path / "archives"), writer=writer, each=outcomes.append
        )
    assert (done.erased, done.archived, done.left) == (0, 0, 1)
    (one,) = outcomes
    assert "version 2 is" in (one.fault or "")
    assert list((tmp_path / "archives").rglob("manifest.json")) == []
    assert store.erasures() == []
    assert store.retention.expire(str(tmp_path / "archives")).erased == 1


def test_a_conversation_that_cannot_be_read_is_counted_as_left_alone(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expiring(store, monkeypatch, "a", "b")
    damaged = store.get("a").conversation_id
    backend = backend_of(store)
    real = backend.read

    def read(conversation: Any, *arguments: Any, **options: Any) -> Iterator[RecordedEvent]:
        for event in real(conversation, *arguments, **options):
            yield event._replace(body=b"{") if conversation == damaged else event

    monkeypatch.setattr(backend, "read", read)
    outcomes: list[Disposition] = []
    done = store.retention.expire(str(tmp_path / "archives"), each=outcomes.append)
    assert (done.erased, done.left) == (1, 1)
    assert {one.conversation_id for one in outcomes if one.fault} == {damaged}


@pytest.mark.parametrize(
    "planted",
    [
        b'{"parts":[]}',
        b'{"parts":[{"name":"../../../../secret","size":6,"sha256":"'
        + hashlib.sha256(b"secret").hexdigest().encode()
        + b'"}]}',
        b'{"archived_by":"eve","archived_at":"2026-01-01T00:00:00.000000Z","parts":[]}',
        b"[]",
        b"not JSON",
    ],
)
def test_an_archive_that_somebody_planted_counts_for_nothing(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planted: bytes
) -> None:
    expiring(store, monkeypatch, "a")
    archives = tmp_path / "archives"
    folder = archives / str(TENANT) / str(store.get("a").conversation_id) / "2"
    folder.mkdir(parents=True)
    (tmp_path / "secret").write_bytes(b"secret")
    (folder / "manifest.json").write_bytes(planted)
    outcomes: list[Disposition] = []
    done = store.retention.expire(str(archives), each=outcomes.append)
    assert (done.erased, done.archived, done.left) == (0, 0, 1)
    assert "manifest" in (outcomes[0].fault or "")
    assert [path.name for path in folder.iterdir()] == ["manifest.json"]


def test_parts_of_an_archive_have_our_names(tmp_path: Path) -> None:
    (tmp_path / "archive").mkdir()
    (tmp_path / "secret").write_bytes(b"secret")
    digest = hashlib.sha256(b"secret").hexdigest()
    part = {"name": "../secret", "size": 6, "sha256": digest}
    (tmp_path / "archive" / "manifest.json").write_text(json.dumps({"parts": [part]}))
    with pytest.raises(CorruptRecord, match="not what was written"):
        list(archived_bytes(place_at(str(tmp_path)), "archive"))


def test_an_archive_of_a_run_before_counts_if_it_is_what_would_be_written(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expiring(store, monkeypatch, "a")
    url = str(tmp_path / "archives")

    def dying(*_: object) -> None:
        raise Death

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(backend_of(store), "forget", dying)
        with pytest.raises(Death):
            store.retention.expire(url, actor="ana")
    (manifest,) = (tmp_path / "archives").rglob("manifest.json")
    part, written = manifest.parent / "part-000000", manifest.read_bytes()
    expiring(store, monkeypatch, "b")
    assert store.retention.expire(url, actor="ben").left == 0
    assert manifest.read_bytes() == written
    assert part.exists()


def test_a_manifest_says_what_it_is_an_archive_of(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expiring(store, monkeypatch, "a")
    conversation = store.get("a").conversation_id
    assert store.retention.expire(str(tmp_path / "archives"), actor="ana").erased == 1
    (manifest,) = (tmp_path / "archives").rglob("manifest.json")
    document = json.loads(manifest.read_bytes())
    (part,) = document.pop("parts")
    assert part["name"] == "part-000000"
    assert document.pop("archived_at").endswith("Z")
    assert document == {
        "onrecord": "archive",
        "format": 1,
        "log": str(log_id_of(backend_of(store).digest)),
        "tenant": str(TENANT),
        "conversation": str(conversation),
        "version": 2,
        "class": 1,
        "rule": RULE,
        "archived_by": "ana",
    }
