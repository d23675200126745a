"""The text by which a page is gone on from: opaque to who holds it, and bound to what was asked."""

from __future__ import annotations

import hashlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Final

from pydantic import TypeAdapter
from pydantic_core import to_json

from hansard.domain.errors import InvalidInput
from hansard.projections.views.view import Row

_TOLD: Final = TypeAdapter(tuple[str, str, dict[str, str | int]])
_DIGITS: Final = 16


def cursor_of(query: str, tenant: str, filters: Row, last: Row) -> str:
    """Return the text for what comes behind the row with this key."""
    told = to_json((query, _asked(tenant, filters), last))
    return urlsafe_b64encode(told).rstrip(b"=").decode()


def key_in(cursor: str, query: str, tenant: str, filters: Row) -> Row:
    """Return the key of the row behind which a page begins.

    InvalidInput where the text is none of ours, or one for another page: of another view, or with
    other filters.
    """
    of, asked, key = _read(cursor)
    if of != query or asked != _asked(tenant, filters):
        raise InvalidInput(
            "`after` belongs to a page of another view, or with other filters: ask for the same "
            "again, with nothing else changed but the limit"
        )
    return {**key}


def _read(cursor: str) -> tuple[str, str, dict[str, str | int]]:
    try:
        return _TOLD.validate_json(
            urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)), strict=True
        )
    except ValueError:
        raise InvalidInput(
            "`after` is none that a page gave: take the `after` of a page as it is"
        ) from None


def _asked(tenant: str, filters: Row) -> str:
    """Return a digest of what was asked: filters name people and texts, which a cursor need not."""
    given = to_json((tenant, sorted(filters.items())))
    return hashlib.sha256(given).hexdigest()[:_DIGITS]
