"""`onrecord export` and `onrecord import`: a conversation to a file and back."""

from __future__ import annotations

import re
import shutil
import sys
from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Final

from onrecord.adapters.app import connect, is_there
from onrecord.adapters.cli import output
from onrecord.adapters.cli.output import counted, named, size
from onrecord.adapters.histories.history import Histories
from onrecord.adapters.histories.intake import SOURCES, TakenIn, key_of, take_in
from onrecord.adapters.settings import settings
from onrecord.adapters.storage.atomic_files import write_atomically
from onrecord.adapters.store import Store
from onrecord.adapters.transfer import importing
from onrecord.adapters.transfer.export import export
from onrecord.adapters.upkeep.files import files_of, is_of_a_store
from onrecord.domain.errors import InvalidExport, InvalidInput

if TYPE_CHECKING:
    from onrecord.adapters.transfer.importing import Progress


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


# `onrecord import --api`: the histories that other programs kept, and what of them is dubious.

_TOLD_AT_MOST: Final = 20
_DONE: Final = {
    "recorded": "recorded",
    "extended": "went on",
    "unchanged": "unchanged",
    "refused": "refused",
}
_WOULD_BE_DONE: Final = {**_DONE, "recorded": "would be recorded", "extended": "would go on"}
_WOULD_BE: Final = {"recorded": "would be recorded", "extended": "would be extended"}


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be taken in: a file of a kind of source, under which key; `dry_run`: only said."""

    api: str
    file: Path
    key: str | None = None
    dry_run: bool = False
    as_json: bool = False


def import_histories(url: str | None, wish: Wish) -> bool:
    """Record the histories of a file in a store; return whether none was refused.

    A dry run makes no store, nor does a file of which nothing is taken: where there is none, all is
    new.
    """
    base = _base(wish)
    with local(wish.file) as path:
        is_for_nothing = not is_there(url) and (wish.dry_run or not _is_any_taken(path, base, wish))
        with connect("memory://" if is_for_nothing else url) as store:
            summary = _import(store, path, base, wish)
    if not wish.as_json:
        if output.is_drawn():
            output.sentence(summary.sentence(dry_run=wish.dry_run))
        summary.tell_doubts()
    return not summary.outcomes["refused"]


def _import(store: Store, path: Path, base: str, wish: Wish) -> _Summary:
    summary, histories = _Summary(), _histories(path, wish)
    with progress_of("Recording") as progress:
        for number, done in enumerate(_taken_in(store, histories, base, wish), 1):
            progress(number, histories.count)
            summary.add(done)
            if wish.as_json:
                output.json_line(_document(done, dry_run=wish.dry_run))
            elif not output.is_drawn():
                _print(done, dry_run=wish.dry_run)
    return summary


def _histories(path: Path, wish: Wish) -> Histories:
    if is_export(path):
        raise InvalidInput(f"{wish.file} is an export of Onrecord: import it without --api")
    try:
        return SOURCES[wish.api](path)
    except InvalidInput as exc:
        raise InvalidInput(f"{wish.file}: {exc}") from exc


def _is_any_taken(path: Path, base: str, wish: Wish) -> bool:
    """Return whether an empty store would take anything of a file."""
    with connect("memory://") as trial:
        told = _taken_in(trial, _histories(path, wish), base, replace(wish, dry_run=True))
        return any(done.outcome != "refused" for done in told)


def _taken_in(store: Store, histories: Histories, base: str, wish: Wish) -> Iterator[TakenIn]:
    for history in histories.read():
        key = key_of(history, base, are_several=histories.are_several)
        yield take_in(store, history, key, dry_run=wish.dry_run)


def _base(wish: Wish) -> str:
    if wish.key is not None and wish.key.strip():
        return wish.key
    if wish.file == STANDARD_INPUT:
        raise InvalidInput("standard input has no name: give the conversation one with --key KEY")
    return wish.file.stem


@dataclass(slots=True)
class _Summary:
    """What was done, for somebody who reads it."""

    outcomes: Counter[str] = field(default_factory=Counter[str])
    recorded: int = 0
    doubts: int = 0
    _lines: list[str] = field(default_factory=list[str])

    def add(self, done: TakenIn) -> None:
        """Take note of a history."""
        self.outcomes[done.outcome] += 1
        self.recorded += done.recorded
        self.doubts += len(done.doubts)
        for line in _dubious(done):
            if len(self._lines) < _TOLD_AT_MOST:
                self._lines.append(line)

    def sentence(self, *, dry_run: bool) -> str:
        """Return what was done, on one line."""
        words = _WOULD_BE_DONE if dry_run else _DONE
        parts = [f"{self.outcomes[it]:,} {word}" for it, word in words.items() if self.outcomes[it]]
        total = counted(self.outcomes.total(), "conversation")
        would = "would be " if dry_run else ""
        new = f"{counted(self.recorded, 'event')} {would}new"
        return f"{total}: {', '.join(parts) or 'nothing there'}; {new}."

    def tell_doubts(self) -> None:
        """Say on standard error what is dubious and what was refused, up to a number of lines."""
        for line in self._lines:
            output.told(line)
        more = self.doubts + self.outcomes["refused"] - len(self._lines)
        if more > 0:
            output.told(f"and {more:,} more: --json lists all")


def _dubious(done: TakenIn) -> Iterable[str]:
    if done.why is not None:
        yield f"{done.key}: refused: {done.why}"
    for doubt in done.doubts:
        yield f"{done.key}, {doubt.place}: {doubt.kind}: {doubt.why}"


def _print(done: TakenIn, *, dry_run: bool) -> None:
    outcome = _WOULD_BE.get(done.outcome, done.outcome) if dry_run else done.outcome
    output.plain(done.key, outcome, done.events, done.recorded, len(done.doubts), done.why)


def _document(done: TakenIn, *, dry_run: bool) -> dict[str, object]:
    return {
        "key": done.key,
        "conversation": None if done.conversation_id is None else str(done.conversation_id),
        "outcome": done.outcome,
        "events": done.events,
        "recorded": done.recorded,
        "why": done.why,
        "doubts": [doubt._asdict() for doubt in done.doubts],
        "dry_run": dry_run,
    }
