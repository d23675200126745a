"""Requests that an SDK spells otherwise than they were rendered, and their rendered bytes instead.

google-genai, ollama and botocore read what they are given into objects of their own, and write
these: base64 in another alphabet, members in another case, what they do not know left out. What is
said is the same; the bytes, and so the caches and digests of both sides, are not. docs/recording.md
lists what each does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

from hansard.domain import jsontext
from hansard.domain.jsontext import JsonObject
from hansard.projections.apis import known_api

APIS: Final = frozenset({"gemini", "ollama", "bedrock-converse"})
"""Those whose SDK spells otherwise; the others send what they are given."""

_BASE64: Final = frozenset({"data", "thoughtsignature"})
"""Members that google-genai 3.4 writes in the URL-safe alphabet (RFC 4648, 5), by their bare names."""

_STANDARD: Final = str.maketrans("-_", "+/")


def is_respelled(api: str, body: JsonObject, parts: Mapping[str, bytes]) -> bool:
    """Whether the messages of a body say what was rendered, in an SDK's spelling or in ours."""
    name = known_api(api).messages
    if api not in APIS or name not in parts or name not in body:
        return False
    return _says(body[name], jsontext.read(parts[name]))


def are_respelled(api: str, body: JsonObject, parts: Mapping[str, bytes]) -> bool:
    """Whether a body says all that was rendered, in an SDK's spelling or in ours."""
    return is_respelled(api, body, parts) and all(
        name in body and _says(body[name], jsontext.read(part)) for name, part in parts.items()
    )


def restored(body: JsonObject, parts: Mapping[str, bytes]) -> bytes:
    """Return a body whose members are as rendered, byte for byte, where they say the same."""
    members = (
        jsontext.write(name) + b":" + _spelling(value, parts.get(name))
        for name, value in body.items()
    )
    return b"{" + b",".join(members) + b"}"


def _spelling(value: Any, rendered: bytes | None) -> bytes:
    if rendered is not None and _says(value, jsontext.read(rendered)):
        return rendered
    return jsontext.write(value)


def _says(sent: Any, rendered: Any, member: str = "") -> bool:
    """Whether a value is one that was rendered, less the members that an SDK leaves out."""
    match sent, rendered:
        case dict(), dict():
            return _all_said(cast("JsonObject", sent), cast("JsonObject", rendered))
        case list(), list():
            return _each_said(cast("list[Any]", sent), cast("list[Any]", rendered), member)
        case str(), str() if _bare(member) in _BASE64:
            return sent.translate(_STANDARD) == rendered.translate(_STANDARD)
        case _:
            return type(sent) is type(rendered) and sent == rendered


def _all_said(sent: JsonObject, rendered: JsonObject) -> bool:
    bare = {_bare(name): value for name, value in rendered.items()}
    known: Iterable[tuple[str, Any, Any]] = (
        (name, value, rendered.get(name, bare.get(_bare(name)))) for name, value in sent.items()
    )
    return all(_says(value, made, name) for name, value, made in known)


def _each_said(sent: list[Any], rendered: list[Any], member: str) -> bool:
    return len(sent) == len(rendered) and all(
        _says(value, made, member) for value, made in zip(sent, rendered, strict=True)
    )


def _bare(name: str) -> str:
    """Return a name as it is in any case: camelCase and snake_case are alike."""
    return name.replace("_", "").lower()
