"""Requests that an SDK spells otherwise than they were rendered, and their rendered bytes instead.

google-genai, ollama and botocore read what they are given into objects of their own, and write
these: base64 in another alphabet, members in another case, what they do not know left out. What is
said is the same; the bytes, and so the caches and digests of both sides, are not. docs/recording.md
lists what each does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

from onrecord.adapters.wire.wires import wire_of
from onrecord.domain import jsontext
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.api import known_api

_BASE64: Final = frozenset({"data", "thoughtsignature"})
"""Members that google-genai 3.4 writes in the URL-safe alphabet (RFC 4648, 5), by their bare names."""

_TOOLS: Final = "tools"
_STANDARD: Final = str.maketrans("-_", "+/")


def by_sdk(api: str) -> bool:
    """Whether the SDK of an API spells otherwise; others send what they are given."""
    wire = wire_of(api)  # Without one, what was rendered for it went out on no wire that is read.
    return wire is not None and wire.is_respelled


def is_respelled(api: str, body: JsonObject, parts: Mapping[str, bytes]) -> bool:
    """Whether the messages of a body say what was rendered, in an SDK's spelling or in ours."""
    name = known_api(api).messages
    if not by_sdk(api) or name not in parts or name not in body:
        return False
    return _says(body[name], jsontext.read(parts[name]))


def are_respelled(api: str, body: JsonObject, parts: Mapping[str, bytes]) -> bool:
    """Whether a body says all that was rendered, in an SDK's spelling or in ours."""
    return is_respelled(api, body, parts) and holds(body, parts)


def holds(body: JsonObject, parts: Mapping[str, bytes]) -> bool:
    """Whether a body has these parts as they were rendered, in an SDK's spelling or in ours."""
    return all(
        name in body and _holds(body[name], jsontext.read(part), name)
        for name, part in parts.items()
    )


def restored(body: JsonObject, parts: Mapping[str, bytes]) -> bytes:
    """Return a body whose members are as rendered, byte for byte, where they say the same."""
    members = {name: jsontext.read(part) for name, part in parts.items()}
    return jsontext.write(_restored(body, members))


def _restored(sent: JsonObject, rendered: JsonObject) -> JsonObject:
    return {
        name: _spelling(value, rendered[name], name) if name in rendered else value
        for name, value in sent.items()
    }


def _spelling(sent: Any, rendered: Any, name: str) -> Any:
    """Return a member as it was rendered; what its caller put beside that, it keeps."""
    if _says(sent, rendered, name):
        return rendered
    match sent, rendered:
        case dict(), dict():
            return _restored(cast("JsonObject", sent), cast("JsonObject", rendered))
        case _:
            return sent


def _holds(sent: Any, rendered: Any, name: str) -> bool:
    """Whether a member says what was rendered, and maybe more beside it."""
    if isinstance(sent, dict) and isinstance(rendered, dict):
        members, rendered_members = cast("JsonObject", sent), cast("JsonObject", rendered)
        return all(
            it in members and _says(members[it], value, it)
            for it, value in rendered_members.items()
        )
    return _says(sent, rendered, name)


def _says(sent: Any, rendered: Any, member: str = "") -> bool:
    """Whether a value is one that was rendered, less the members that an SDK leaves out."""
    match sent, rendered:
        case dict(), dict():
            return _all_said(cast("JsonObject", sent), cast("JsonObject", rendered))
        case list(), list():
            return _each_said(cast("list[Any]", sent), cast("list[Any]", rendered), member)
        case str(), str() if _bare(member) in _BASE64:
            return sent.translate(_STANDARD) == rendered.translate(_STANDARD)
        case str(), str() if member == "type":  # Of a schema: google-genai writes it in capitals.
            return sent.lower() == rendered.lower()
        case _:
            return type(sent) is type(rendered) and sent == rendered


def _all_said(sent: JsonObject, rendered: JsonObject) -> bool:
    bare = {_bare(name): value for name, value in rendered.items()}
    known: Iterable[tuple[str, Any, Any]] = (
        (name, value, rendered.get(name, bare.get(_bare(name)))) for name, value in sent.items()
    )
    return all(_says(value, made, name) for name, value, made in known)


def _each_said(sent: list[Any], rendered: list[Any], member: str) -> bool:
    if len(sent) != len(rendered):
        return False
    if member == _TOOLS:
        return _each_among(sent, list(rendered))
    return all(_says(value, made, member) for value, made in zip(sent, rendered, strict=True))


def _each_among(sent: list[Any], rendered: list[Any]) -> bool:
    """Whether all of a list was rendered, in whatever order: google-genai has its own for tools."""
    for value in sent:
        made = next((made for made in rendered if _says(value, made)), None)
        if made is None:
            return False
        rendered.remove(made)
    return True


def _bare(name: str) -> str:
    """Return a name as it is in any case: camelCase and snake_case are alike."""
    return name.replace("_", "").lower()
