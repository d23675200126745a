"""The members of a line of an export, each taken only if it is of its kind.

What is refused is named by its name, never by its value: the file may be anybody's.
"""

from __future__ import annotations

from base64 import b64decode
from binascii import Error
from typing import Any, Final
from uuid import UUID

from onrecord.domain.errors import InvalidExport
from onrecord.domain.jsontext import JsonObject

LARGEST: Final = 2**63 - 1
"""The largest number of a log: versions, positions and times are signed 64-bit numbers."""


class Members:
    """The members of one line; each verb raises InvalidExport where one is missing or another kind."""

    def __init__(self, line: JsonObject) -> None:
        """Read an object."""
        self._line = line

    def __contains__(self, name: str) -> bool:
        """Whether there is a member of that name."""
        return name in self._line

    def is_word(self, name: str, word: str) -> bool:
        """Whether a member is this word."""
        return self._line.get(name) == word

    def is_null(self, name: str) -> bool:
        """Whether a member is null."""
        return self._member(name) is None

    def text(self, name: str) -> str:
        """Return a text that UTF-8 can spell."""
        value = self._member(name)
        if not isinstance(value, str):
            raise _other_kind(name)
        try:
            value.encode()
        except UnicodeEncodeError:
            raise _other_kind(name) from None
        return value

    def number(self, name: str, least: int = 0) -> int:
        """Return a whole number that a log can hold, `least` or more."""
        value = self._member(name)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= LARGEST:
            raise _other_kind(name)
        return value

    def id(self, name: str) -> UUID:
        """Return an id, which has one spelling only."""
        text = self.text(name)
        try:
            found = UUID(text)
        except ValueError:
            raise _other_kind(name) from None
        if str(found) != text:
            raise _other_kind(name)
        return found

    def hex(self, name: str, size: int) -> bytes:
        """Return so many bytes that are spelled in hexadecimal digits."""
        text = self.text(name)
        try:
            found = bytes.fromhex(text)
        except ValueError:
            raise _other_kind(name) from None
        if len(found) != size or found.hex() != text:
            raise _other_kind(name)
        return found

    def base64(self, name: str) -> bytes:
        """Return the bytes that are spelled in Base64."""
        try:
            return b64decode(self.text(name), validate=True)
        except (Error, ValueError):
            raise _other_kind(name) from None

    def _member(self, name: str) -> Any:
        if name not in self._line:
            raise InvalidExport(f"{name} is missing")
        return self._line[name]


def _other_kind(name: str) -> InvalidExport:
    return InvalidExport(f"{name} is not of its kind")
