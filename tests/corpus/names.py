"""What a block is known by, by another way than the product's: its ids, and all of its words.

Two tellings of one block share a name, whatever API spells it, and whatever an echo lost of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, cast

from tests.corpus.wire import JsonObject

_ANSWERED = {"tool_use_id", "tool_call_id", "approval_request_id"}
_RESULTS = {"toolResult", "functionResponse", "toolResponse", "codeExecutionResult"}
_CALLS = {"functionCall", "functionResponse"}
_IDS = {
    *("id", "call_id", "signature", "encrypted_content", "data", "item_id"),
    *("toolUseId", "thoughtSignature", "redactedContent"),
}
_WORDS = {
    *("code", "bytes", "fileUri", "uri"),
    *("text", "content", "output", "thinking", "refusal", "summary", "title", "url"),
    *("reasoning", "reasoning_content", "file_id", "file_data", "image_url", "arguments"),
}
_TAGGED = re.compile(r"<(think|thinking)>.*?</\1>", re.DOTALL)


def names(block: JsonObject) -> set[str]:
    """All names of a block; none, if it says nothing."""
    role = "result" if is_result(block) else "said"
    return {f"{role}:{name}" for name in _names(block) if name}


def is_result(block: JsonObject) -> bool:
    kind = str(block.get("type"))
    return bool(block.keys() & (_ANSWERED | _RESULTS)) or kind.endswith(("_output", "_response"))


def _names(value: Any, key: str = "") -> Iterator[str]:
    match value:
        case str() if key in _IDS or key in _ANSWERED:
            yield value
        case str() if key in _WORDS:
            yield " ".join(_TAGGED.sub("", value).split())
        case dict() if key in _CALLS:
            told = cast("JsonObject", value)
            yield json.dumps({name: told[name] for name in sorted(told) if name != "id"})
            yield str(told.get("id", ""))
        case dict():
            for name, member in cast("JsonObject", value).items():
                yield from _names(member, name)
        case list():
            for member in cast("list[Any]", value):
                yield from _names(member, key)
        case _:
            return
