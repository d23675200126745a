"""`onrecord import --api`: the histories that other programs kept, and what of them is dubious."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from onrecord.adapters.app import connect, is_there
from onrecord.adapters.cli.program import STANDARD_INPUT
from onrecord.adapters.cli.transfer import is_export, local
from onrecord.adapters.histories.foreign_history import Histories
from onrecord.adapters.histories.intake import SOURCES, TakenIn, key_of, take_in
from onrecord.adapters.store import Store
from onrecord.adapters.terminal import output
from onrecord.adapters.terminal.output import counted
from onrecord.domain.errors import InvalidInput

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
class ImportOptions:
    """What is imported: a file of a kind of source, under which key; a `dry_run` records nothing."""

    api: str
    file: Path
    key: str | None = None
    dry_run: bool = False
    as_json: bool = False


def import_histories(url: str | None, options: ImportOptions) -> bool:
    """Record the histories of a file in a store; return whether none was refused.

    A dry run makes no store, nor does a file of which nothing is taken: where there is none, all is
    new.
    """
    base = _base(options)
    with local(options.file) as path:
        is_for_nothing = not is_there(url) and (
            options.dry_run or not _is_any_taken(path, base, options)
        )
        with connect("memory://" if is_for_nothing else url) as store:
            summary = _import(store, path, base, options)
    if not options.as_json:
        if output.is_drawn():
            output.sentence(summary.sentence(dry_run=options.dry_run))
        summary.write_doubts()
    return not summary.outcomes["refused"]


def _import(store: Store, path: Path, base: str, options: ImportOptions) -> _Summary:
    summary, histories = _Summary(), _histories(path, options)
    with output.progress_of("Recording") as progress:
        for number, done in enumerate(_taken_in(store, histories, base, options), 1):
            progress(number, histories.count)
            summary.add(done)
            if options.as_json:
                output.json_line(_document(done, dry_run=options.dry_run))
            elif not output.is_drawn():
                _print(done, dry_run=options.dry_run)
    return summary


def _histories(path: Path, options: ImportOptions) -> Histories:
    if is_export(path):
        raise InvalidInput(f"{options.file} is an export of Onrecord: import it without --api")
    try:
        return SOURCES[options.api](path)
    except InvalidInput as exc:
        raise InvalidInput(f"{options.file}: {exc}") from exc


def _is_any_taken(path: Path, base: str, options: ImportOptions) -> bool:
    """Return whether an empty store would take anything of a file."""
    with connect("memory://") as trial:
        outcomes = _taken_in(trial, _histories(path, options), base, replace(options, dry_run=True))
        return any(done.outcome != "refused" for done in outcomes)


def _taken_in(
    store: Store, histories: Histories, base: str, options: ImportOptions
) -> Iterator[TakenIn]:
    for history in histories.read():
        key = key_of(history, base, are_several=histories.are_several)
        yield take_in(store, history, key, dry_run=options.dry_run)


def _base(options: ImportOptions) -> str:
    if options.key is not None and options.key.strip():
        return options.key
    if options.file == STANDARD_INPUT:
        raise InvalidInput("standard input has no name: give the conversation one with --key KEY")
    return options.file.stem


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
