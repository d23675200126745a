"""`onrecord export` and `onrecord import`: a conversation to a file and back, and others' histories."""

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
from typing import TYPE_CHECKING, Annotated, Final

import typer

from onrecord.adapters.app import connect, is_there
from onrecord.adapters.cli.program.options import (
    HISTORY_DATABASES,
    STANDARD_INPUT,
    AsJson,
    InputFile,
    Url,
    history_form,
)
from onrecord.adapters.cli.program.output_files import write_pieces
from onrecord.adapters.cli.program.stores import note_ciphertext, open_store
from onrecord.adapters.presentation.conversations import require_conversation
from onrecord.adapters.presentation.sizes_and_times import size
from onrecord.adapters.store import Store, backend_of
from onrecord.adapters.terminal import output
from onrecord.domain.errors import InvalidExport, InvalidInput, counted

if TYPE_CHECKING:
    from onrecord.adapters.histories.foreign_history import Histories
    from onrecord.adapters.histories.intake import TakenIn

_LOOKED_AT: Final = 65536
_EXPORT: Final = b'{"onrecord":'
_KEPT: Final = re.compile(rb'\A(?:\xef\xbb\xbf)?\s*[\[{].*"(?:role|messages|input)"\s*:', re.DOTALL)


HistoryForm = Annotated[
    str | None,
    typer.Option(
        "--api",
        metavar="FORM",
        parser=history_form,
        help="The file is no export: another program kept histories in this form, an API's or one "
        f"of {', '.join(HISTORY_DATABASES)}.",
    ),
]
KeyOfHistory = Annotated[
    str | None,
    typer.Option(
        "--key",
        help="The history's key; of several, what stands before `/` and their own names.",
        show_default="the file's name",
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Say what would be recorded of it, and record nothing.")
]


def export(
    context: typer.Context,
    key: Annotated[
        str | None, typer.Argument(help="The conversation's key or its id.", show_default=False)
    ] = None,
    subject: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="All that is recorded of a subject instead, in clear."),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "--out",
            "-o",
            dir_okay=False,
            metavar="FILE",
            help="Write to a file; `-`: standard output.",
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Write over a file that is there.")
    ] = False,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Write a conversation as JSON lines: the exact bytes of its events and documents.

    A file is written whole or not at all, and only its owner can read it. With `--subject`, what is under
    the key of a subject, of all its conversations, with documents.

    Example: `onrecord export support/4711 -o 4711.jsonl`

    Example: `onrecord export --subject "patient 4711" -o 4711.jsonl`
    """
    if (key is None) == (subject is None):
        raise typer.BadParameter("name a conversation or --subject; not both")
    with open_store(context, url) as store:
        if key is None:
            found = store.subjects.conversations(subject or "")
            lines, what = store.subjects.export(subject or ""), counted(len(found), "conversation")
            counts = {"conversations": len(found), "events": sum(each.events for each in found)}
        else:
            lines, what, events = _exported(store, key)
            counts = {"events": events}
        written = write_pieces(store, file, lines, replace=force)
    if written is not None and as_json:
        output.json_line({"file": str(file), **counts, "bytes": written})
    elif written is not None:
        output.sentence(f"{what} in {file}, {size(written)}.")


def import_(
    context: typer.Context,
    file: InputFile,
    new_key: Annotated[
        str | None, typer.Option("--as", metavar="KEY", help="Give an export another key.")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Verify an export, and record nothing.")
    ] = False,
    api: HistoryForm = None,
    key: KeyOfHistory = None,
    dry_run: DryRun = False,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Record a file of `onrecord export`, or the history of another program.

    All of an export is verified first. Importing it again changes nothing.

    With `--api`: the messages that another program kept, as JSON or JSON lines, in SQLite sessions
    of the OpenAI Agents SDK, or in the log of `llm`. Doubts go to standard error.
    Piped: key, outcome, events, how many are new, how many doubts, why it was refused; exit code 1
    if one was.

    Example: `onrecord import 4711.jsonl --url postgresql://me@host/talks`

    Example: `onrecord import messages.json --api openai-chat --key support/4711`
    """
    if api is not None and (check or new_key is not None):
        raise typer.BadParameter("--check and --as are for exports: use --dry-run and --key")
    if api is None and (dry_run or key is not None):
        raise typer.BadParameter("--dry-run and --key go with --api: use --check and --as")
    if api is not None:
        options = _ImportOptions(api, file, _base_key(file, key), dry_run, as_json)
        if not _import_histories(url or context.obj, options):
            raise typer.Exit(1)
    elif check:
        _check(file, as_json=as_json)
    else:
        _import(url or context.obj, file, new_key, as_json=as_json)


def _exported(store: Store, key: str) -> tuple[Iterator[bytes], str, int]:
    """Return the lines of a conversation, what they are, and how many events it has."""
    from onrecord.adapters.transfer.export import export as exported

    conversation = require_conversation(store, key)
    events = conversation.head.version
    note_ciphertext(store, "the file holds ciphertext, which no other store imports")
    lines = exported(backend_of(store), conversation.conversation_id, conversation.key)
    return lines, f"{counted(events, 'event')} of {conversation}", events


def _import(url: str | None, file: Path, new_key: str | None, *, as_json: bool) -> None:
    """Record what a file holds; no store is made for one that cannot be taken in."""
    from onrecord.adapters.settings import settings
    from onrecord.adapters.transfer import importing

    with _local(file) as path, _hinted(path):
        if not is_there(url):
            importing.must_fit_a_new_store(path, settings().tenant, new_key)
        with connect(url) as store, output.progress_of("Recording") as progress:
            done = importing.import_file(
                backend_of(store), store.tenant, path, key=new_key, progress=progress
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


def _check(file: Path, *, as_json: bool) -> None:
    """Verify a file and say what it holds."""
    from onrecord.adapters.transfer import importing

    with _local(file) as path, _hinted(path), output.progress_of("Checking") as progress:
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


@contextmanager
def _hinted(path: Path) -> Generator[None]:
    """Say of a file that is no export how to take in what another program kept, if it looks so."""
    try:
        yield
    except InvalidExport as exc:
        beginning = _beginning(path)
        if beginning.startswith(_EXPORT) or not _KEPT.search(beginning):
            raise
        problem = "the file is no export: if another program kept its messages, say how with --api"
        raise InvalidExport(f"{problem}, such as `--api openai-chat`") from exc


def _beginning(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_LOOKED_AT)


@contextmanager
def _local(file: Path) -> Generator[Path]:
    """Yield a file that can be read twice: standard input is kept in one first."""
    if file != STANDARD_INPUT:
        yield file
        return
    with NamedTemporaryFile(prefix="onrecord-import-") as copy:
        shutil.copyfileobj(sys.stdin.buffer, copy)
        copy.flush()
        yield Path(copy.name)


# `onrecord import --api`: the histories that other programs kept, and what of them is dubious.

_DOUBTS_SHOWN: Final = 20
_DONE: Final = {
    "recorded": "recorded",
    "extended": "went on",
    "unchanged": "unchanged",
    "refused": "refused",
}
_WOULD_BE_DONE: Final = {**_DONE, "recorded": "would be recorded", "extended": "would go on"}
_WOULD_BE: Final = {"recorded": "would be recorded", "extended": "would be extended"}


@dataclass(frozen=True, slots=True)
class _ImportOptions:
    """What is imported: a file of a kind of source, under which key; a `dry_run` records nothing."""

    api: str
    file: Path
    base_key: str
    dry_run: bool
    as_json: bool


def _base_key(file: Path, key: str | None) -> str:
    if key is not None and key.strip():
        return key
    if file == STANDARD_INPUT:
        raise InvalidInput("standard input has no name: give the conversation one with --key KEY")
    return file.stem


def _import_histories(url: str | None, options: _ImportOptions) -> bool:
    """Record the histories of a file in a store; return whether none was refused.

    A dry run makes no store, nor does a file of which nothing is taken: where there is none, all is
    new.
    """
    with _local(options.file) as path:
        is_for_nothing = not is_there(url) and (options.dry_run or not _is_any_taken(path, options))
        with connect("memory://" if is_for_nothing else url) as store:
            summary = _recorded(store, path, options)
    if not options.as_json:
        if output.is_drawn():
            output.sentence(summary.sentence(dry_run=options.dry_run))
        summary.write_doubts()
    return not summary.outcomes["refused"]


def _recorded(store: Store, path: Path, options: _ImportOptions) -> _Summary:
    summary, histories = _Summary(), _histories(path, options)
    with output.progress_of("Recording") as progress:
        for number, done in enumerate(_taken_in(store, histories, options), 1):
            progress(number, histories.count)
            summary.add(done)
            if options.as_json:
                output.json_line(_document(done, dry_run=options.dry_run))
            elif not output.is_drawn():
                would = _WOULD_BE if options.dry_run else {}
                outcome = would.get(done.outcome, done.outcome)
                counts = (done.events, done.recorded, len(done.doubts))
                output.plain(done.key, outcome, *counts, done.why)
    return summary


def _histories(path: Path, options: _ImportOptions) -> Histories:
    from onrecord.adapters.histories.intake import SOURCES

    if _beginning(path).startswith(_EXPORT):
        raise InvalidInput(f"{options.file} is an export of Onrecord: import it without --api")
    try:
        return SOURCES[options.api](path)
    except InvalidInput as exc:
        raise InvalidInput(f"{options.file}: {exc}") from exc


def _is_any_taken(path: Path, options: _ImportOptions) -> bool:
    """Return whether an empty store would take anything of a file."""
    with connect("memory://") as trial:
        outcomes = _taken_in(trial, _histories(path, options), replace(options, dry_run=True))
        return any(done.outcome != "refused" for done in outcomes)


def _taken_in(store: Store, histories: Histories, options: _ImportOptions) -> Iterator[TakenIn]:
    from onrecord.adapters.histories.intake import key_of, take_in

    for history in histories.read():
        key = key_of(history, options.base_key, are_several=histories.are_several)
        yield take_in(store, history, key, dry_run=options.dry_run)


@dataclass(slots=True)
class _Summary:
    """What was done, for somebody who reads it."""

    outcomes: Counter[str] = field(default_factory=Counter[str])
    recorded: int = 0
    doubts: int = 0
    _lines: list[str] = field(default_factory=list[str])

    def add(self, done: TakenIn) -> None:
        self.outcomes[done.outcome] += 1
        self.recorded += done.recorded
        self.doubts += len(done.doubts)
        for line in _dubious(done):
            if len(self._lines) < _DOUBTS_SHOWN:
                self._lines.append(line)

    def sentence(self, *, dry_run: bool) -> str:
        """Return what was done, on one line."""
        words = _WOULD_BE_DONE if dry_run else _DONE
        parts = [
            f"{self.outcomes[name]:,} {word}" for name, word in words.items() if self.outcomes[name]
        ]
        total = counted(self.outcomes.total(), "conversation")
        would = "would be " if dry_run else ""
        new = f"{counted(self.recorded, 'event')} {would}new"
        return f"{total}: {', '.join(parts) or 'nothing there'}; {new}."

    def write_doubts(self) -> None:
        """Say on standard error what is dubious and what was refused, up to a number of lines."""
        for line in self._lines:
            output.note(line)
        more = self.doubts + self.outcomes["refused"] - len(self._lines)
        if more > 0:
            output.note(f"and {more:,} more: --json lists all")


def _dubious(done: TakenIn) -> Iterable[str]:
    if done.why is not None:
        yield f"{done.key}: refused: {done.why}"
    for doubt in done.doubts:
        yield f"{done.key}, {doubt.place}: {doubt.kind}: {doubt.why}"


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
