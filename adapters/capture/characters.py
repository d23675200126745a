"""Text that arrives in pieces, with borders that may fall amid a character."""

from __future__ import annotations


def in_whole_characters(text: str) -> str:
    """Join the halves of a character that two pieces brought as lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return text
