"""Arguments as boto3 takes them: bytes where the wire has base64, for it encodes them itself."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Mapping
from typing import Any, Final

from onrecord.domain.jsontext import JsonObject
from onrecord.projections.native_members import objects
from onrecord.projections.neutral_bedrock import held, kind_of
from onrecord.projections.requests.bedrock_converse_documents import MEDIA

BINARY: Final = MEDIA | {"reasoningContent", "guardContent"}
"""Kinds of blocks that may hold bytes, in results as well."""


def with_bytes(blocks: list[JsonObject]) -> list[JsonObject]:
    """Return blocks with bytes in place of base64."""
    return [_block(block) for block in blocks]


def _block(value: JsonObject) -> JsonObject:
    kind = kind_of(value)
    spell = _SPELLINGS.get(kind)
    return value if spell is None or not held(value) else {**value, kind: spell(held(value))}


def _file(told: JsonObject) -> JsonObject:
    match told.get("source"):
        case {"bytes": str(data)}:
            return {**told, "source": {**told["source"], "bytes": _bytes(data)}}
        case _:
            return told


def _reasoning(told: JsonObject) -> JsonObject:
    data: Any = told.get("redactedContent")
    return {**told, "redactedContent": _bytes(data)} if isinstance(data, str) else told


def _result(told: JsonObject) -> JsonObject:
    return {**told, "content": with_bytes(objects(told.get("content")))}


def _bytes(data: str) -> bytes | str:
    """Return what base64 stands for; what is none stays as it is, for the service to judge."""
    try:
        return b64decode(data, validate=True)
    except ValueError:
        return data


_SPELLINGS: Final[Mapping[str, Callable[[JsonObject], JsonObject]]] = {
    **dict.fromkeys(MEDIA, _file),
    "reasoningContent": _reasoning,
    "guardContent": lambda told: _block(told) if "image" in told else told,
    "toolResult": _result,
}
