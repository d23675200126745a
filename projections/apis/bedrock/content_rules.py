"""The rules of Converse for what messages hold: roles, texts, files, reasoning, cache points."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.rules import Found, Path, dotted
from onrecord.projections.members import member, placed_objects, text

# The messages of a request to Converse, the model that it names, and how the service says where.

_VENDOR: Final = re.compile(
    r"(?:(?:us|eu|apac|jp|au|ca|sa|me|af|us-gov|global)\.)?(?P<vendor>[a-z0-9]+)\.[a-z]"
)
OF_MODEL: Final = "The model returned the following errors: "
"""Begins what the service passes on from the model behind it."""


def vendor_of(request: Mapping[str, Any]) -> str:
    """Return whose model a request names, as `anthropic`; "" where it names none, or none known."""
    match = _VENDOR.match(text(request.get("modelId")).rpartition("/")[2])
    return match["vendor"] if match else ""


def messages_of(request: Mapping[str, Any]) -> list[tuple[int, JsonObject]]:
    """Return the messages, each with its place."""
    return placed_objects(request.get("messages"))


def blocks_of(message: JsonObject) -> list[tuple[int, JsonObject]]:
    """Return the blocks of a message, each with its place."""
    return placed_objects(message.get("content"))


def blocks_with(message: JsonObject, kind: str) -> list[tuple[int, JsonObject]]:
    """Return what the blocks of a kind hold, each with its place."""
    return [
        (at, block[kind])
        for at, block in blocks_of(message)
        if isinstance(member(block, kind), dict)
    ]


def calls_of(message: JsonObject) -> list[tuple[int, JsonObject]]:
    """Return the calls of the caller's tools, each with its place."""
    called = blocks_with(message, "toolUse")
    return [(at, call) for at, call in called if call.get("type") != "server_tool_use"]


def results_of(message: JsonObject) -> list[tuple[int, JsonObject]]:
    """Return the results of tools, each with its place."""
    return blocks_with(message, "toolResult")


def all_blocks(request: Mapping[str, Any]) -> Iterator[tuple[Path, JsonObject]]:
    """Yield each block of the messages, with the way to it."""
    for index, message in messages_of(request):
        for at, block in blocks_of(message):
            yield ("messages", index, "content", at), block


def all_with(request: Mapping[str, Any], kind: str) -> Iterator[tuple[Path, JsonObject]]:
    """Yield what each block of a kind holds, with the way to it."""
    for path, block in all_blocks(request):
        if isinstance(inner := block.get(kind), dict):
            yield (*path, kind), inner


def tools_of(request: Mapping[str, Any]) -> list[tuple[int, JsonObject]]:
    """Return what is declared as tools, each with its place."""
    return placed_objects(member(request.get("toolConfig"), "tools"))


def counted(path: Path) -> str:
    """Return a path as the service's check of values spells it: `messages.2.member.role`."""
    return ".".join(f"{step + 1}.member" if isinstance(step, int) else step for step in path)


_NAME: Final = re.compile(r"(?!.*\s\s)[a-zA-Z0-9\s()\[\]-]{1,200}")
_MOST_POINTS: Final = 4
_MOST: Final = {"document": 5, "image": 20}
_MAY_ANSWER_FIRST: Final = ("", "anthropic", "qwen")
_TAKES_POINTS: Final = ("", "anthropic", "amazon")
_UNSEEN: Final = {
    "anthropic": ("video", "audio"),
    "meta": ("video", "audio"),
    "mistral": ("video", "audio"),
}
"""Kinds of blocks that no model of a vendor's reads."""


def no_messages(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find a request that says nothing."""
    if not request.get("messages"):
        yield (), _start()


def answer_first(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find conversations that the assistant begins, where the model wants the user to (pai)."""
    roles = [message.get("role") for _, message in messages_of(request)]
    if roles[:1] == ["assistant"] and vendor_of(request) not in _MAY_ANSWER_FIRST:
        yield ("messages", 0, "role"), _start()


def _start() -> str:
    words = "A conversation must start with a user message."
    return f"{words} Try again with a conversation that starts with a user message."


def neighbours_of_one_role(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find neighbours of one role; notes of the operator's may stand anywhere."""
    before: object = None
    for index, message in messages_of(request):
        role = message.get("role")
        if role != "system" and role == before:
            words = "A conversation must alternate between user and assistant roles."
            rest = "Make sure the conversation alternates between user and assistant roles"
            yield ("messages", index, "role"), f"{words} {rest} and try again."
        before = role if role != "system" else before


def no_content(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find messages without a block."""
    for index, message in messages_of(request):
        if not message.get("content"):
            words = f"The content field in the Message object at messages.{index} is empty."
            rest = "Add a ContentBlock object to the content field and try again."
            yield ("messages", index, "content"), f"{words} {rest}"


def blank_texts(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find texts that say nothing (bedrock-engineer#8)."""
    for path, block in all_blocks(request):
        if isinstance(content := block.get("text"), str) and not content.strip():
            where = f"The text field in the ContentBlock object at {dotted(path)} is blank."
            yield (*path, "text"), f"{where} Add text to the text field, and try again."


def documents_without_text(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find messages with documents and no text (archestra#4220)."""
    for index, message in messages_of(request):
        kinds = {kind for _, block in blocks_of(message) for kind in block}
        if "document" in kinds and "text" not in kinds:
            words = "A text block must be included when using documents."
            yield ("messages", index, "content"), words


def bad_document_names(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find names of documents that the service does not take, or that came before."""
    seen: set[str] = set()
    for path, name in _names(request):
        if not _NAME.fullmatch(name):
            message = (
                "The document file name can only contain alphanumeric characters, whitespace "
                "characters, hyphens, parentheses, and square brackets. The name can't contain "
                "more than one consecutive whitespace character."
            )
            yield path, message
        elif name in seen:
            yield path, f"The document file name {name} is there twice"
        seen.add(name)


def _names(request: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    for path, document in all_with(request, "document"):
        yield (*path, "name"), text(document.get("name"))
    for path, result in all_with(request, "toolResult"):
        for at, block in placed_objects(result.get("content")):
            if isinstance(name := member(block.get("document"), "name"), str):
                yield (*path, "content", at, "document", "name"), name


def unseen_files(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find files that no model of the vendor's reads: recorded of video."""
    for kind in _UNSEEN.get(vendor_of(request), ()):
        for path, _ in all_with(request, kind):
            words = f"This model doesn't support the {kind} content block that you provided."
            yield path, f"{words} Update the content block and try again."


def too_many_files(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find messages with more files than are taken (botocore's documentation of `Message`)."""
    for index, message in messages_of(request):
        for kind, most in _MOST.items():
            if (count := len(blocks_with(message, kind))) > most:
                words = f"messages.{index} holds {count} {kind} blocks, {most} are taken"
                yield ("messages", index, "content"), words


def unsigned_reasoning(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find reasoning without a signature, for Anthropic's models."""
    if vendor_of(request) != "anthropic":
        return
    for path, reasoning in all_with(request, "reasoningContent"):
        content: Any = reasoning.get("reasoningText")
        if isinstance(content, dict) and not member(content, "signature"):
            where = f"messages.{path[1]}.content.{path[3]}.thinking.signature"
            yield (*path, "reasoningText"), f"{OF_MODEL}{where}: Field required"


def bad_endings(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find what may not be the last that the assistant says, for Anthropic's models."""
    messages = messages_of(request)
    if vendor_of(request) != "anthropic" or not messages:
        return
    index, last = messages[-1]
    blocks = blocks_of(last)
    if last.get("role") != "assistant" or not blocks:
        return
    at, block = blocks[-1]
    path = ("messages", index, "content", at)
    if "reasoningContent" in block:
        words = "The final block in an assistant message cannot be `thinking`."
        yield path, f"{OF_MODEL}messages.{index}: {words}"
    elif text(block.get("text"))[-1:].isspace():
        words = "messages: final assistant content cannot end with trailing whitespace"
        yield (*path, "text"), f"{OF_MODEL}{words}"


def too_many_points(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find more cache points than four, and any where the model takes none."""
    points = [*_points(request)]
    if points and vendor_of(request) not in _TAKES_POINTS:
        words = "You invoked an unsupported model or your request did not allow prompt caching."
        yield points[0], f"{words} See the documentation for more information."
    if len(points) > _MOST_POINTS:
        words = f"A maximum of 4 blocks with cache_control may be provided. Found {len(points)}."
        yield points[_MOST_POINTS], f"{OF_MODEL}{words}"


def _points(request: Mapping[str, Any]) -> Iterator[Path]:
    yield from (
        ("toolConfig", "tools", at) for at, tool in tools_of(request) if "cachePoint" in tool
    )
    system = placed_objects(request.get("system"))
    yield from (("system", at) for at, block in system if "cachePoint" in block)
    yield from (path for path, block in all_blocks(request) if "cachePoint" in block)
