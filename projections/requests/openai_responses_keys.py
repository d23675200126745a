"""Keys that OpenAI's SDK adds to what it read, and that no request has (O12)."""

from __future__ import annotations

from typing import Any, Final, cast

from onrecord.domain.jsontext import JsonObject
from onrecord.projections.requests.openai_responses_draft import Draft

_OWN: Final = frozenset({"parsed", "parsed_arguments", "async_"})
"""`parsed` and `parsed_arguments` are what its `parse` made, `async_` is its name for `async`."""


def without_own_keys(draft: Draft, value: JsonObject, version: int) -> JsonObject:
    """Return an item without the keys that the SDK added to it, or to a part of it.

    "Unknown parameter: 'input[1].content[0].parsed'."
    """
    content = value.get("content")
    parts = cast("list[Any]", content) if isinstance(content, list) else ()
    if _OWN.isdisjoint(value) and not any(map(_has_own, parts)):
        return value
    draft.note("repaired", "O12", version, "keys that the SDK added are not sent")
    kept = {key: held for key, held in value.items() if key not in _OWN}
    return {**kept, "content": [_kept(part) for part in parts]} if parts else kept


def _has_own(part: Any) -> bool:
    return isinstance(part, dict) and not _OWN.isdisjoint(cast("JsonObject", part))


def _kept(part: Any) -> Any:
    if not isinstance(part, dict):
        return part
    return {key: held for key, held in cast("JsonObject", part).items() if key not in _OWN}
