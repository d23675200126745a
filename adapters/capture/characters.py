"""Text that arrives in pieces, with borders that may fall amid a character."""

from __future__ import annotations

from typing import Final

_AT_ONCE: Final = 1024 * 1024


def in_whole_characters(text: str) -> str:
    """Join the halves of a character that two pieces brought as lone surrogates."""
    try:
        # In slices: a long text is not held twice only to be looked at.
        for start in range(0, 0 if text.isascii() else len(text), _AT_ONCE):
            text[start : start + _AT_ONCE].encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return text
