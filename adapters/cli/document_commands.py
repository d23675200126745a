"""`onrecord documents` and `onrecord context`: what a conversation holds beside its texts."""

from __future__ import annotations

import contextlib
import mimetypes
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

import typer

from onrecord.adapters.cli.history_commands import state_document
from onrecord.adapters.cli.program.options import AsJson, At, Key, Url
from onrecord.adapters.cli.program.stores import open_store
from onrecord.adapters.presentation.control_characters import escaped, flat
from onrecord.adapters.presentation.conversations import NamedConversation, require_conversation
from onrecord.adapters.presentation.sizes_and_times import size
from onrecord.adapters.storage.atomic_files import write_atomically
from onrecord.adapters.store import Store, backend_of, tenancy_of
from onrecord.adapters.streams.lineage import LineSegment, lineage
from onrecord.adapters.terminal import output
from onrecord.domain.documents import essence_of, name_of
from onrecord.domain.errors import InvalidInput, counted
from onrecord.domain.tool_context import ToolCallContext

if TYPE_CHECKING:
    from onrecord.adapters.upkeep.files import StoreFiles
    from onrecord.projections.history.held_documents import HeldDocument


_NOT_IN_FILE_NAMES: Final = str.maketrans(dict.fromkeys('<>:"|?*', "_"))
"""What a file system of some kind takes for something else."""


_LONGEST_NAME: Final = 255
"""In bytes, as file systems take them; `name_of` makes none longer."""


class _Saved(NamedTuple):
    entry: HeldDocument
    file: Path | None


def documents(
    context: typer.Context,
    key: Key,
    at: At = None,
    save: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Write each into a file in this folder; no file is overwritten."
        ),
    ] = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """List the documents of a conversation: who gave each one, its type, and its short id.

    Piped: version, origin (user, operator, signal, tool, rejected, provider), tool, call, place in
    the result, name, media type, bytes, short id (of one at an address that), file.

    Example: `onrecord documents support/4711 --save papers`
    """
    from onrecord.adapters.conversation.history_queries import documents_held

    with open_store(context, url) as store:
        conversation = require_conversation(store, key)
        version = conversation.version_at(at)
        segments = lineage(backend_of(store), conversation.conversation_id, version)
        entries = documents_held(backend_of(store), segments)
        rows = (
            _saved(store, segments, entries, save)
            if save
            else [_Saved(each, None) for each in entries]
        )
    output.entries(
        rows, _document, _columns, draw=lambda: _draw(conversation, rows), as_json=as_json
    )
    if save:
        _summarise(rows, save)


def _saved(
    store: Store, segments: tuple[LineSegment, ...], entries: Iterable[HeldDocument], folder: Path
) -> list[_Saved]:
    """Write each document into a file, the same one once; return where each is.

    No file is written over, and none outside of that folder. What is at an address is not fetched.
    """
    from onrecord.adapters.conversation.history_queries import pieces_of
    from onrecord.adapters.upkeep.files import files_of

    files: dict[tuple[str | None, str], Path] = {}
    free: dict[str, Iterator[str]] = {}
    rows: list[_Saved] = []
    own = files_of(store.url, backend_of(store), tenancy_of(store).spool)
    if own.has(folder):
        raise InvalidInput(f"{folder} is the store's own: choose another folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for each in entries:
            if each.blob is None:
                rows.append(_Saved(each, None))
                continue
            known = (each.document.name, each.blob.sha256)
            if known not in files:
                pieces = partial(pieces_of, backend_of(store), segments, each)
                name = _file_name(each)
                # The numbers before were tried for the documents before.
                names = free.setdefault(name, _numbered(name))
                files[known] = _written(own, folder, names, pieces)
            rows.append(_Saved(each, files[known]))
    except OSError as exc:
        raise InvalidInput(f"{folder} cannot be written to: {exc.strerror}") from exc
    return rows


def _written(
    own: StoreFiles,
    folder: Path,
    names: Iterator[str],
    pieces: Callable[[], Iterable[bytes] | None],
) -> Path:
    """Write bytes into a new file: never over one, nor through a link, that is there.

    Nor under a name of the store's own files: SQLite takes a recorder for its own by its name.
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


def _file_name(entry: HeldDocument) -> str:
    """Return a name for the file of a document: its own, made harmless, else its short id."""
    name = (name_of(entry.document.name) or "").translate(_NOT_IN_FILE_NAMES)
    # A name that begins with a dot hides the file, or makes it the settings of a program.
    harmless = name.lstrip(".").rstrip(". ")
    if harmless:
        return harmless
    ending = mimetypes.guess_extension(essence_of(entry.document.media_type)) or ""
    return f"{entry.short_id}{ending}"


def _summarise(rows: list[_Saved], folder: Path) -> None:
    files = len({each.file for each in rows if each.file})
    elsewhere = sum(each.file is None for each in rows)
    rest = f"; {elsewhere} at an address, not fetched" if elsewhere else ""
    output.note(f"onrecord: {counted(files, 'file')} written to {folder}{rest}")


def _columns(each: _Saved) -> tuple[object, ...]:
    entry = each.entry
    return (
        entry.version,
        entry.origin,
        entry.tool_name,
        entry.call_id,
        entry.path,
        entry.document.name,
        entry.document.media_type,
        entry.blob.size if entry.blob else None,
        entry.short_id or entry.document.url,
        each.file,
    )


def _document(each: _Saved) -> dict[str, object]:
    entry = each.entry
    url = entry.document.url if entry.blob is None else None
    return {
        "conversation_id": str(entry.conversation_id),
        "version": entry.version,
        "origin": entry.origin,
        "tool_name": entry.tool_name,
        "call_id": entry.call_id,
        "path": entry.path,
        "name": entry.document.name,
        "media_type": entry.document.media_type,
        "size": entry.blob.size if entry.blob else None,
        "sha256": entry.blob.sha256 if entry.blob else None,
        "short_id": entry.short_id,
        "url": url,
        "file": None if each.file is None else str(each.file),
    }


def _draw(conversation: NamedConversation, rows: list[_Saved]) -> None:
    from rich.table import Table
    from rich.text import Text

    console = output.console()
    many = counted(len(rows), "document")
    output.draw_title(console, conversation, many)
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(justify="right", style="dim", no_wrap=True)
    for each in rows:
        entry = each.entry
        table.add_row(
            f"{entry.version}",
            Text(flat(_whose(entry)), "yellow"),
            Text(flat(entry.document.name or ""), "bold"),
            Text(flat(entry.document.media_type), "cyan"),
            Text(size(entry.blob.size) if entry.blob else "", "dim", justify="right"),
            Text(flat(entry.short_id or entry.document.url or ""), "dim"),
            Text(flat(str(each.file or "")), "green"),
        )
    console.print(table)


def _whose(entry: HeldDocument) -> str:
    """Return where a document comes from, in words: the user, or a tool, its call and the place."""
    words = (entry.origin, entry.tool_name, entry.call_id, entry.path)
    return " ".join(part for part in words if part)


def _entries(entries: list[str] | None) -> list[str] | None:
    for entry in entries or ():
        name, equals, _ = entry.partition("=")
        if not (name and equals):
            raise typer.BadParameter("an entry is a name, `=` and a value.")
    return entries


def context(
    context: typer.Context,
    key: Key,
    entries: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            callback=_entries,
            help="Add this value; may be repeated.",
        ),
    ] = None,
    unset: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Remove this name; may be repeated."),
    ] = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Show or change the context that a conversation gives to its tools; no model sees it.

    The log holds it in clear and never erases it: no secret, nothing personal. Piped: name,
    value.

    Example: `onrecord context support/4711 --set tenant_id=acme`
    """
    values = dict(entry.split("=", 1) for entry in entries or ())
    with open_store(context, url) as store:
        conversation = store.conversation(require_conversation(store, key).require_key())
        before = conversation.tool_context()
        after = _changed(before, values, unset or ())
        if after != before:
            conversation.set_tool_context(after, persist=after.keys())
        if as_json:
            output.json_line({**state_document(conversation), "context": dict(after)})
        elif output.is_drawn():
            _draw_context(conversation.key, after)
        else:
            for name, value in sorted(after.items()):
                output.plain(name, value)


def _changed(
    before: ToolCallContext, values: Mapping[str, str], unset: Iterable[str]
) -> ToolCallContext:
    removed = frozenset(unset)
    if both := sorted(removed & values.keys()):
        raise InvalidInput(f"{both[0]!r} is set and unset: say one of them")
    merged = dict(before.merge(values))
    return ToolCallContext.of({k: v for k, v in merged.items() if k not in removed})


def _draw_context(key: str, carried: ToolCallContext) -> None:
    if not carried:
        output.sentence(flat(f"{key} carries nothing for its tools."))
        return
    widest = max(len(escaped(name)) for name in carried)
    for name, value in sorted(carried.items()):
        output.sentence(f"{escaped(name):<{widest}}  {escaped(value)}")
