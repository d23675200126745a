"""Messages of LangChain, as LangGraph's serialiser spells them, in the JSON of OpenAI's chat messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, cast

from onrecord.domain.jsontext import JsonObject
from onrecord.projections.frameworks.chat_messages import call, picture, text, type_name
from onrecord.projections.frameworks.item_messages import ids_among
from onrecord.projections.members import list_of, member, members_of

_ROLES: Final = {"human": "user", "user": "user", "ai": "assistant", "assistant": "assistant"} | {
    "AIMessageChunk": "assistant",
    "HumanMessageChunk": "user",
    "system": "system",
    "developer": "system",
}
_RESULTS: Final = ("tool", "ToolMessageChunk")
_CALLS: Final = ("tool_use", "tool_call")
_MODEL: Final = 5
"""The extension type of a pydantic model: its module, its class, its members."""
_MEMBERS: Final = 2


def read_message(value: object) -> JsonObject | None:
    """Return a message in the JSON of chat messages; None for a value that is no message.

    The value has the members of a message, or is LangGraph's spelling of its class.
    """
    members = message_members(value)
    kind = members.get("type", members.get("role"))
    return _message(kind, members) if isinstance(kind, str) else None


def answer_ids(value: object) -> tuple[str, ...]:
    """Return the ids of the provider's answer that a message names; its own id may be LangChain's."""
    members = message_members(value)
    return ids_among(member(members.get("response_metadata"), "id"), members.get("id"))


def parts_left_out(value: object) -> list[str]:
    """Return the types of those parts of a message that go nowhere; calls stand beside its content."""
    entries = list_of(message_members(value).get("content"))
    kinds = [type_name(member(entry, "type")) for entry in entries if _part(entry) is None]
    return [kind for kind in kinds if kind not in _CALLS]


def message_members(value: object) -> JsonObject:
    """Return the members of a message; none of a value that is no message."""
    spelled = members_of(value)
    if isinstance(spelled.get("role"), str):
        return spelled
    model = list_of(spelled.get("of")) if spelled.get("$ext") == _MODEL else []
    return members_of(model[_MEMBERS]) if len(model) > _MEMBERS else {}


def _message(kind: str, members: JsonObject) -> JsonObject | None:
    content = list(_parts(members.get("content")))
    if kind in _RESULTS:
        call_id = members.get("tool_call_id")
        said = {"role": "tool", "tool_call_id": call_id, "content": content}
        return said if isinstance(call_id, str) else None
    role = _ROLES.get(kind)
    if role is None:
        return None
    if role == "user":
        return {"role": role, "content": content}
    said = {"role": role, "content": "".join(part.get("text", "") for part in content)}
    calls = list(_calls(members.get("tool_calls")))
    return {**said, "tool_calls": calls} if calls and role == "assistant" else said


def _parts(content: object) -> Iterator[JsonObject]:
    """Return the texts and pictures of content, which is a text, or a list of texts and of parts."""
    entries = cast("list[object]", content) if isinstance(content, list) else [content]
    parts = map(_part, entries)
    return (part for part in parts if part is not None)


def _part(entry: object) -> JsonObject | None:
    match entry:
        case str(said) | {"type": "text", "text": str(said)}:
            return text(said)
        case {"type": "image_url", "image_url": {"url": str(url)} | str(url)}:
            return picture(url)
        case {"type": "image", "url": str(url)}:
            return picture(url)
        case (
            {"type": "image", "base64": str(data), "mime_type": str(kind)}
            | {"type": "image", "data": str(data), "mime_type": str(kind)}
            | {"type": "image", "source": {"data": str(data), "media_type": str(kind)}}
        ):
            return picture(f"data:{kind};base64,{data}")
        case _:
            return None


def _calls(calls: object) -> Iterator[JsonObject]:
    for made in list_of(calls):
        match made:
            case {"id": str(call_id), "name": str(name), "args": arguments}:
                yield call(call_id, name, arguments)
            case {"id": str(), "function": {"name": str(), "arguments": str()}}:
                yield made
            case _:
                pass
