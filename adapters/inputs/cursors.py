"""Cursors as texts, for who keeps the place of a consumer of its own."""

from __future__ import annotations

import re
from typing import Final
from uuid import UUID

from onrecord.adapters.inputs.arguments import text_given
from onrecord.domain.errors import InvalidInput
from onrecord.domain.log import Cursor

_TEXT: Final = re.compile(
    r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})/(\d{1,9})/(\d{1,19})", re.ASCII
)


def cursor_text(cursor: Cursor) -> str:
    """Return a cursor as a text, which `parse_cursor` reads back."""
    return f"{cursor.incarnation}/{cursor.shard}/{cursor.position}"


def parse_cursor(text: str) -> Cursor:
    """Return the cursor of a text that `cursor_text` made; InvalidInput for any other."""
    match = _TEXT.fullmatch(text_given("a cursor", text))
    if match is None:
        raise InvalidInput("this is no cursor: keep what `cursor_text` makes of one, as it is")
    return Cursor(UUID(match[1]), int(match[2]), int(match[3]))
