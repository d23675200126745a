"""A file is written whole or not at all, and what was there before stays until then."""

import ast
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from onrecord.adapters.storage.atomic_files import create_together, write_atomically
from tests.faults.small_disk import small_disk

MEGABYTE = bytes(1024 * 1024)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def breaking() -> Iterator[bytes]:
    yield b"half of "
    raise KeyboardInterrupt


def test_a_new_file_holds_all_pieces_and_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    assert write_atomically(path, [b"one ", b"two"], replace=False) == 7
    assert path.read_bytes() == b"one two"
    assert mode_of(path) == 0o600
    assert names_in(tmp_path) == [path.name]


def test_what_is_there_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    path.write_bytes(b"old")
    with pytest.raises(FileExistsError):
        write_atomically(path, [b"new"], replace=False)
    assert path.read_bytes() == b"old"
    assert names_in(tmp_path) == [path.name]


def test_what_came_meanwhile_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"

    def pieces() -> Iterator[bytes]:
        yield b"new"
        path.write_bytes(b"of another program")

    with pytest.raises(FileExistsError):
        write_atomically(path, pieces(), replace=False)
    assert path.read_bytes() == b"of another program"
    assert names_in(tmp_path) == [path.name]


def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    path.write_bytes(b"old")
    path.chmod(0o640)
    write_atomically(path, [b"new"], replace=True)
    assert path.read_bytes() == b"new"
    assert mode_of(path) == 0o640
    write_atomically(path, [b"newer"], replace=True, is_private=True)
    assert (path.read_bytes(), mode_of(path)) == (b"newer", 0o600)


@pytest.mark.parametrize("replace", [False, True])
def test_an_interrupt_leaves_the_old_state_and_no_half_file(tmp_path: Path, replace: bool) -> None:
    path = tmp_path / "chat.jsonl"
    if replace:
        path.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt):
        write_atomically(path, breaking(), replace=replace)
    assert names_in(tmp_path) == ([path.name] if replace else [])
    assert not replace or path.read_bytes() == b"old"


def test_a_link_is_followed_and_stays_a_link(tmp_path: Path) -> None:
    named, link = tmp_path / "named", tmp_path / "link"
    named.write_bytes(b"old")
    link.symlink_to(named)
    write_atomically(link, [b"new"], replace=True)
    assert link.is_symlink()
    assert named.read_bytes() == b"new"


def test_a_link_that_leads_nowhere_is_no_file_to_replace(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "nowhere")
    write_atomically(link, [b"new"], replace=False)
    assert (tmp_path / "nowhere").read_bytes() == b"new"


def test_a_pipe_is_no_file_to_replace(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="not a regular file"):
        write_atomically(pipe, [b"new"], replace=True)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_name_as_long_as_may_be_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / ("ü" * 127)
    write_atomically(path, [b"new"], replace=False)
    assert path.read_bytes() == b"new"


def test_file_and_folder_are_flushed_before_it_is_said_to_be_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "chat.jsonl"
    seen: list[tuple[bool, bool]] = []

    def flushed(descriptor: int) -> None:
        is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        seen.append((is_folder, path.exists()))

    monkeypatch.setattr(os, "fsync", flushed)
    write_atomically(path, [b"new"], replace=False)
    assert seen == [(False, False), (True, True)]


def test_a_file_system_without_hard_links_does_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(Path, "hardlink_to", refused)
    path = tmp_path / "chat.jsonl"
    write_atomically(path, [b"new"], replace=False)
    assert path.read_bytes() == b"new"
    with pytest.raises(FileExistsError):
        write_atomically(path, [b"newer"], replace=False)
    assert names_in(tmp_path) == [path.name]


@pytest.mark.parametrize("replace", [False, True])
def test_a_full_disk_leaves_the_old_file_and_no_half_one(replace: bool) -> None:
    with small_disk(2) as disk:
        path = disk.folder / "chat.jsonl"
        if replace:
            path.write_bytes(b"old")
        with pytest.raises(OSError, match="No space left"):
            write_atomically(path, [MEGABYTE] * 3, replace=replace)
        assert names_in(disk.folder) == ([path.name] if replace else [])
        assert not replace or path.read_bytes() == b"old"


def test_a_size_limit_of_the_process_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    path.write_bytes(b"old")
    program = (
        "import resource, signal, sys; from pathlib import Path\n"
        "from onrecord.adapters.storage.atomic_files import write_atomically\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "write_atomically(Path(sys.argv[1]), [bytes(1024 * 1024)], replace=True)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=False
    )
    assert "File too large" in done.stderr
    assert path.read_bytes() == b"old"
    assert names_in(tmp_path) == [path.name]


TOGETHER = {"a/1": b"one", "a/2": b"two", "b/c/3": b"three"}


def files_in(folder: Path) -> dict[str, bytes]:
    found = (each for each in folder.rglob("*") if each.is_file())
    return {each.relative_to(folder).as_posix(): each.read_bytes() for each in found}


def test_files_that_are_made_together_are_all_flushed_before_the_first_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[tuple[int, int]] = []

    def flush(descriptor: int) -> None:
        flushed.append((os.fstat(descriptor).st_ino, len(set(files_in(tmp_path)) & set(TOGETHER))))

    monkeypatch.setattr(os, "fsync", flush)
    assert create_together(tmp_path, TOGETHER) == []
    assert files_in(tmp_path) == TOGETHER
    files = {((tmp_path / path).stat().st_ino, 0) for path in TOGETHER}
    folders = {(tmp_path / path).stat().st_ino for path in (".", "a", "b", "b/c")}
    assert set(flushed[:3]) == files
    assert set(flushed[3:]) == {(folder, 3) for folder in folders}


def test_what_is_there_is_left_named_and_flushed_by_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_together(tmp_path, {"a/2": b"old"})
    flushed: list[int] = []

    def flush(descriptor: int) -> None:
        flushed.append(os.fstat(descriptor).st_ino)

    monkeypatch.setattr(os, "fsync", flush)
    assert create_together(tmp_path, {"a/2": b"new"}) == ["a/2"]
    assert (tmp_path / "a").stat().st_ino in flushed
    assert files_in(tmp_path) == {"a/2": b"old"}


def test_of_files_made_together_one_that_came_meanwhile_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def meanwhile(_: int) -> None:
        (tmp_path / "a" / "2").write_bytes(b"of another")

    monkeypatch.setattr(os, "fsync", meanwhile)
    assert create_together(tmp_path, TOGETHER) == ["a/2"]
    assert files_in(tmp_path) == TOGETHER | {"a/2": b"of another"}


@pytest.mark.parametrize("step", range(7 + 3))
def test_an_interrupt_amid_files_made_together_leaves_whole_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    steps: list[str] = []

    def interrupted(name: str) -> None:
        take = getattr(os, name)

        def run(*arguments: object) -> None:
            steps.append(name)
            if len(steps) == step + 1:
                raise KeyboardInterrupt
            take(*arguments)

        monkeypatch.setattr(os, name, run)

    interrupted("fsync")
    interrupted("link")
    with pytest.raises(KeyboardInterrupt):
        create_together(tmp_path, TOGETHER)
    assert files_in(tmp_path).items() <= TOGETHER.items()
    create_together(tmp_path, TOGETHER)
    assert files_in(tmp_path) == TOGETHER


def test_a_full_disk_leaves_none_of_the_files_made_together() -> None:
    with small_disk(2) as disk:
        with pytest.raises(OSError, match="No space left"):
            create_together(disk.folder, {"1": MEGABYTE, "2": MEGABYTE, "3": MEGABYTE})
        assert files_in(disk.folder) == {}


def writes_a_file(call: ast.Call) -> bool:
    """Whether a call may be one that opens a file to write to it."""
    match call.func:
        case ast.Attribute(attr="write_bytes" | "write_text"):
            return True
        case ast.Attribute(attr="open") | ast.Name(id="open"):
            words = [arg.value for arg in call.args if isinstance(arg, ast.Constant)]
            return any(isinstance(word, str) and set(word) & set("wxa+") for word in words)
        case _:
            return False


def test_no_other_module_opens_a_file_to_write_to_it() -> None:
    """But the demo, in a folder of its own."""
    adapters = Path(__file__).parents[2] / "adapters"
    writing = {
        path.relative_to(adapters).as_posix()
        for path in adapters.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and writes_a_file(node)
    }
    assert {name for name in writing if not name.startswith("demo/")} == {"storage/atomic_files.py"}
