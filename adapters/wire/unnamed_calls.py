"""Ids for the calls of one answer that have none on the wire, and the calls that results are of.

Gemini's Developer API and Ollama name a call by its function alone; what is recorded needs an id. It
is derived from the call, so that an answer and a later request that repeats it give the same one.
"""

from __future__ import annotations

import hashlib
from typing import Any, Final

from onrecord.domain import jsontext

_DIGITS: Final = 12


class UnnamedCalls:
    """The calls that a model made in one turn, in order: one value a turn.

    An id is the function's name and 12 hex digits of the SHA-256 of name and arguments, as canonical
    JSON; the second call that is equal ends in `-2`, and so on. A result without an id is of the
    first call of its name that has no result yet.
    """

    __slots__ = ("_names", "_open")

    def __init__(self) -> None:
        """Begin with no call."""
        self._names: set[str] = set()
        self._open: dict[str, str] = {}

    def call(self, name: str, arguments: Any, own: str | None = None) -> str:
        """Return the id of the next call: its own, if the wire has one."""
        found = own or self._derived(name, arguments)
        self._names.add(found)
        self._open[found] = name
        return found

    def result(self, name: str | None, own: str | None = None) -> str | None:
        """Return the id of the call that the next result is of; None where none awaits it.

        Without a name it is of the first call that has no result.
        """
        found = own or next((it for it, of in self._open.items() if name in (None, of)), None)
        if found is not None:
            self._open.pop(found, None)
        return found

    def _derived(self, name: str, arguments: Any) -> str:
        called = jsontext.write_canonical([name, {} if arguments is None else arguments])
        first = f"{name}-{hashlib.sha256(called).hexdigest()[:_DIGITS]}"
        found, count = first, 1
        while found in self._names:
            count += 1
            found = f"{first}-{count}"
        return found
