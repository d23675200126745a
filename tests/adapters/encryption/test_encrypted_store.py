"""A store that one setting encrypts: for its users it is as any other, and its files hold no text."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import pytest

import onrecord
from onrecord import Store
from onrecord.adapters.encryption.encrypted_log import EncryptedLog, stored_of
from onrecord.adapters.encryption.key_file import new_key_file
from onrecord.adapters.store import backend_of
from onrecord.adapters.transfer.evidence import Scope
from onrecord.adapters.transfer.export import export
from onrecord.adapters.transfer.importing import import_file
from onrecord.domain.encryption.bodies import encrypted_header, key_name_in
from onrecord.domain.header import body_digest, leaf, recorded_header
from onrecord.domain.log import Duplicate, Recorded
from onrecord.errors import InvalidExport, InvalidInput, OnrecordError, StorageUnavailable
from onrecord.eventsourcing import save_together
from tests import postgres_server as postgres
from tests.adapters.storage.eventsourcing.refunds import Refund, Refunds, environment
from tests.adapters.transfer.bundles import check, flipped, flipped_under_a_new_end, sealed_store
from tests.adapters.transfer.bundles import talk as told
from tests.contract.http_places import KEY, HttpPlace, server
from tests.factories import TENANT, appending, drafted, prompt, started
from tests.postgres_places import fresh_log
from tests.postgres_server import VERSIONS
from tests.sqlite_by_hand import ByHand, Unruled

CANARY = "the canary sings"


@pytest.fixture(autouse=True)
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key-encryption key, and a key store, as the environment names them."""
    file = tmp_path / "kek"
    new_key_file(file)
    monkeypatch.setenv("ONRECORD_KEYS", str(tmp_path / "keys.db"))
    monkeypatch.setenv("ONRECORD_KEK", str(file))


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'log.db'}"


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with onrecord.connect(url) as opened:
        yield opened


def talk(store: Store) -> None:
    chat = store.conversation("support/4711", subjects=["ana", "ben"])
    chat.instruct(f"Say that {CANARY}.")
    chat.user(CANARY, message_id="m-1")
    chat.assistant(CANARY)
    chat.fork("support/4711/b").user(CANARY)


def test_its_files_hold_no_text_and_its_users_read_it(store: Store, tmp_path: Path) -> None:
    talk(store)
    chat = store.get("support/4711")
    assert chat.user(CANARY, message_id="m-1") == Duplicate(3, 3)
    assert CANARY in str(chat.request(api="openai-chat", model="gpt-4.1").body)
    assert [turn.text for turn in store.get("support/4711/b").history()].count(CANARY) == 3
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [path for path in files if CANARY.encode() in path.read_bytes()] == []


def test_it_verifies_with_the_keys_and_without(
    store: Store, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk(store)
    verified = store.verify()
    assert (verified.is_whole, verified.unchecked) == (True, ())
    monkeypatch.delenv("ONRECORD_KEYS")
    monkeypatch.delenv("ONRECORD_KEK")
    with onrecord.connect(url) as locked:
        verified = locked.verify()
        assert verified.is_whole
        assert any("encrypted events without a key" in each for each in verified.unchecked)


def test_without_its_keys_nothing_is_read_nor_said(
    store: Store, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk(store)
    monkeypatch.delenv("ONRECORD_KEYS")
    monkeypatch.delenv("ONRECORD_KEK")
    with onrecord.connect(url) as locked:
        chat = locked.conversation("support/4711")
        with pytest.raises(StorageUnavailable, match="ONRECORD_KEYS"):
            list(chat.events())
        with pytest.raises(StorageUnavailable, match="ONRECORD_KEYS"):
            chat.user("Hello")
        assert chat.head().version == 5


@pytest.mark.parametrize(("keys", "kek"), [("", None), (None, "")])
def test_one_of_the_two_alone_is_refused(url: str, keys: str | None, kek: str | None) -> None:
    with pytest.raises(InvalidInput, match="name both"):
        onrecord.connect(url, keys=keys, kek=kek)


def test_a_log_that_has_events_in_clear_is_not_encrypted_from_here_on(url: str) -> None:
    with onrecord.connect(url, keys="", kek="") as clear:
        clear.conversation("a").user("Hello")
        with pytest.raises(InvalidInput, match="encrypted store alone"):
            clear.conversation("b", subjects=["ana"])
    with pytest.raises(InvalidInput, match="in clear"):
        onrecord.connect(url)


def test_a_log_is_known_as_encrypted_amid_many_events_of_operators(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with onrecord.connect(url, access_log="on") as store:
        for number in range(30):
            store.access.record("case console", which=None, actor="eve", entries=number)
        talk(store)
        for number in range(30):
            store.access.record("case console", which=None, actor="eve", entries=number)
    monkeypatch.delenv("ONRECORD_KEYS")
    monkeypatch.delenv("ONRECORD_KEK")
    with onrecord.connect(url) as locked, pytest.raises(StorageUnavailable, match="is encrypted"):
        locked.conversation("another").user("Hello")


def test_a_key_store_that_is_missing_is_not_made_for_an_encrypted_log(
    store: Store, url: str, tmp_path: Path
) -> None:
    talk(store)
    with pytest.raises(StorageUnavailable, match="there is no key store at"):
        onrecord.connect(url, keys=tmp_path / "mistyped.db")
    assert not (tmp_path / "mistyped.db").exists()


def test_one_key_that_is_missing_stops_nothing_of_others(url: str, tmp_path: Path) -> None:
    with onrecord.connect(url) as store:
        store.conversation("gone", subjects=["ana"]).user(CANARY)
        store.conversation("there", subjects=["ben"]).user(CANARY)
        gone = store.get("gone").conversation_id
        name = key_name_in(next(iter(stored_of(backend_of(store)).read(gone))).header)
    assert name is not None
    with closing(ByHand.open(tmp_path / "keys.db")) as keys:
        keys.run("DELETE FROM subject_key WHERE key_id = ?", name)
    with onrecord.connect(url) as store:
        assert store.get("there").history()[0].text == CANARY
        faults = store.verify().faults
        assert {fault.conversation_id for fault in faults} == {gone}
        assert all("has no key" in fault.why for fault in faults)
        assert [each.events for each in store.subjects.conversations("ben")] == [2]
        assert store.forget("there", reason="asked to", actor="eve").events == 2


def test_a_changed_body_is_named_by_its_version_though_its_hashes_were_made_anew(
    url: str, tmp_path: Path
) -> None:
    with onrecord.connect(url) as store:
        talk(store)
        conversation = store.get("support/4711").conversation_id
        (event,) = stored_of(backend_of(store)).read(conversation, after=2, until=3)
    assert event.body is not None
    assert event.salt is not None
    body = event.body[:-1] + bytes([event.body[-1] ^ 1])
    digest = body_digest(event.salt, body)
    place = event.version, event.position, event.recorded_at
    made_anew = leaf(recorded_header(event.header, *place), digest)
    with closing(Unruled.open(tmp_path / "log.db")) as log:
        change = "UPDATE event SET body = ?, digest = ?, leaf = ? WHERE position = ?"
        log.run(change, body, digest, made_anew, event.position)
    with onrecord.connect(url) as store:
        (fault,) = store.verify().faults
    assert (fault.version, "was changed, or is under another key" in fault.why) == (3, True)


def test_keys_are_never_kept_in_the_log_itself(url: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="is a log"):
        onrecord.connect(url, keys=tmp_path / "log.db")
    with pytest.raises(InvalidInput, match="is a file or a PostgreSQL database"):
        onrecord.connect(url, keys="redis://keys/")


def test_views_of_it_hold_no_text(store: Store, url: str) -> None:
    store.conversation("support/4711").user(CANARY)
    assert [(each.key, each.title) for each in store.views.conversations()] == [
        ("support/4711", None)
    ]
    with pytest.raises(InvalidInput, match="search may hold no text"):
        store.views.search("canary")
    with onrecord.connect(url, plain_views="search window") as allowing:
        assert len(allowing.views.search("canary")) == 1


def test_what_is_saved_with_an_aggregate_is_encrypted_too(store: Store, url: str) -> None:
    chat = store.conversation("support/4711")
    refunds = Refunds(env=environment(url))
    save_together(refunds, [Refund(cents=500)], chat.user, CANARY)
    refunds.close()
    assert chat.history()[0].text == CANARY
    stored = stored_of(backend_of(store)).read(chat.conversation_id)
    assert not any(CANARY.encode() in (event.body or b"") for event in stored)


def test_an_export_of_it_is_for_its_own_log_and_one_in_clear_comes_in(
    store: Store, tmp_path: Path
) -> None:
    talk(store)
    own, file = store.get("support/4711"), tmp_path / "export.jsonl"
    file.write_bytes(b"".join(export(backend_of(store), own.conversation_id, own.key)))
    assert CANARY.encode() not in file.read_bytes()
    with onrecord.connect("memory://", keys="", kek="") as clear:
        with pytest.raises(InvalidExport, match="is encrypted"):
            import_file(backend_of(clear), clear.tenant, file)
        talked = clear.conversation("clear")
        talked.user(CANARY)
        lines = export(backend_of(clear), talked.conversation_id, talked.key)
        file.write_bytes(b"".join(lines))
    for recorded in (2, 0):
        done = import_file(backend_of(store), store.tenant, file)
        assert done.recorded == recorded
    assert store.get("clear").history()[0].text == CANARY


def test_keys_are_rotated_and_no_event_changes(store: Store) -> None:
    talk(store)
    log = backend_of(store)
    assert isinstance(log, EncryptedLog)
    assert log.keys is not None
    before = list(log.stored.read(store.get("support/4711").conversation_id))
    assert log.keys.rotate().rewrapped == 2
    assert list(log.stored.read(store.get("support/4711").conversation_id)) == before
    store.get("support/4711").user("Hello")


def test_clients_of_a_service_use_it_without_keys(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = HttpPlace(server().serve(url))
    monkeypatch.delenv("ONRECORD_KEYS")
    monkeypatch.delenv("ONRECORD_KEK")
    with closing(place.open()) as backend:
        said = appending(conversation := uuid4(), started(), prompt(CANARY))
        assert backend.append([said]) == [Recorded(1, 2, 2)]
        assert backend.append([said]) == [Duplicate(1, 2)]
        assert [event.event() for event in backend.read(conversation)][1] == prompt(CANARY)
        foreign = drafted(prompt(), conversation)
        header = encrypted_header(foreign.header, "a" * 32)
        with pytest.raises(OnrecordError):
            backend.append([appending(conversation, foreign._replace(header=header))])
        assert backend.head(conversation).version == 2
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [path for path in files if CANARY.encode() in path.read_bytes()] == []
    place.remove()


def test_subjects_are_named_where_the_log_is(url: str) -> None:
    place = HttpPlace(server().serve(url))
    with onrecord.connect(place.url, key=KEY, keys="", kek="") as client:
        with pytest.raises(InvalidInput, match="by its own URL"):
            client.conversation("a", subjects=["ana"])
        with pytest.raises(InvalidInput, match="by its own URL"):
            client.subjects.conversations("ana")
    place.remove()


def test_its_evidence_holds_and_has_no_text_and_no_bit_of_it_can_be_changed(
    store: Store, tmp_path: Path
) -> None:
    sealed = sealed_store(backend_of(store), tmp_path)
    told(sealed)
    data = sealed.evidence(Scope(TENANT))
    counts = check(data, sealed.vkey).counts
    assert (counts["encrypted"], counts["erased"]) == (counts["events"] - 2, 2)
    assert b"Where is it?" not in data
    flipped(data, sealed.vkey, 1_000)
    flipped_under_a_new_end(data, sealed.vkey, 300)


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_programs_with_coroutines_use_it_as_well(kind: str, url: str) -> None:
    place = url if kind == "sqlite" else fresh_log(VERSIONS[-1])

    async def converse() -> str | None:
        async with onrecord.connect_async(place) as store:
            chat = store.conversation("support/4711", subjects=["ana"])
            await chat.user(CANARY, message_id="m-1")
            assert await chat.user(CANARY, message_id="m-1") == Duplicate(2, 2)
            assert (await store.verify()).is_whole
            return (await chat.history())[0].text

    assert asyncio.run(converse()) == CANARY
    if kind == "postgres":
        postgres.server(VERSIONS[-1]).drop(place)


@pytest.mark.parametrize(
    "keys",
    [
        "postgresql:ana:xq9-secret@host/keys",
        " Postgres:/ana:xq9-secret@host/keys",
        "mysql://ana:xq9-secret@host/keys",
        "host=db password=xq9-secret",
    ],
)
def test_what_is_meant_for_a_server_is_no_path_and_no_message_repeats_it(
    url: str, keys: str
) -> None:
    with pytest.raises(InvalidInput, match="postgresql://user@host/database") as refused:
        onrecord.connect(url, keys=keys)
    assert "xq9" not in str(refused.value)
