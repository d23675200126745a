"""What commands write to a file that somebody names, or to standard output."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from onrecord.adapters.cli.program.options import STANDARD_INPUT
from onrecord.adapters.terminal import output
from onrecord.domain.errors import InvalidInput

if TYPE_CHECKING:
    from onrecord.adapters.store import Store


def write_pieces(
    store: Store, file: Path | None, pieces: Iterable[bytes], *, replace: bool | None = None
) -> int | None:
    """Write pieces to a file, and return how many bytes; None where they went to standard output.

    A file is written whole or not at all, and only its owner may read it. One that is there stays, unless
    `replace` says that it goes; None where the command has no such option. The files of the store itself stay
    in any case.
    """
    from onrecord.adapters.storage.atomic_files import write_atomically
    from onrecord.adapters.store import backend_of, tenancy_of
    from onrecord.adapters.upkeep.files import files_of

    if file is None or file == STANDARD_INPUT:
        for piece in pieces:
            output.raw(piece)
        return None
    files_of(store.url, backend_of(store), tenancy_of(store).spool).must_not_have(file)
    try:
        return write_atomically(file, pieces, replace=bool(replace), is_private=True)
    except FileExistsError as exc:
        otherwise = "choose another name" if replace is None else "choose another, or say --force"
        raise InvalidInput(f"{file} is there already: {otherwise}") from exc
    except OSError as exc:
        raise InvalidInput(f"{file} cannot be written: {exc.strerror}") from exc
