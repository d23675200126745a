"""The text by which a page is gone on from: opaque to who holds it, and bound to what was asked.

It is sealed by a keyed digest of the log, so that no query gets a key that no page had.
"""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

from pydantic import TypeAdapter
from pydantic_core import to_json

from onrecord.domain.errors import InvalidInput
from onrecord.projections.views.view import Row

_TOLD: Final = TypeAdapter(tuple[str, str, dict[str, str | int], str])


class _Told(NamedTuple):
    """What a cursor says: of which query, a digest of what was asked, a row's key."""

    query: str
    asked: str
    key: Row


@dataclass(frozen=True, slots=True)
class PageCursors:
    """The cursors of one log and tenant; `digest` is the log's keyed one."""

    digest: Callable[[str], bytes]
    tenant: str

    def after(self, query: str, filters: Row, last: Row) -> str:
        """Return the text for what comes behind the row with this key."""
        told = _Told(query, self._asked(filters), last)
        return urlsafe_b64encode(to_json((*told, self._of(told)))).rstrip(b"=").decode()

    def key_in(self, cursor: str, query: str, filters: Row) -> Row:
        """Return the key of the row behind which a page begins.

        InvalidInput where the text is none of ours, or one for another page: of another view, or
        with other filters.
        """
        told = self._read(cursor)
        if told.query != query or told.asked != self._asked(filters):
            raise InvalidInput(
                "`after` belongs to a page of another view, or with other filters: ask for the same "
                "again, with nothing else changed but the limit"
            )
        return told.key

    def _read(self, cursor: str) -> _Told:
        try:
            *members, seal = _TOLD.validate_json(
                urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)), strict=True
            )
        except ValueError:
            raise _not_given() from None
        told = _Told._make(members)
        if not hmac.compare_digest(seal.encode(), self._of(told).encode()):
            raise _not_given()
        return told

    def _asked(self, filters: Row) -> str:
        """Return a digest of what was asked: filters name people and texts, which no cursor needs."""
        return self._of((self.tenant, sorted(filters.items())))

    def _of(self, value: object) -> str:
        return self.digest(to_json(value).decode()).hex()


def _not_given() -> InvalidInput:
    return InvalidInput("`after` is none that a page gave: take the `after` of a page as it is")
