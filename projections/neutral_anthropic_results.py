"""What Anthropic's own tools gave, in neutral form: what a person would read of it."""

from __future__ import annotations

from typing import Any, cast

from hansard.domain.content import Text
from hansard.domain.jsontext import JsonObject
from hansard.projections.neutral_anthropic_documents import Part, parts


def outcome(content: Any) -> tuple[Part, ...]:
    """Return what a server tool's result holds; nothing where there is nothing to read."""
    match content:
        case list():
            return tuple(part for item in cast("list[Any]", content) for part in outcome(item))
        case dict():
            return _one(cast("JsonObject", content))
        case _:
            return parts(content)


def is_error(result: JsonObject) -> bool:
    """Return whether a server tool's result block says that the tool failed."""
    match result:
        case {"is_error": True} | {"content": {"error_code": _}}:
            return True
        case {"content": {"return_code": int(code)}}:
            return code != 0
        case _:
            return False


def _one(held: JsonObject) -> tuple[Part, ...]:
    match held:
        case {"error_code": str(code)}:
            return _texts(_failure(held, code))
        case {"type": "web_search_result"}:
            return _texts(_hit(held))
        case {"type": "web_fetch_result"}:
            return (*_texts(held.get("url")), *parts(held.get("content")))
        case {"return_code": _}:
            return _run(held)
        case {"type": str(kind)} if kind.startswith("text_editor_"):
            return _edit(held)
        case {"tool_references": list()}:
            return parts(held["tool_references"])
        case {"type": "advisor_result", "text": str(text)}:
            return _texts(text)
        case {"type": str(kind), "file_id": str(file_id)} if kind.endswith("_output"):
            return _texts(f"[file held by the provider as {file_id}]")
        case _:
            return parts(held)


def _edit(held: JsonObject) -> tuple[Part, ...]:
    """Return what the text editor showed, or what became of the file."""
    match held:
        case {"content": content}:
            return parts(content)
        case {"lines": list()}:
            lines = cast("list[Any]", held["lines"])
            return _texts("\n".join(line for line in lines if isinstance(line, str)))
        case {"is_file_update": updated}:
            return _texts("file updated" if updated else "file created")
        case _:
            return ()


def _run(held: JsonObject) -> tuple[Part, ...]:
    """Return what a program wrote, how it ended if not well, and the files that it left."""
    code = held["return_code"]
    ended = None if code == 0 else f"return code {code}"
    written = _texts(held.get("stdout"), held.get("stderr"), ended)
    return (*written, *outcome(held.get("content")))


def _failure(held: JsonObject, code: str) -> str:
    message = held.get("error_message")
    told = f"{held.get('type')}: {code}"
    return f"{told}: {message}" if isinstance(message, str) and message else told


def _hit(held: JsonObject) -> str:
    members = (held.get("title"), held.get("url"), held.get("page_age"))
    return "\n".join(member for member in members if isinstance(member, str) and member)


def _texts(*said: Any) -> tuple[Text, ...]:
    return tuple(Text(text=text) for text in said if isinstance(text, str) and text)
