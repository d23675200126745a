"""Which file a `sqlite:` URL names."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from onrecord.domain.errors import InvalidInput

_START: Final = "sqlite:///"
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_ESCAPED: Final = re.compile(rf"[%?#]|{_CONTROL.pattern}")
"""What a URL holds percent-encoded only."""


def path_of(url: str) -> Path:
    """Return the file that a URL names: sqlite:///talks.db in this folder, or sqlite:////var/….

    InvalidInput for whatever else it says: nothing in it is passed over.
    """
    start, address = url[: len(_START)].lower(), url[len(_START) :]
    if _CONTROL.search(url):
        raise InvalidInput(
            "the URL holds a control character, perhaps a line break at its end: remove it, and "
            "write sqlite:///talks.db"
        )
    place, _, parameters = address.partition("?")
    name = unquote(place)
    if start != _START or not name:
        raise InvalidInput("the URL names no file: write sqlite:///talks.db")
    if name == ":memory:":
        raise InvalidInput(
            "a store that ends with the process is memory://, not sqlite:///:memory:"
        )
    if "#" in place:
        raise InvalidInput("a # ends the file's name in a URL: write %23 for it")
    if parameters:
        names = ", ".join(part.partition("=")[0] for part in parameters.split("&"))
        raise InvalidInput(
            f"sqlite:///talks.db takes no parameters, here {names}: leave them out, and write %3F "
            "for a ? in the file's name"
        )
    if "\0" in name:
        raise InvalidInput("no file's name holds a NUL (%00): write sqlite:///talks.db")
    return Path(name).absolute()


def url_of(path: Path) -> str:
    """Return the URL that names a file."""
    return _START + _ESCAPED.sub(lambda sign: f"%{ord(sign[0]):02X}", str(path))
