"""Which members of a recorded message go back, and which only their maker reads.

OpenAI's own type of a request's message knows fewer members than its answers have; compatible
servers add more, and some want them back: "The `reasoning_content` in the thinking mode must be
passed back to the API." (DeepSeek)
"""

from __future__ import annotations

from typing import Any, Final, cast

from onrecord.domain import jsontext
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.openai_chat.draft import ChatDraft
from onrecord.projections.apis.openai_chat.read import REASONING
from onrecord.projections.history.history import Block
from onrecord.projections.history.tool_names import OPENAI, name_for
from onrecord.projections.members import text

_PLAIN: Final = frozenset({"role", "content", "refusal"})
_PLAIN_AND_MORE: Final = len(_PLAIN) + 1
_KNOWN: Final = _PLAIN | {"name", "audio", "function_call", "tool_calls"}
_ANSWERS_ONLY: Final = frozenset({"annotations", "parsed", "parsed_arguments"})
_COUNTS: Final = frozenset({"index"})
_CALL: Final = frozenset({"id", "type", "function", "custom"})
_FUNCTION: Final = frozenset({"name", "arguments"})
_PARTS: Final = frozenset({"text", "refusal"})
_THOUGHTS: Final = "thinking"
_THOUGHTS_TOLD: Final = frozenset(REASONING)


def plain_back(draft: ChatDraft, value: JsonObject) -> JsonObject | None:
    """Return a message that has nothing but text, and some, as most do; None for any other.

    OpenAI puts an empty list of annotations in each: it says nothing.
    """
    content = value.get("content")
    if not content or not isinstance(content, str) or "role" not in value:
        return None
    if draft.is_elsewhere and "refusal" in value:
        return None
    if value.keys() <= _PLAIN:
        return value
    if value.get("annotations") != [] or len(value) != _PLAIN_AND_MORE:
        return None
    draft.has_decoys = True
    return {name: item for name, item in value.items() if name in _PLAIN}


def message_back(draft: ChatDraft, block: Block, value: JsonObject) -> JsonObject:
    """Return a message as it goes back."""
    back: JsonObject = {}
    if "role" not in value:
        back["role"] = "assistant"
        draft.note("repaired", "C11", block.version, "a message has a role")
    for name, item in value.items():
        if name == "content" and isinstance(item, list):
            back[name] = _parts(draft, block, cast("list[Any]", item))
        elif name in _KNOWN:
            if item or item is None or name not in ("audio", "function_call"):
                back[name] = item
        elif _goes(draft, block, name, item):
            back[name] = item
    if back.get("audio"):
        _put_sound(draft, block, back, back.pop("audio"))
    if draft.is_elsewhere and not draft.is_kin(block):
        _put_plainly(draft, block, back)
    return back


def _put_plainly(draft: ChatDraft, block: Block, back: JsonObject) -> None:
    """Leave out the members that only OpenAI's own service has; a refusal goes as text (C7)."""
    refusal = back.pop("refusal", None)
    if refusal:
        back["content"] = back.get("content") or refusal
        draft.note("translated", "C7", block.version, "a refusal goes as text")
    for name in [name for name in ("audio", "function_call") if back.get(name, "") is None]:
        del back[name]


def reasoning_back(draft: ChatDraft, block: Block, value: JsonObject) -> JsonObject:
    """Return the members that tell what a model thought, as far as they go back."""
    return {name: item for name, item in value.items() if _goes(draft, block, name, item)}


def with_reasoning(draft: ChatDraft, block: Block, message: JsonObject) -> JsonObject:
    """Return a message with calls as its reader wants it: with reasoning, if only an empty one.

    "Missing `reasoning_content` field in the assistant message at message index 2" is what DeepSeek
    says to answers of others; an empty one it takes. What the same model said goes as it came.
    """
    if draft.is_groq or not draft.reader.wants_reasoning or not _THOUGHTS_TOLD.isdisjoint(message):
        return message
    made_by = draft.history.responses.model_of(block.response) if block.response else None
    if made_by == draft.reader.model and draft.options.thinking != "drop":
        return message
    draft.note("repaired", "C8", block.version, "an answer with calls goes with empty reasoning")
    return {**message, "reasoning_content": ""}


def call_back(draft: ChatDraft, block: Block, value: JsonObject, call_id: str | None) -> JsonObject:
    """Return an element of `tool_calls` as it goes back, under this id if it has one."""
    if value.get("id") == call_id and len(value) == 3 and _is_plain(draft, value):
        return value
    back: JsonObject = {}
    for name, item in value.items():
        if name == "function" and item and isinstance(item, dict):
            back[name] = _function(draft, block, cast("JsonObject", item))
        elif name in _CALL:
            if name not in ("function", "custom") or _is_told(draft, block, item):
                back[name] = item
            else:
                draft.has_decoys = True
        elif _goes(draft, block, name, item):
            back[name] = item
    if call_id is not None:
        back["id"] = call_id
    if "type" not in back and not draft.is_kin(block):
        back["type"] = "custom" if "custom" in back else "function"
    return back


def says_nothing(draft: ChatDraft, message: JsonObject) -> bool:
    """Whether a message without calls has nothing that can go as its content (C4).

    OpenAI's service takes an empty string, as recorded requests show; others do not.
    """
    content = message.get("content")
    if content or message.get("refusal") or message.get("function_call") or message.get("audio"):
        return False
    is_lenient = draft.reader.is_openai or draft.reader.model is None
    return content != "" or not is_lenient


def _is_told(draft: ChatDraft, block: Block, value: Any) -> bool:
    """Whether a call tells what it calls; its maker may have its decoys back (Snowflake)."""
    return not _is_empty(value) or (bool(value) and draft.is_kin(block))


def _is_plain(draft: ChatDraft, value: JsonObject) -> bool:
    """Whether a call is one of a function that needs no repair, as most are."""
    match value:
        case {"type": "function", "function": {"name": str(name), "arguments": str()} as function}:
            fits = not draft.reader.is_openai or name_for(name, OPENAI) == name
            return fits and len(cast("JsonObject", function)) == len(_FUNCTION)
        case _:
            return False


def _function(draft: ChatDraft, block: Block, function: JsonObject) -> JsonObject:
    """Return what a call says of its function.

    Services want arguments, if only none; OpenAI's own wants a text.
    """
    back = {
        name: item
        for name, item in function.items()
        if name in _FUNCTION or _goes(draft, block, name, item)
    }
    if back.get("arguments") is None:
        back["arguments"] = "{}"
        draft.note(
            "repaired", "C10", block.version, "a call without arguments goes with an empty object"
        )
    if not draft.reader.is_openai:
        return back
    if isinstance(name := back.get("name"), str):
        back["name"] = draft.tool_name(name, block.version)
    if not isinstance(arguments := back["arguments"], str):
        back["arguments"] = jsontext.write(arguments).decode()
        draft.note("translated", "C10", block.version, "the arguments of a call are a text")
    return back


def _parts(draft: ChatDraft, block: Block, content: list[Any]) -> list[Any] | None:
    """Return the parts of an answer's content; Mistral's hold thoughts, which are its own."""
    drops = draft.options.thinking == "drop"
    rest: list[Any] = []
    for part in content:
        kind = text(cast("JsonObject", part).get("type")) if isinstance(part, dict) else "text"
        if kind == _THOUGHTS and drops:
            draft.leave_out("thinking", block, "thinking is dropped, as asked")
        elif kind == "refusal" and draft.is_elsewhere and not draft.is_kin(block):
            rest.append({"type": "text", "text": cast("JsonObject", part).get("refusal", "")})
            draft.note("translated", "C7", block.version, "a refusal goes as text")
        elif kind in _PARTS or draft.is_kin(block):
            rest.append(part)
        else:
            draft.leave_out(
                "C8", block, f"a {kind or 'part'} goes only to the family of models that made it"
            )
    return rest or None


def _put_sound(draft: ChatDraft, block: Block, back: JsonObject, value: Any) -> None:
    """Put the id of a sound, which is all that a request may have of it, until it expires (C9)."""
    match value:
        case {"id": str(sound_id)} if sound_id and draft.holds_sound(value.get("expires_at")):
            back["audio"] = {"id": sound_id}
            draft.note("translated", "C9", block.version, "a sound goes by its id")
        case {"transcript": str(text)} if text:
            back["content"] = back.get("content") or text
            draft.note("translated", "C9", block.version, "a sound is gone: its words go as text")
        case _:
            draft.has_decoys = True


def _goes(draft: ChatDraft, block: Block, name: str, value: Any) -> bool:
    """Whether a member that OpenAI's requests do not know goes back; note it if it does not."""
    if name in _THOUGHTS_TOLD and draft.options.thinking == "drop":
        draft.leave_out("thinking", block, "thinking is dropped, as asked")
        return False
    if draft.is_groq:
        goes = False
    elif name in _ANSWERS_ONLY:
        is_theirs = name == "annotations" and draft.reader.model is not None
        goes = bool(value) and is_theirs and draft.is_kin(block)
    else:
        goes = draft.is_kin(block)
        goes = goes or (name in _THOUGHTS_TOLD and draft.is_routed_kin(block))
    if goes:
        return True
    if name in _COUNTS or _is_empty(value):
        draft.has_decoys = True
    elif draft.is_groq:
        draft.leave_out("C15", block, f"{name}: Groq does not take it back")
    elif name in _ANSWERS_ONLY:
        draft.leave_out("C7", block, f"{name}: a request does not have them")
    else:
        draft.leave_out("C8", block, f"{name}: only the models that made it read it")
    return False


def _is_empty(value: Any) -> bool:
    """Whether a value says nothing, nor any member of it: servers send such decoys (Snowflake)."""
    match value:
        case None | "":
            return True
        case list():
            return all(map(_is_empty, cast("list[Any]", value)))
        case dict():
            return all(map(_is_empty, cast("JsonObject", value).values()))
        case _:
            return False
