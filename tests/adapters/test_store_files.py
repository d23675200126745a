"""No command writes over a file of the store that it works on, however that file is spelled."""

import shutil
from pathlib import Path

import pytest

import onrecord
from onrecord.adapters.encryption.key_file import new_key_file
from onrecord.adapters.seals.key_files import make_key_file
from onrecord.adapters.store import backend_of, tenancy_of
from onrecord.adapters.upkeep.files import files_of
from tests.adapters.cli.command import Command, in_process
from tests.faults.small_disk import small_disk

KEY = "support/4711"


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return in_process(monkeypatch, capsys)


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "store"
    folder.mkdir()
    monkeypatch.setenv("ONRECORD_URL", f"sqlite:///{folder / 'onrecord.db'}")
    monkeypatch.chdir(folder)
    with onrecord.connect() as store:
        store.conversation(KEY).user("What is this?")
    return folder / "onrecord.db"


def still_whole(command: Command) -> bool:
    return command("verify").code == 0 and "What is this?" in command("show", KEY).out


def test_every_file_that_a_store_makes_is_its_own(database: Path) -> None:
    with onrecord.connect() as store:
        store.conversation(KEY).user("And this?")
        store.views.conversations()
        own = files_of(store.url, backend_of(store), tenancy_of(store).spool)
        made = sorted(database.parent.iterdir())
        assert len(made) >= 5
        assert [path.name for path in made if not own.has(path)] == []
        assert own.has(tenancy_of(store).spool.folder / "waiting.json")
        assert own.has(tenancy_of(store).spool.folder.parent / "of-another-tenant" / "waiting.json")
        assert not own.has(database.with_name("4711.jsonl"))
        assert not own.has(database.parent.with_name("onrecord.db"))


@pytest.mark.parametrize(
    "ending", ["", "-wal", "-shm", "-journal", "-lock", "-views", "-views-wal", "-views-lock"]
)
@pytest.mark.parametrize("force", [(), ("--force",)])
def test_an_export_never_takes_a_name_of_the_stores(
    command: Command, database: Path, ending: str, force: tuple[str, ...]
) -> None:
    command("overview")
    target = database.with_name(database.name + ending)
    before = target.read_bytes() if target.exists() else None
    done = command("export", KEY, "-o", target.name, *force)
    assert done.code == 1
    assert done.err == (
        f"onrecord: {target.name} is a file of the store itself: choose another name\n"
    )
    assert (target.read_bytes() if target.exists() else None) == before
    assert still_whole(command)


def test_an_export_never_takes_the_place_of_another_store(
    command: Command, database: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.db"
    with onrecord.connect(f"sqlite:///{other}") as store:
        store.conversation(KEY).user("Hello")
    before = other.read_bytes()
    done = command("export", KEY, "-o", str(other), "--force")
    assert (done.code, other.read_bytes()) == (1, before)
    assert done.err.endswith("other.db is a store or a key of Onrecord's: choose another name\n")


def test_an_export_never_takes_the_place_of_keys(
    command: Command, database: Path, tmp_path: Path
) -> None:
    new_key_file(tmp_path / "kek")
    make_key_file(tmp_path / "seal.key", "onrecord.log/a")
    encrypted = f"sqlite:///{tmp_path / 'encrypted.db'}"
    with onrecord.connect(encrypted, keys=tmp_path / "keys.db", kek=tmp_path / "kek") as store:
        store.conversation(KEY).user("Hello")
    for name in ("keys.db", "kek", "seal.key"):
        before = (tmp_path / name).read_bytes()
        done = command("export", KEY, "-o", str(tmp_path / name), "--force")
        assert (done.code, (tmp_path / name).read_bytes()) == (1, before)


def test_other_spellings_and_links_of_the_store_are_refused(
    command: Command, database: Path, tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to(database)
    (tmp_path / "folder").symlink_to(database.parent)
    (tmp_path / "hard").hardlink_to(database)
    (tmp_path / "twice").symlink_to(tmp_path / "link")
    (tmp_path / "journal").symlink_to(database.with_name("onrecord.db-journal"))
    for spelled in (
        tmp_path / "link",
        tmp_path / "folder" / "onrecord.db",
        tmp_path / "folder" / "onrecord.db-journal",
        tmp_path / "folder" / "onrecord.db-spool" / "export.jsonl",
        tmp_path / "hard",
        tmp_path / "twice",
        tmp_path / "journal",
        database.parent / ".." / "store" / "onrecord.db",
        database.with_name("ONRECORD.DB-WAL"),
    ):
        done = command("export", KEY, "-o", str(spelled), "--force")
        assert (done.code, "of the store itself" in done.err) == (1, True), spelled
    assert still_whole(command)


def test_an_export_writes_over_a_file_only_when_forced(
    command: Command, database: Path, tmp_path: Path
) -> None:
    file = tmp_path / "4711.jsonl"
    file.write_text("mine")
    done = command("export", KEY, "-o", str(file))
    assert (done.code, done.err) == (
        1,
        f"onrecord: {file} is there already: choose another, or say --force\n",
    )
    assert file.read_text() == "mine"
    assert command("export", KEY, "-o", str(file), "--force").code == 0
    assert command("import", str(file), "--check").code == 0


def test_an_export_that_finds_the_disk_full_leaves_the_old_file(
    command: Command, database: Path
) -> None:
    with onrecord.connect() as store:
        store.conversation(KEY).user("And this?", documents=[bytes(3 * 1024 * 1024)])
    with small_disk(1) as disk:
        file = disk.folder / "4711.jsonl"
        file.write_text("mine")
        done = command("export", KEY, "-o", str(file), "--force")
        assert (done.code, done.err) == (
            1,
            f"onrecord: {file} cannot be written: No space left on device\n",
        )
        assert file.read_text() == "mine"
        assert list(disk.folder.iterdir()) == [file]


@pytest.mark.parametrize("name", ["onrecord.db-journal", "onrecord.db-wal", "onrecord.db"])
def test_a_document_named_as_the_stores_journal_is_no_journal_of_it(
    command: Command, database: Path, tmp_path: Path, name: str
) -> None:
    document = tmp_path / name
    document.write_text("no journal")
    with onrecord.connect() as store:
        store.conversation(KEY).user("And this?", documents=[document])
    saved = command("documents", KEY, "--save", ".", "--json").documents
    [file] = [Path(each["file"]) for each in saved]
    assert file.name.startswith("onrecord (2).db")
    assert file.read_text() == "no journal"
    assert still_whole(command)


def test_documents_are_not_saved_among_what_waits_for_the_store(
    command: Command, database: Path
) -> None:
    done = command("documents", KEY, "--save", "onrecord.db-spool/here")
    assert (done.code, done.err) == (
        1,
        "onrecord: onrecord.db-spool/here is the store's own: choose another folder\n",
    )
    assert not database.with_name("onrecord.db-spool").exists()


def test_what_waits_for_a_store_of_no_file_is_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONRECORD_SPOOL", str(tmp_path / "spool"))
    with onrecord.connect("memory://") as store:
        own = files_of(store.url, backend_of(store), tenancy_of(store).spool)
        assert own.has(tenancy_of(store).spool.folder / "export.jsonl")
        shutil.copytree(tmp_path, tmp_path / "other", dirs_exist_ok=True)
        assert not own.has(tmp_path / "other" / "export.jsonl")
