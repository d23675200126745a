"""What blocks of other APIs say, and what is done to them on their way into a request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, assert_never, cast

from onrecord.domain import jsontext
from onrecord.domain.blobs import restore
from onrecord.domain.content import (
    Document,
    HeldFile,
    Native,
    NeutralBlock,
    Opaque,
    Reasoning,
    ServerToolCall,
    ServerToolResult,
    Text,
    ToolCall,
    ToolResult,
    Url,
)
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.tools import ToolDefinition
from onrecord.projections.api import instructions_of, neutral_of, outcome_of, parts_of, tool_of
from onrecord.projections.apis.documents import words_for
from onrecord.projections.history import history
from onrecord.projections.history.history import Note, NoteKind
from onrecord.projections.members import list_of, text

# What tools of a provider did, in words: for a model that cannot read their blocks.
#
# A note that it was done, not a call in another spelling: a model that reads calls as text writes
# such texts, and calls nothing. Nothing is cut short.


def words_of(activity: ToolCall | ServerToolCall | ServerToolResult) -> str:
    """Return what a tool was asked, or what a provider's own tool gave."""
    match activity:
        case ToolCall():
            return "\n".join([f"[{activity.name} was called.]", *_asked(activity.arguments)])
        case ServerToolCall():
            return "\n".join([f"[{activity.name} was used.]", *_asked(activity.arguments)])
        case ServerToolResult():
            ended = "failed" if activity.is_error else "gave"
            entries = [*map(part_told, activity.content), *_ended(activity.metadata)]
            return "\n".join([f"[{activity.name} {ended}:]", *(entries or ["nothing"])])
        case _:
            assert_never(activity)


def part_told(part: Text | Url | Document | HeldFile) -> str:
    """Return a part of what a tool gave, as text."""
    match part:
        case Text(text=text):
            return text
        case Url(url=url, title=title, about=about):
            beside = [item for item in about.values() if isinstance(item, str) and item]
            return "\n".join([*([title] if title else []), url, *beside])
        case HeldFile(file_id=file_id):
            return f"[file held by the provider as {file_id}]"
        case Document():
            return document_told(part)
        case _:
            assert_never(part)


def document_told(document: Document) -> str:
    """Return what is said of a document where an answer holds it.

    A picture whose bytes the answer has was recorded as a document too, and is told on its own.
    """
    is_picture = document.media_type.startswith("image/")
    if is_picture and (document.url or "").startswith("data:"):
        return f"[A picture ({document.media_type}).]"
    return words_for(document)


def _asked(arguments: Any) -> Iterator[str]:
    """Yield a line for each argument; a text of several lines stands below its name."""
    if not isinstance(arguments, dict):
        yield _value(arguments)
        return
    for name, item in cast("JsonObject", arguments).items():
        text = _value(item)
        yield f"{name}:\n{text}" if "\n" in text else f"{name}: {text}"


def _value(value: Any) -> str:
    match value:
        case str():
            return value
        case [*items] if all(isinstance(item, str) for item in items):
            return "; ".join(items)
        case _:
            return jsontext.write(value).decode()


def _ended(metadata: JsonObject) -> Iterator[str]:
    """Yield how it ended, where what it gave does not say so."""
    code, updated = metadata.get("return_code"), metadata.get("is_file_update")
    if isinstance(code, int) and code:
        yield f"return code {code}"
    if isinstance(updated, bool):
        yield "file updated" if updated else "file created"
    if (outcome := text(metadata.get("outcome"))) in _OUTCOMES:
        yield _OUTCOMES[outcome]


_OUTCOMES: Final[dict[str, str]] = {
    "OUTCOME_FAILED": "it failed",
    "OUTCOME_DEADLINE_EXCEEDED": "it took too long",
}
"""How Gemini says that code did not end well."""


_BESIDE: Final = ("annotations", "citations", "executed_tools", "thinking")
"""What a text was made of, by members: sources, what Groq's tools did, the thoughts of Mistral."""

Part = Text | Document
Told = tuple[tuple[Part, ...], Note]


def told_of(native: Native, block: history.Block) -> Told:
    """Return what a block says, and the note on it; `native` is its content, whole."""
    if block.response is None and (parts := parts_of(native.api, native.value)):
        return parts, _note("translated", block, f"a message of {native.api}")
    return _said(native, block)


def _said(native: Native, block: history.Block) -> Told:
    neutral = neutral_of(native.api, native.value)
    match neutral:
        case Text(text=text):
            why = f"a text of {native.api}" if text else f"a message of {native.api} without text"
            # An empty piece says nothing, and the pieces around it are of one text all the same.
            parts = (neutral,) if text or _is_piece(block) else ()
            return parts, _note("translated", block, why + _untold(native.value))
        case Document() if block.response is None:
            return (neutral,), _note("translated", block, f"a document of {native.api}")
        case Document():
            why = "an assistant's turn holds no document: it goes as words"
            return (Text(text=document_told(neutral)),), _note("translated", block, why)
        case ServerToolCall() | ServerToolResult():
            why = f"what a tool of {native.api} did goes as words"
            words = [words_of(neutral)]
            gave = outcome_of(native.api, native.value)
            if gave is not None and (gave.content or gave.is_error):
                words.append(words_of(gave))
            return (Text(text="\n".join(words)),), _note("translated", block, why)
        case ToolResult():
            return neutral.content, _note("moved", block, "a result of no call goes as text")
        case ToolCall():
            return (), _note("left out", block, "a call that was not recorded as one")
        case Reasoning():
            return (), _note("left out", block, f"reasoning that only {native.api} can check")
        case Opaque():
            return (), _unread(block, native, neutral)
        case _:
            assert_never(neutral)


def _untold(value: JsonObject) -> str:
    """Return words for what stands beside a text, or among its parts, and goes nowhere."""
    content: Any = value.get("content")
    parts = list_of(content)
    within = [value, *value.values(), *parts]
    fields = [cast("JsonObject", each) for each in within if isinstance(each, dict)]
    names = [name for name in _BESIDE if any(part.get(name) for part in fields)]
    return f", without its {' and '.join(names)}" if names else ""


def goes_on(before: history.Block | None, block: history.Block) -> bool:
    """Whether one text of an answer was cut in two.

    Anthropic, and Bedrock for its models, do so wherever they cite something; google-genai's `text`
    of a response is its parts with nothing between.
    """
    if before is None or before.version + 1 != block.version or before.response != block.response:
        return False
    return _is_piece(before) and _is_piece(block)


def _is_piece(block: history.Block) -> bool:
    match block.plain:
        case {"kind": "native", "api": "anthropic-messages", "value": {"type": "text"}}:
            return True
        case {
            "kind": "native",
            "api": "bedrock-converse",
            "value": {"text": _} | {"citationsContent": _},
        }:
            return True
        case {"kind": "native", "api": "gemini", "value": {"thought": True}}:
            return False
        case {"kind": "native", "api": "gemini", "value": {"text": str()}}:
            return True
        case _:
            return False


def arguments_of(native: Native, block: history.Block) -> tuple[Any, Note]:
    """Return the arguments of a call, none where they cannot be read; and the note on it."""
    call = neutral_of(native.api, native.value)
    if isinstance(call, ToolCall):
        return call.arguments, _note("translated", block, f"a call of {native.api}")
    return {}, _unread(block, native, call)


def content_of(native: Native, block: history.Block) -> Told:
    """Return what a result holds, nothing where it cannot be read; and the note on it."""
    result = neutral_of(native.api, native.value)
    if isinstance(result, ToolResult):
        return result.content, _note("translated", block, f"a result of {native.api}")
    return (), _unread(block, native, result)


def instructions_told(native: Native) -> tuple[str, Note]:
    """Return the text of another API's instructions, empty where there is none, and the note."""
    if (text := instructions_of(native)).strip():
        return text, Note("translated", "foreign", None, f"instructions of {native.api}")
    why = f"instructions in the form of {native.api}"
    return "", Note("left out", "foreign", None, why)


def tool_told(native: Native) -> tuple[ToolDefinition | None, Note]:
    """Return the definition of another API's tool, None if nobody else runs it, and the note."""
    tool = tool_of(native)
    if tool is None:
        name = native.value.get("name") or native.value.get("type")
        # Gemini and Bedrock name a tool by the member that holds it.
        why = f"{name or next(iter(native.value), 'tool')}, in the form of {native.api}"
        return None, Note("left out", "foreign", None, why)
    return tool, Note("translated", "foreign", None, f"tools of {native.api}")


def whole(native: Native, blobs: Mapping[str, bytes]) -> Native:
    """Return a block with the strings that were moved to blobs."""
    return Native(api=native.api, value=restore(native.value, blobs))


def _unread(block: history.Block, native: Native, neutral: NeutralBlock) -> Note:
    kind = neutral.type if isinstance(neutral, Opaque) else neutral.kind
    why = f"a {kind or 'block'} of {native.api} that only that API can read"
    return _note("left out", block, why)


def _note(deed: NoteKind, block: history.Block, why: str) -> Note:
    return Note(deed, "foreign", block.version, why)
