"""The digest of a whole request, as recorders and renderers take it block by block."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from onrecord.domain.request_template import Prefix


def prefix_of(system: Any, tools: Any, messages: Iterable[dict[str, Any]]) -> str:
    """Return what the answer to a request will be bound to."""
    prefix = Prefix(system, tools)
    for message in messages:
        prefix.add(message["role"], message.get("content") or [])
    return prefix.digest()
