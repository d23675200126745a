"""What a typed result says, once its own handler has told it."""

from __future__ import annotations

from typing import NamedTuple


class Unfolded(NamedTuple):
    """A nesting of mappings, lists, texts, documents and other typed values.

    `at` is where that stands in the JSON of the result (a JSON pointer, RFC 6901).
    """

    value: object
    at: str = ""
    is_error: bool = False
