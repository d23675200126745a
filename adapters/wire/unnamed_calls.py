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
        call_id = own or self._derived(name, arguments)
        self._names.add(call_id)
        self._open[call_id] = name
        return call_id

    def result(self, name: str | None, own: str | None = None) -> str | None:
        """Return the id of the call that the next result is of; None where none awaits it.

        Without a name it is of the first call that has no result.
        """
        call_id = own or next(
            (open_id for open_id, open_name in self._open.items() if name in (None, open_name)),
            None,
        )
        if call_id is not None:
            self._open.pop(call_id, None)
        return call_id

    def _derived(self, name: str, arguments: Any) -> str:
        called = jsontext.write_canonical([name, {} if arguments is None else arguments])
        first = f"{name}-{hashlib.sha256(called).hexdigest()[:_DIGITS]}"
        call_id, count = first, 1
        while call_id in self._names:
            count += 1
            call_id = f"{first}-{count}"
        return call_id
