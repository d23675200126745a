"""`onrecord documents`: what a conversation holds beside its texts, and a way to have it as files."""

from __future__ import annotations

import contextlib
import mimetypes
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from onrecord.adapters.cli import output
from onrecord.adapters.cli.output import Named, counted, named, size
from onrecord.adapters.conversation.queries import documents_held, pieces_of
from onrecord.adapters.storage.atomic_files import write_atomically
from onrecord.adapters.store import Store
from onrecord.adapters.streams.lineage import Stretch, lineage
from onrecord.adapters.upkeep.files import StoreFiles, files_of
from onrecord.domain.documents import essence_of, name_of
from onrecord.domain.errors import ConversationForgotten, InvalidInput
from onrecord.domain.tool_context import ToolCallContext
from onrecord.projections.history.documents import HeldDocument

if TYPE_CHECKING:
    from rich.console import Console


_NOT_IN_FILE_NAMES: Final = str.maketrans(dict.fromkeys('<>:"|?*', "_"))
"""What a file system of some kind takes for something else."""


_LONGEST_NAME: Final = 255
"""In bytes, as file systems take them; `name_of` makes none longer."""


class _Saved(NamedTuple):
    held: HeldDocument
    file: Path | None


def documents(store: Store, key: str, at: int | None, *, save: Path | None, as_json: bool) -> None:
    """Write the documents of a conversation; with `save`, also their bytes, each into a file there.

    No file is written over, and none outside of that folder. What is at an address is not fetched.
    """
    found = named(store, key)
    stretches = lineage(store.backend, found.conversation_id, _version(found, at))
    held = documents_held(store.backend, stretches)
    told = _saved(store, stretches, held, save) if save else [_Saved(each, None) for each in held]
    if as_json:
        for each in told:
            output.json_line(_document(each))
    elif output.is_drawn():
        _draw(output.console(), found, told)
    else:
        for each in told:
            output.plain(*_columns(each))
    if save:
        _summarise(told, save)


def _version(found: Named, at: int | None) -> int:
    last = found.head.version
    if at is not None and at > last:
        raise InvalidInput(f"there is no version {at}: the conversation is at {last}")
    return last if at is None else at


def _saved(
    store: Store, stretches: tuple[Stretch, ...], held: Iterable[HeldDocument], folder: Path
) -> list[_Saved]:
    """Write each document into a file, the same one once; return where each is."""
    files: dict[tuple[str | None, str], Path] = {}
    free: dict[str, Iterator[str]] = {}
    told: list[_Saved] = []
    own = files_of(store)
    if own.has(folder):
        raise InvalidInput(f"{folder} is the store's own: choose another folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for each in held:
            if each.blob is None:
                told.append(_Saved(each, None))
                continue
            known = (each.document.name, each.blob.sha256)
            if known not in files:
                pieces = partial(pieces_of, store.backend, stretches, each)
                name = _file_name(each)
                # The numbers before were tried for the documents before.
                names = free.setdefault(name, _numbered(name))
                files[known] = _written(own, folder, names, pieces)
            told.append(_Saved(each, files[known]))
    except OSError as exc:
        raise InvalidInput(f"{folder} cannot be written to: {exc.strerror}") from exc
    return told


def _written(
    own: StoreFiles,
    folder: Path,
    names: Iterator[str],
    pieces: Callable[[], Iterable[bytes] | None],
) -> Path:
    """Write bytes into a new file: never over one, nor through a link, that is there.

    Nor under a name of the store's own files: SQLite takes a journal for its own by its name.
    """
    for candidate in names:
        path = folder / candidate
        if os.path.lexists(path) or own.has(path):
            continue
        with contextlib.suppress(FileExistsError):
            write_atomically(path, pieces() or (), replace=False)
            return path
    raise AssertionError("numbers do not end")


def _numbered(name: str) -> Iterator[str]:
    stem, dot, ending = name.rpartition(".")
    if not stem:
        stem, dot, ending = name, "", ""
    yield name
    number = 2
    while True:
        rest = f" ({number}){dot}{ending}"
        room = _LONGEST_NAME - len(rest.encode())
        yield stem.encode()[:room].decode(errors="ignore") + rest
        number += 1


def _file_name(held: HeldDocument) -> str:
    """Return a name for the file of a document: its own, made harmless, else its short id."""
    name = (name_of(held.document.name) or "").translate(_NOT_IN_FILE_NAMES)
    # A name that begins with a dot hides the file, or makes it the settings of a program.
    harmless = name.lstrip(".").rstrip(". ")
    if harmless:
        return harmless
    ending = mimetypes.guess_extension(essence_of(held.document.media_type)) or ""
    return f"{held.short_id}{ending}"


def _summarise(told: list[_Saved], folder: Path) -> None:
    files = len({each.file for each in told if each.file})
    elsewhere = sum(each.file is None for each in told)
    rest = f"; {elsewhere} at an address, not fetched" if elsewhere else ""
    output.told(f"onrecord: {counted(files, 'file')} written to {folder}{rest}")


def _columns(each: _Saved) -> tuple[object, ...]:
    held = each.held
    return (
        held.version,
        held.origin,
        held.tool_name,
        held.call_id,
        held.path,
        held.document.name,
        held.document.media_type,
        held.blob.size if held.blob else None,
        held.short_id or held.document.url,
        each.file,
    )


def _document(each: _Saved) -> dict[str, object]:
    held = each.held
    url = held.document.url if held.blob is None else None
    return {
        "conversation_id": str(held.conversation_id),
        "version": held.version,
        "origin": held.origin,
        "tool_name": held.tool_name,
        "call_id": held.call_id,
        "path": held.path,
        "name": held.document.name,
        "media_type": held.document.media_type,
        "size": held.blob.size if held.blob else None,
        "sha256": held.blob.sha256 if held.blob else None,
        "short_id": held.short_id,
        "url": url,
        "file": None if each.file is None else str(each.file),
    }


def _draw(console: Console, found: Named, told: list[_Saved]) -> None:
    from rich.table import Table
    from rich.text import Text

    many = counted(len(told), "document")
    console.print(Text.assemble((output.flat(str(found)), "bold"), (f"  {many}", "dim")))
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(justify="right", style="dim", no_wrap=True)
    for each in told:
        held = each.held
        table.add_row(
            f"{held.version}",
            Text(output.flat(_whose(held)), "yellow"),
            Text(output.flat(held.document.name or ""), "bold"),
            Text(output.flat(held.document.media_type), "cyan"),
            Text(_size(held), "dim", justify="right"),
            Text(output.flat(held.short_id or held.document.url or ""), "dim"),
            Text(output.flat(str(each.file or "")), "green"),
        )
    console.print(table)


def _whose(held: HeldDocument) -> str:
    """Return where a document comes from, in words: the user, or a tool, its call and the place."""
    told = (held.origin, held.tool_name, held.call_id, held.path)
    return " ".join(part for part in told if part)


def _size(held: HeldDocument) -> str:
    return size(held.blob.size) if held.blob else ""


# `onrecord context`: what a conversation carries for its tools, and how that is changed.


def context(
    store: Store, key: str, given: Mapping[str, str], unset: Iterable[str], *, as_json: bool
) -> None:
    """Record what is set and unset, if anything is, and write what is carried then."""
    found = named(store, key)
    if found.key is None:
        raise ConversationForgotten
    talk = store.conversation(found.key)
    before = talk.carried()
    after = _changed(before, given, unset)
    if after != before:
        talk.carry(after, persist=after.keys())
    if as_json:
        said = {"key": talk.key, "conversation": str(talk.conversation_id)}
        output.json_line({**said, "version": talk.head().version, "context": dict(after)})
    elif output.is_drawn():
        _draw_context(talk.key, after)
    else:
        for name, value in sorted(after.items()):
            output.plain(name, value)


def _changed(
    before: ToolCallContext, given: Mapping[str, str], unset: Iterable[str]
) -> ToolCallContext:
    removed = frozenset(unset)
    if both := sorted(removed & given.keys()):
        raise InvalidInput(f"{both[0]!r} is set and unset: say one of them")
    merged = dict(before.merge(given))
    return ToolCallContext.of({k: v for k, v in merged.items() if k not in removed})


def _draw_context(key: str, carried: ToolCallContext) -> None:
    if not carried:
        output.sentence(output.flat(f"{key} carries nothing for its tools."))
        return
    widest = max(len(output.escaped(name)) for name in carried)
    for name, value in sorted(carried.items()):
        output.sentence(f"{output.escaped(name):<{widest}}  {output.escaped(value)}")
