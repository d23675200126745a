"""Typed values of LangGraph's serialisers, spelled in JSON where that gives the same bytes back.

A serialiser gives a name and bytes. Bytes of msgpack are spelled as the JSON of what they hold, so that the
record can be read: `{"type": "msgpack", "json": ...}`. In it `{"$ext": code, "of": ...}` is an extension type
(LangGraph's own say which class, and its members), `{"$bytes": ...}` bytes. All else, and what JSON cannot
spell, is `{"type": ..., "base64": ...}`.
"""

from __future__ import annotations

import base64
import math
from typing import Any, Final, NamedTuple, TypeAlias, cast

import ormsgpack

from onrecord.domain.errors import CorruptRecord
from onrecord.domain.jsontext import DEEPEST, JsonObject
from onrecord.projections.frameworks.shared_values import EXT, SAME

TypedValue: TypeAlias = tuple[str, bytes]
"""What `dumps_typed` of a serialiser gives."""

MSGPACK: Final = "msgpack"
_BYTES: Final = "$bytes"
_OPTIONS: Final = ormsgpack.OPT_NON_STR_KEYS


class _Ext(NamedTuple):
    code: int
    data: bytes


class _NoJson(ValueError):
    """A value that JSON cannot spell."""


def spell(value: TypedValue) -> JsonObject:
    """Return a typed value in JSON."""
    name, data = value
    if name == MSGPACK:
        try:
            spelled = _spelled(_unpacked(data), 0)
            if _packed(spelled) == data:
                return {"type": name, "json": spelled}
        except (ValueError, TypeError, RecursionError):
            pass
    if not data:
        return {"type": name}
    return {"type": name, "base64": base64.b64encode(data).decode("ascii")}


def typed(spelled: JsonObject) -> TypedValue:
    """Return the typed value that was spelled; CorruptRecord where it is none."""
    try:
        name: str = spelled["type"]
        if "json" in spelled:
            return name, _packed(spelled["json"])
        return name, base64.b64decode(spelled.get("base64", ""), validate=True)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        raise CorruptRecord(
            "a value of LangGraph is not as it was written: verify the log and restore it"
        ) from None


def _unpacked(data: bytes) -> Any:
    return ormsgpack.unpackb(data, ext_hook=_Ext, option=_OPTIONS)


def _packed(spelled: Any) -> bytes:
    return ormsgpack.packb(_unspelled(spelled), option=_OPTIONS)


def _spelled(value: Any, depth: int) -> Any:
    # What stands around a value in its event is a few levels deep itself.
    if depth > DEEPEST - 16:
        raise _NoJson
    match value:
        case _Ext():
            return _spelled_extension(value, depth)
        case dict():
            return _spelled_members(cast("dict[object, Any]", value), depth)
        case list():
            return [_spelled(member, depth + 1) for member in cast("list[Any]", value)]
        case bytes():
            return {_BYTES: base64.b64encode(value).decode("ascii")}
        case float() if not math.isfinite(value):
            raise _NoJson
        case _:
            return value


def _spelled_members(value: dict[object, Any], depth: int) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for name, member in value.items():
        if not isinstance(name, str) or name in (EXT, SAME, _BYTES):
            raise _NoJson
        members[name] = _spelled(member, depth + 1)
    return members


def _spelled_extension(value: _Ext, depth: int) -> dict[str, Any]:
    try:
        inner = _spelled(_unpacked(value.data), depth + 2)
        if _packed(inner) == value.data:
            return {EXT: value.code, "of": inner}
    except (ValueError, TypeError):
        pass
    return {EXT: value.code, "base64": base64.b64encode(value.data).decode("ascii")}


def _unspelled(spelled: Any) -> Any:
    match spelled:
        case {"$ext": int() as code, "of": inner}:
            return ormsgpack.Ext(code, _packed(inner))
        case {"$ext": int() as code, "base64": str() as text}:
            return ormsgpack.Ext(code, base64.b64decode(text, validate=True))
        case {"$bytes": str() as text}:
            return base64.b64decode(text, validate=True)
        case dict():
            members = cast("dict[str, Any]", spelled)
            return {name: _unspelled(member) for name, member in members.items()}
        case list():
            return [_unspelled(member) for member in cast("list[Any]", spelled)]
        case _:
            return spelled
