r"""JSON as this project reads and writes it: nothing lost, nothing added, or a typed error.

Reading keeps key order, nulls, integers of up to 4,300 digits (as Python reads them) and lone
surrogates, and refuses what cannot be written back: longer integers, NaN and infinities, numbers
beyond a double, duplicate keys, invalid UTF-8.
Writing is compact UTF-8; a lone surrogate leaves as its ``\udXXX`` escape, the only spelling
that JSON has for it. Fractions travel as IEEE 754 doubles, as they do in every provider's SDK.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable
from typing import Any, Final, NoReturn, TypeAlias, cast

from pydantic_core import from_json

from onrecord.domain.errors import MalformedJson

JsonObject: TypeAlias = dict[str, Any]

# What holds itself is found by its depth: to look for it costs a tenth of the time.
_COMPACT: Final = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), allow_nan=False, check_circular=False
)
_CANONICAL: Final = json.JSONEncoder(
    ensure_ascii=True, sort_keys=True, separators=(",", ":"), allow_nan=False, check_circular=False
)


_NO_SIGNS: Final = bytes(sorted(set(range(256)) - set(b',[{"')))
_STRING: Final = re.compile(rb'"[^"]*"')


def _encoding(encoder: json.JSONEncoder, text_encoder: str) -> Callable[[Any], str]:
    """Return what encodes as an encoder does, in C where there is that.

    `JSONEncoder.encode` makes its part in C anew for each value, which takes as long as to write a
    short one.
    """
    # Neither is in the type hints of the standard library.
    made_in_c: Any = getattr(json.encoder, "c_make_encoder", None)
    text_in_c: Any = getattr(json.encoder, text_encoder, None)
    if made_in_c is None or text_in_c is None:
        return encoder.encode
    separators = encoder.key_separator, encoder.item_separator
    options = encoder.sort_keys, encoder.skipkeys, encoder.allow_nan
    chunks = made_in_c(None, encoder.default, text_in_c, None, *separators, *options)
    return lambda value: "".join(chunks(value, 0))


_compact: Final = _encoding(_COMPACT, "c_encode_basestring")
_canonical: Final = _encoding(_CANONICAL, "c_encode_basestring_ascii")


def read(text: bytes | str) -> Any:
    """Return the value of a JSON text from outside; raise MalformedJson where a loss would hide."""
    try:
        return _READER.decode(text if isinstance(text, str) else text.decode())
    except MalformedJson:
        raise
    except UnicodeDecodeError as exc:
        raise MalformedJson(f"not UTF-8 at byte {exc.start}: send JSON as UTF-8") from exc
    except RecursionError as exc:
        raise MalformedJson("nested too deeply to be read: flatten it") from exc
    except ValueError as exc:
        raise MalformedJson(_without_content(exc)) from exc


def has_more_values(text: bytes, most: int) -> bool:
    """Whether a JSON text has more values than that, before any of them takes memory.

    An empty list or object counts as two. What is no JSON is counted too, in the same time.
    """
    if len(text) <= most:
        return False
    unescaped = text.replace(rb"\\", b"").replace(rb"\"", b"")
    signs = unescaped.translate(None, _NO_SIGNS)
    # Each string is a value or the name of one.
    if signs.count(b'"') > 4 * most:
        return True
    # A value comes behind each of the signs that are left, and one before all.
    return len(_STRING.sub(b"", signs)) >= most


def read_object(text: bytes | str) -> JsonObject:
    """Return the object of a JSON text from outside; any other value is MalformedJson."""
    return _object(read(text))


def write(value: Any) -> bytes:
    """Return the value as compact UTF-8 JSON, keys in their own order."""
    try:
        text = _compact(value)
    except RecursionError as exc:
        raise MalformedJson("nested too deeply to be written: flatten it") from exc
    except (TypeError, ValueError) as exc:
        # The cause may name keys that are personal (Python 3.14 adds them as notes).
        raise MalformedJson(f"not representable as JSON: {exc}") from None
    return text.encode("utf-8", "backslashreplace")


def write_canonical(value: Any) -> bytes:
    """Return the value as compact ASCII JSON with sorted keys, for what is hashed by meaning."""
    try:
        return _canonical(value).encode("ascii")
    except (TypeError, ValueError, RecursionError) as exc:
        raise MalformedJson(f"not representable as JSON: {exc}") from exc


def _object(value: Any) -> JsonObject:
    if isinstance(value, dict):
        return cast("JsonObject", value)
    raise MalformedJson(f"expected a JSON object, found {type(value).__name__}")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise MalformedJson("an object has the same key twice: the meaning of that is undefined")
    return members


def _finite(spelling: str) -> float:
    number = float(spelling)
    if math.isinf(number):
        raise MalformedJson("a number is too large for a double: write it as a string")
    return number


def _refuse_constant(spelling: str) -> NoReturn:
    raise MalformedJson(f"{spelling} is not JSON: leave it out, or write it as a string")


def _without_content(exc: ValueError) -> str:
    """Say where reading failed and why, but nothing of the text: it may be personal."""
    if isinstance(exc, json.JSONDecodeError):
        return f"not JSON: {exc.msg} at line {exc.lineno}, column {exc.colno}"
    return "not JSON that can be read: a number is too long"


# Made once: json.loads makes one for each text, which takes as long as a short text to read.
_READER: Final = json.JSONDecoder(
    object_pairs_hook=_unique, parse_float=_finite, parse_constant=_refuse_constant
)


# JSON from outside that may be nested no deeper than every later reader can follow.

DEEPEST: Final = 200
"""How many levels of objects and lists may stand in one another.

What walks a value later (moving long strings out, comparing, rendering) recurses, and the
interpreter stops recursion at about 1,000 frames, those of the caller included.
"""


def read_bounded(text: bytes | str) -> Any:
    """Return the value of a JSON text; MalformedJson where it is not one, or is too deep."""
    value = read(text)
    if _may_be_deep(text) and _is_deep(value):
        raise MalformedJson(f"nested more than {DEEPEST} levels deep: flatten it")
    return value


def gives_back(text: bytes, value: Any) -> bool:
    """Whether a JSON text is read as that value; MalformedJson as `read_bounded`."""
    try:
        # The fast reader does not see what the text has twice, but then the value differs.
        if not _may_be_deep(text) and from_json(text) == value:
            return True
    except ValueError:
        pass  # A lone surrogate is legal JSON, but not for the fast reader.
    return bool(read_bounded(text) == value)


def read_bounded_object(text: bytes | str) -> JsonObject:
    """Return the object of a JSON text; MalformedJson where it is none, or is too deep."""
    return _object(read_bounded(text))


def _may_be_deep(text: bytes | str) -> bool:
    """Count brackets, which is quick, before walking the value, which is not."""
    if isinstance(text, bytes):
        return text.count(b"[") + text.count(b"{") > DEEPEST
    return text.count("[") + text.count("{") > DEEPEST


def _is_deep(value: Any) -> bool:
    level = _nested([value])
    for _ in range(DEEPEST):
        level = [inner for outer in level for inner in _nested(outer)]
        if not level:
            return False
    return True


def _nested(value: Any) -> list[Any]:
    """Return the objects and lists that stand directly in a value."""
    items: Iterable[Any] = (
        cast("dict[str, Any]", value).values() if isinstance(value, dict) else value
    )
    return [item for item in items if isinstance(item, dict | list)]


# JSON pointers (RFC 6901): where a value stands in another one.


def pointer(path: Iterable[str | int]) -> str:
    """Return the pointer of a path: names of members and places in lists."""
    return "".join(map(pointer_step, path))


def pointer_step(step: str | int) -> str:
    """Return one step of a pointer, with the slash before it."""
    return f"/{str(step).replace('~', '~0').replace('/', '~1')}"


def pointer_path(pointer: str) -> list[str]:
    """Return the names in a pointer; a place in a list is one in digits."""
    return [name.replace("~1", "/").replace("~0", "~") for name in pointer.split("/")[1:]]
