"""`onrecord export` and `onrecord import`: a conversation to a file and back."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Final

from onrecord.adapters import importing
from onrecord.adapters.app import connect, is_there
from onrecord.adapters.atomic_files import write_atomically
from onrecord.adapters.cli import output
from onrecord.adapters.cli.naming import named
from onrecord.adapters.cli.quantities import counted, size
from onrecord.adapters.export import export
from onrecord.adapters.settings import settings
from onrecord.adapters.store import Store
from onrecord.adapters.store_files import files_of, is_of_a_store
from onrecord.domain.errors import InvalidExport, InvalidInput

if TYPE_CHECKING:
    from onrecord.adapters.importing import Progress

STANDARD_INPUT: Final = Path("-")
"""How a command line names the input that is no file."""
STANDARD_OUTPUT: Final = STANDARD_INPUT
"""And the output."""

_LOOKED_AT: Final = 65536
_EXPORT: Final = b'{"onrecord":'
_KEPT: Final = re.compile(rb'\A(?:\xef\xbb\xbf)?\s*[\[{].*"(?:role|messages|input)"\s*:', re.DOTALL)


def export_to(store: Store, key: str, file: Path | None, *, replace: bool, as_json: bool) -> None:
    """Write a conversation's lines to a file, else to standard output.

    A file that is there stays, unless it is to be replaced; the store's own stay in any case.
    """
    found = named(store, key)
    file = None if file == STANDARD_OUTPUT else file
    lines = export(store.backend, found.conversation_id, found.key)
    if file is None:
        for line in lines:
            output.raw(line)
        return
    if files_of(store).has(file):
        raise InvalidInput(f"{file} is a file of the store itself: choose another name")
    if is_of_a_store(file):
        raise InvalidInput(f"{file} is a store of Onrecord's: choose another name")
    written = _write(file, lines, replace=replace)
    if as_json:
        output.json_line({"file": str(file), "events": found.head.version, "bytes": written})
    else:
        events = counted(found.head.version, "event")
        output.sentence(f"{events} of {found} in {file}, {size(written)}.")


def import_from(url: str | None, file: Path, new_key: str | None, *, as_json: bool) -> None:
    """Record what a file holds; no store is made for one that cannot be taken in."""
    with local(file) as path, _hinted(path):
        if not is_there(url):
            importing.must_fit_a_new_store(path, settings().tenant, new_key)
        with connect(url) as store, progress_of("Recording") as progress:
            done = importing.import_file(
                store.backend, store.tenant, path, key=new_key, progress=progress
            )
    if as_json:
        output.json_line(
            {
                "key": done.key,
                "conversation": str(done.conversation_id),
                "events": done.events,
                "recorded": done.recorded,
            }
        )
    elif done.recorded:
        output.sentence(f"{counted(done.recorded, 'event')} of {done.key} recorded.")
    else:
        output.sentence(f"Nothing new: all {counted(done.events, 'event')} were there already.")


def check_file(file: Path, *, as_json: bool) -> None:
    """Verify a file and say what it holds."""
    with local(file) as path, _hinted(path), progress_of("Checking") as progress:
        checked = importing.check(path, progress)
    beginning = checked.beginning
    if as_json:
        output.json_line(
            {
                "key": beginning.key,
                "conversation": str(beginning.conversation_id),
                "events": beginning.events,
                "erased": checked.erased,
            }
        )
        return
    erased = f", {checked.erased:,} of them erased" if checked.erased else ""
    output.sentence(f"{counted(beginning.events, 'event')}{erased}: all digests match.")


def _write(file: Path, lines: Iterator[bytes], *, replace: bool) -> int:
    try:
        return write_atomically(file, lines, replace=replace)
    except FileExistsError as exc:
        raise InvalidInput(f"{file} is there already: choose another, or say --force") from exc
    except OSError as exc:
        raise InvalidInput(f"{file} cannot be written: {exc.strerror}") from exc


@contextmanager
def _hinted(path: Path) -> Generator[None]:
    """Say of a file that is no export how to take in what another program kept, if it looks so."""
    try:
        yield
    except InvalidExport as exc:
        beginning = _beginning(path)
        if beginning.startswith(_EXPORT) or not _KEPT.search(beginning):
            raise
        said = "the file is no export: if another program kept its messages, say how with --api"
        raise InvalidExport(f"{said}, such as `--api openai-chat`") from exc


def is_export(path: Path) -> bool:
    """Return whether a file begins as what `onrecord export` writes does."""
    return _beginning(path).startswith(_EXPORT)


def _beginning(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_LOOKED_AT)


@contextmanager
def local(file: Path) -> Generator[Path]:
    """Yield a file that can be read twice: standard input is kept in one first."""
    if file != STANDARD_INPUT:
        yield file
        return
    with NamedTemporaryFile(prefix="onrecord-import-") as kept:
        shutil.copyfileobj(sys.stdin.buffer, kept)
        kept.flush()
        yield Path(kept.name)


@contextmanager
def progress_of(doing: str) -> Generator[Progress]:
    """Yield what to tell of progress: a bar, where somebody can see it."""
    if not sys.stderr.isatty():
        yield importing.unheeded
        return
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    with Progress(*columns, console=output.console(stderr=True), transient=True) as drawn:
        task = drawn.add_task(doing, total=None)
        yield lambda done, total: drawn.update(task, completed=done, total=total)
