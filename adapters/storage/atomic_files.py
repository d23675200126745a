"""A file that is written whole or not at all.

The bytes go into a new file beside it, which is flushed to the disk and then takes the name. A
reader, a full disk and a power cut meet the old file or the new one, never half of either. Many
new files may be flushed together, in two rounds: first their bytes, then their names.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
import sys
from collections.abc import Generator, Iterable, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path, PurePath
from typing import BinaryIO, Final

_LONGEST_NAME: Final = 255
"""In bytes, as file systems take them."""

_PRIVATE: Final = 0o600
"""What is written here is what people said: others may read it once its owner lets them."""

_NO_LINKS: Final = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS})
"""How file systems without hard links refuse one."""


def write_atomically(
    path: Path, pieces: Iterable[bytes], *, replace: bool, is_private: bool = False
) -> int:
    """Write a file and return its size; OSError, and the old state, where that cannot be.

    FileExistsError where something has the name already; with `replace` a file gives way to the
    new one, which keeps its permissions, unless it `is_private`: then only its owner may read it.
    A link is followed: what it names is written.
    """
    target = Path(os.path.realpath(path))
    mode = _mode_of(target, replace=replace)
    mode = _PRIVATE if is_private else mode
    aside = _aside(target)
    try:
        size = _write(aside, pieces, mode)
        _give_name(aside, target, replace=replace)
    except BaseException:
        with suppress(OSError):
            aside.unlink()
        raise
    _flush_folder(target.parent)
    return size


def create_together(root: Path, files: Mapping[str, bytes]) -> list[str]:
    """Write new files by their paths under a folder; return the paths that something has already; OSError.

    All names are durable at the end, with the folders that lead to them: also the names that were
    there, which another program may not have flushed yet. Whatever happens amid this, each name has
    a whole file or none. As many files are open at once as there are.
    """
    with ExitStack() as stack:
        new = {
            path: stack.enter_context(_beside(root / path, data))
            for path, data in files.items()
            if not os.path.lexists(root / path)
        }
        # A name may reach the disk before it is flushed, so all bytes are there before the first name.
        for _, file in new.values():
            os.fsync(file.fileno())
        named = {path for path, (aside, _) in new.items() if _has_taken(aside, root / path)}
    for folder in sorted({root / folder for path in files for folder in PurePath(path).parents}):
        _flush_folder(folder)
    return [path for path in files if path not in named]


def replace_secret(path: Path, pieces: Iterable[bytes]) -> None:
    """Write a file anew, and then zeros over what it was, which has no name any more; OSError."""
    with path.open("r+b") as before:
        write_atomically(path, pieces, replace=True)
        before.write(bytes(os.fstat(before.fileno()).st_size))
        before.flush()
        os.fsync(before.fileno())


def _mode_of(target: Path, *, replace: bool) -> int:
    """Return the permissions for a file; refuse what is no file, and what is not to be replaced."""
    try:
        there = target.lstat()
    except FileNotFoundError:
        return _PRIVATE
    if not replace:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))
    if not stat.S_ISREG(there.st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file", str(target))
    return stat.S_IMODE(there.st_mode)


def _aside(target: Path) -> Path:
    """Return a name beside a file that nothing has; it holds the file's own, as far as there is room."""
    ending = f".{secrets.token_hex(4)}.part"
    room = _LONGEST_NAME - len(ending) - 1
    return target.with_name("." + os.fsdecode(os.fsencode(target.name)[:room]) + ending)


@contextmanager
def _beside(target: Path, data: bytes) -> Generator[tuple[Path, BinaryIO]]:
    """Write a file that is to take a name; it is gone at the end, unless it took it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    aside = _aside(target)
    try:
        with _new(aside) as file:
            file.write(data)
            file.flush()
            _begin_flush(file.fileno())
            yield aside, file
    finally:
        with suppress(OSError):
            aside.unlink()


def _begin_flush(descriptor: int) -> None:
    """Have the bytes on their way: the first flush of many then commits the journal for all of them."""
    if sys.platform == "linux":
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)


def _new(aside: Path) -> BinaryIO:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    return open(os.open(aside, flags, _PRIVATE), "wb")  # noqa: PTH123 - a descriptor


def _write(aside: Path, pieces: Iterable[bytes], mode: int) -> int:
    with _new(aside) as file:
        size = sum(map(file.write, pieces))
        file.flush()
        if mode != _PRIVATE:
            os.fchmod(file.fileno(), mode)
        os.fsync(file.fileno())
    return size


def _give_name(aside: Path, target: Path, *, replace: bool) -> None:
    """Give the new file its name; another one that came meanwhile stays, unless it may go."""
    if replace:
        aside.replace(target)
        return
    try:
        # A rename would write over what came since it was looked for; a link does not.
        target.hardlink_to(aside)
    except OSError as exc:
        if exc.errno not in _NO_LINKS:
            raise
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target)) from exc
        aside.replace(target)
    else:
        aside.unlink()


def _has_taken(aside: Path, target: Path) -> bool:
    """Give a new file its name, and say whether it has it; not where another one came meanwhile."""
    try:
        _give_name(aside, target, replace=False)
    except FileExistsError:
        return False
    return True


def _flush_folder(folder: Path) -> None:
    """Make the name durable, where the system can (POSIX)."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
