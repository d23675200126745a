"""A store seals when somebody asks, as it grows and as it closes, and nothing else fails by it."""

import logging
import multiprocessing
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import cast

import pytest

import onrecord
from onrecord.adapters.app import connect_tenants
from onrecord.adapters.seals.checkpoints import ShardSeals
from onrecord.adapters.seals.key_files import make_key_file, read_key_file
from onrecord.adapters.seals.places import Folder
from onrecord.adapters.seals.sealing import Sealer
from onrecord.adapters.seals.signing import new_key
from onrecord.adapters.seals.store_seals import StoreSeals
from onrecord.adapters.settings import SealSettings
from onrecord.adapters.storage.sqlite.sqlite import Sqlite
from onrecord.adapters.store import backend_of
from onrecord.domain.errors import CorruptRecord, InvalidInput
from onrecord.domain.seals.checkpoint import key_name_of, log_id_of
from onrecord.domain.seals.merkle import consistency_proof, is_consistent
from onrecord.domain.seals.notes import PublicKey
from onrecord.domain.seals.tiles import subtrees_in
from tests.adapters.seals.kept_checkpoints import checkpoints_at
from tests.factories import OTHER_TENANT, TENANT
from tests.patience import join, join_process


class Desk:
    """A SQLite store, its key, and a place for its seals."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.url = f"sqlite:///{folder / 'log' / 'talks.db'}"
        self.place = folder / "seals"
        self.key = folder / "seal.key"
        (folder / "log").mkdir()
        with onrecord.connect(self.url, seals="") as store:
            self.log_id = log_id_of(backend_of(store).digest)
        self.public = make_key_file(self.key, key_name_of(self.log_id)).public

    def open(self, place: Path | None = None) -> onrecord.Store:
        return onrecord.connect(self.url, seals=[str(place or self.place)], seal_key=self.key)

    def seals(self, *others: PublicKey) -> ShardSeals:
        return ShardSeals(Folder(self.place), self.log_id, 0, [self.public, *others])

    def sizes(self) -> list[int]:
        return self.seals().sizes()

    def must_hold(self) -> None:
        """Each checkpoint goes on from the one before, and the last one is the largest."""
        seals = self.seals()
        checkpoints = checkpoints_at(seals)
        last = seals.last()
        assert last is not None
        assert last.checkpoint == checkpoints[-1]
        subtrees = subtrees_in(last.checkpoint.size, seals.tile)
        for old in checkpoints:
            proof = consistency_proof(old.size, last.checkpoint.size, subtrees)
            assert is_consistent(
                old.size, old.hash, last.checkpoint.size, last.checkpoint.hash, proof
            )
        with onrecord.connect(self.url, seals="") as store:
            assert store.verify(roots=[each.root for each in checkpoints]).is_whole


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def say(store: onrecord.Store, count: int = 1) -> int:
    """Say something so often, and return how many events the log has then."""
    chat = store.conversation("support/4711")
    for number in range(count):
        chat.user(f"prompt {number}")
    return store.cursors()[0].position


def wait_for_seals() -> None:
    for thread in threading.enumerate():
        if thread.name == "onrecord-seals":
            join(thread)


def test_a_store_is_sealed_when_somebody_asks(desk: Desk) -> None:
    with desk.open() as store:
        events = say(store, 3)
        (sealed,) = store.seal()
    assert sealed.checkpoint.size == events
    assert sealed == desk.seals().last()


async def test_a_store_that_is_awaited_is_sealed_too(desk: Desk) -> None:
    place = str(desk.place)
    async with onrecord.connect_async(desk.url, seals=place, seal_key=desk.key) as store:
        await store.conversation("a").user("Hello")
        (sealed,) = await store.seal()
        await store.conversation("a").user("Hello again")
    assert desk.sizes() == [sealed.checkpoint.size, sealed.checkpoint.size + 1]


def test_what_was_appended_is_sealed_as_the_store_closes(desk: Desk) -> None:
    with desk.open() as store:
        events = say(store)
    assert desk.sizes() == [events]


def test_who_appended_nothing_seals_nothing(desk: Desk) -> None:
    with onrecord.connect(desk.url) as store:
        say(store)
    with desk.open() as store:
        store.verify()
    assert not desk.place.exists()


def test_nothing_is_sealed_without_a_place_and_a_key(desk: Desk) -> None:
    with onrecord.connect(desk.url, seals=str(desk.place)) as store:
        say(store)
        with pytest.raises(InvalidInput, match="set ONRECORD_SEAL_KEY"):
            store.seal()
    with onrecord.connect(desk.url, seal_key=desk.key) as store:
        say(store)
        with pytest.raises(InvalidInput, match="set ONRECORD_SEALS"):
            store.seal()
    assert not desk.place.exists()


def test_the_environment_says_it_too(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONRECORD_SEALS", f"{desk.place} {desk.folder / 'second'}")
    monkeypatch.setenv("ONRECORD_SEAL_KEY", f"{desk.key}")
    monkeypatch.setenv("ONRECORD_SEAL_VKEY", f"{desk.public}")
    with onrecord.connect(desk.url) as store:
        say(store)
        (sealed,) = store.seal()
    second = ShardSeals(Folder(desk.folder / "second"), desk.log_id, 0, [desk.public])
    assert sealed == desk.seals().last() == second.last()


@pytest.fixture
def growing(desk: Desk) -> Iterator[onrecord.Store]:
    """A store that seals after 10 events."""
    with onrecord.connect(desk.url, seals="") as store:
        seals = StoreSeals(backend_of(store), SealSettings((str(desk.place),), desk.key), events=10)
        cast("Sqlite", backend_of(store)).file.appended = seals.appended
        yield store


def test_an_embedded_store_is_sealed_after_so_many_events(
    desk: Desk, growing: onrecord.Store
) -> None:
    say(growing, 2)
    wait_for_seals()
    assert not desk.place.exists()
    events = say(growing, 30)
    wait_for_seals()
    assert 1 <= len(desk.sizes()) <= events // 10
    assert events - desk.sizes()[-1] < 10
    desk.must_hold()


def test_a_place_that_cannot_be_reached_fails_no_append_and_is_told_once(
    desk: Desk, growing: onrecord.Store, caplog: pytest.LogCaptureFixture
) -> None:
    desk.place.write_text("no folder")
    with caplog.at_level(logging.WARNING, "onrecord"):
        for _ in range(3):
            say(growing, 11)
            wait_for_seals()
    (record,) = caplog.records
    assert "what was recorded is not sealed yet: the place of the seals" in record.getMessage()
    desk.place.unlink()
    say(growing, 11)
    wait_for_seals()
    desk.must_hold()


def test_where_no_thread_begins_nothing_fails_and_the_next_append_tries_again(
    desk: Desk, growing: onrecord.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as among_many:
        among_many.setattr(threading.Thread, "start", fail)
        say(growing, 30)
    assert not desk.place.exists()
    events = say(growing)
    wait_for_seals()
    assert desk.sizes() == [events]


def test_a_place_that_cannot_be_reached_is_a_warning_on_closing(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    desk.place.write_text("no folder")
    with desk.open() as store, caplog.at_level(logging.WARNING, "onrecord"):
        say(store)
    assert len(caplog.records) == 1


def test_tenants_of_one_backend_are_sealed_together(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONRECORD_SEALS", str(desk.place))
    monkeypatch.setenv("ONRECORD_SEAL_KEY", str(desk.key))
    first, open_store = connect_tenants(desk.url)
    say(open_store(TENANT), 2)
    events = say(open_store(OTHER_TENANT), 2)
    first.close()
    assert desk.sizes() == [events]


def in_child(work: Callable[[], None]) -> None:
    process = multiprocessing.get_context("fork").Process(target=work)
    process.start()
    join_process(process)
    assert process.exitcode == 0


def test_a_forked_child_seals_what_it_appended_itself(desk: Desk) -> None:
    store = desk.open()
    say(store)
    in_child(store.close)
    assert not desk.place.exists()

    def append_and_close() -> None:
        say(store)
        store.close()

    in_child(append_and_close)
    (sealed,) = desk.sizes()
    events = say(store)
    store.close()
    assert desk.sizes() == [sealed, events]
    desk.must_hold()


def test_processes_that_seal_one_file_meet_harmlessly(desk: Desk) -> None:
    def append_and_seal() -> None:
        with desk.open() as store:
            for _ in range(5):
                say(store, 3)
                store.seal()

    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=append_and_seal) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        join_process(process)
    assert [process.exitcode for process in processes] == [0, 0, 0]
    with desk.open() as store:
        say(store)
    desk.must_hold()


class Watched(Folder):
    """A place at which something happens before a step."""

    def __init__(self, root: Path, step: int, happen: Callable[[], object]) -> None:
        super().__init__(root)
        self._step, self._happen = step, happen
        self.steps = 0

    def read(self, path: str, most: int = 1 << 20) -> bytes | None:
        self._take_step()
        return super().read(path, most)

    def create(self, path: str, data: bytes) -> None:
        self._take_step()
        super().create(path, data)

    def create_all(self, files: Mapping[str, bytes]) -> None:
        self._take_step()
        super().create_all(files)

    def replace(self, path: str, data: bytes) -> None:
        self._take_step()
        super().replace(path, data)

    def _take_step(self) -> None:
        self.steps += 1
        if self.steps == self._step:
            self._happen()


def watched_seal(desk: Desk, store: onrecord.Store, step: int, happen: Callable[[], object]) -> int:
    """Seal at a place where something happens before a step; return how many steps there were."""
    place = Watched(desk.place, step, happen)
    Sealer(backend_of(store), read_key_file(desk.key), [place]).seal()
    return place.steps


def test_another_seal_amid_one_leaves_a_place_that_holds(desk: Desk) -> None:
    step = 1
    while True:
        with desk.open() as store, desk.open() as other:
            say(store, 2)

            def seal_more(other: onrecord.Store = other) -> None:
                say(other)
                other.seal()

            steps = watched_seal(desk, store, step, seal_more)
        if step > steps:
            break
        step += 1
    assert step > 5
    desk.must_hold()


def test_an_interrupt_amid_a_seal_leaves_a_place_that_holds(desk: Desk) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    interrupted = 0
    with desk.open() as store:
        while True:
            say(store, 2)
            try:
                watched_seal(desk, store, interrupted + 1, interrupt)
            except KeyboardInterrupt:
                interrupted += 1
            else:
                break
    assert interrupted > 4
    desk.must_hold()


def test_a_key_of_another_log_is_refused(desk: Desk) -> None:
    other = desk.folder / "other.key"
    make_key_file(other, "onrecord.log/another")
    with (
        onrecord.connect(desk.url, seals=str(desk.place), seal_key=other) as store,
        pytest.raises(InvalidInput, match=r"is of another log: it signs for onrecord.log/another"),
    ):
        store.seal()
    assert not desk.place.exists()


def test_a_new_key_goes_on_where_the_old_one_is_trusted(desk: Desk) -> None:
    with desk.open() as store:
        say(store)
    new = desk.folder / "new.key"
    public = make_key_file(new, key_name_of(desk.log_id)).public
    place = str(desk.place)
    with onrecord.connect(desk.url, seals=place, seal_key=new) as store:
        events = say(store)
        with pytest.raises(CorruptRecord, match="is no key that was given"):
            store.seal()
    with onrecord.connect(desk.url, seals=place, seal_key=new, seal_vkey=str(desk.public)) as store:
        (sealed,) = store.seal()
    assert sealed.checkpoint.size == events
    assert desk.seals(public).last() == sealed


def test_a_log_that_lost_events_by_a_restore_is_sealed_at_a_new_place_only(desk: Desk) -> None:
    with desk.open() as store:
        say(store)
    shutil.copytree(desk.folder / "log", desk.folder / "backup")
    with desk.open() as store:
        lost = say(store, 2)
    shutil.rmtree(desk.folder / "log")
    shutil.copytree(desk.folder / "backup", desk.folder / "log")
    with desk.open() as store, pytest.raises(CorruptRecord, match=f"{lost} are sealed at"):
        store.seal()
    with desk.open(desk.folder / "new") as store:
        (sealed,) = store.seal()
    assert sealed.checkpoint.log_id == desk.log_id
    assert sealed.checkpoint.size < lost


def test_a_service_seals_its_own_log() -> None:
    with pytest.raises(InvalidInput, match="its own seals"):
        onrecord.connect("https://example.org", seals="seals")


def test_a_store_in_memory_is_sealed_when_somebody_asks(tmp_path: Path) -> None:
    with onrecord.connect("memory://") as store:
        log_id = log_id_of(backend_of(store).digest)
        say(store)
        seals = StoreSeals(
            backend_of(store), SealSettings((str(tmp_path),), _written(tmp_path, log_id))
        )
        (sealed,) = seals.seal()
    assert sealed.checkpoint.log_id == log_id


def _written(folder: Path, log_id: object) -> Path:
    file = folder / "seal.key"
    file.touch(0o600)
    file.write_text(new_key(f"onrecord.log/{log_id}").encode())
    return file
