"""Native blocks of any API in neutral form: one reader an API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from hansard.domain.content import Block, Opaque
from hansard.domain.jsontext import JsonObject
from hansard.projections import neutral_anthropic

READERS: Final[dict[str, Callable[[JsonObject], Block]]] = {
    neutral_anthropic.API: neutral_anthropic.neutral
}
"""Name to reader, of each API whose blocks can be told to others."""


def neutral_of(api: str, value: JsonObject) -> Block:
    """Return an API's block in neutral form; Opaque where that says nothing to other APIs.

    `value` is whole: strings that were moved to blobs are back in their place. A block of an API
    that has no reader is opaque.
    """
    reader = READERS.get(api)
    if reader is not None:
        return reader(value)
    kind: Any = value.get("type")
    return Opaque(api=api, type=kind if isinstance(kind, str) else "")
