"""The file that holds a private key: only its owner may read it."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final

from onrecord.adapters.seals.signing import new_key, read_private_key
from onrecord.adapters.storage.atomic_files import write_atomically
from onrecord.domain.errors import InvalidInput
from onrecord.domain.seals.notes import PRIVATE

if TYPE_CHECKING:
    from onrecord.domain.seals.notes import PrivateKey

_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_LONGEST: Final = 4096
"""In bytes; a key has far fewer."""


def make_key_file(path: Path, name: str) -> PrivateKey:
    """Make a key that signs under a name, and write it to a new file with the mode 0600.

    InvalidInput where the file is there already, or cannot be written; nothing is changed then.
    """
    _must_be_a_path(path)
    key = new_key(name)
    try:
        write_atomically(path, [f"{key.encode()}\n".encode()], replace=False)
    except FileExistsError:
        raise InvalidInput(f"{path} is there already: a key is written to a new file") from None
    except (OSError, ValueError) as exc:
        raise InvalidInput(f"{path} cannot be written: {_reason(exc)}") from exc
    return key


def read_key_file(path: Path) -> PrivateKey:
    """Return the key that a file holds; InvalidInput where it holds none, or others may read it.

    No message holds what is in the file, nor a key's text that was given in place of its path.
    """
    _must_be_a_path(path)
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            text = file.read(_LONGEST)
    except (OSError, ValueError) as exc:
        raise InvalidInput(f"the key {path} cannot be read: {_reason(exc)}") from exc
    if os.name == "posix" and mode & _OTHERS:
        raise InvalidInput(f"others may read the key {path}: run `chmod 600 {path}`")
    try:
        return read_private_key(text.decode("ascii"))
    except (InvalidInput, UnicodeDecodeError) as exc:
        why = str(exc) if isinstance(exc, InvalidInput) else "it is not ASCII"
        raise InvalidInput(f"{path} is no key that seals: {why}") from None


def _must_be_a_path(path: Path) -> None:
    if PRIVATE in f"{path}":
        raise InvalidInput(
            "the text of a private key was given where the path of its file is due: name the file, and "
            "make a new key if others saw this one"
        )


def _reason(exc: Exception) -> str:
    return (exc.strerror if isinstance(exc, OSError) else None) or str(exc)
