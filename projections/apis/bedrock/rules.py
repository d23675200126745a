"""What Bedrock's Converse API refuses, and the models behind it that are known to say so.

What only some models want is looked for where the request names one of them (`modelId`). Not looked
for, because a request alone cannot tell: what reasoning was signed for, whether a file in S3 is
there, and what the caller may use.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.bedrock import content_rules
from onrecord.projections.apis.bedrock.content_rules import (
    OF_MODEL,
    all_blocks,
    all_with,
    blocks_of,
    calls_of,
    counted,
    messages_of,
    results_of,
    tools_of,
    vendor_of,
)
from onrecord.projections.apis.rules import Found, Path, Rule, dotted
from onrecord.projections.members import member, placed_objects

# The rules of Converse for calls of tools and their results, and for their names and ids.

_LONGEST: Final = 64
_ID: Final = "[a-zA-Z0-9_.:-]+"
_NAME: Final = "[a-zA-Z0-9_-]+"
_S3: Final = "s3Location"


def unanswered_calls(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find calls whose result is not in the next message (aws-bedrock-js-plugin#664)."""
    messages = messages_of(request)
    for place, (index, message) in enumerate(messages):
        after: JsonObject = messages[place + 1][1] if place + 1 < len(messages) else {}
        answered = {result.get("toolUseId") for _, result in results_of(after)}
        calls = [call.get("toolUseId") for _, call in calls_of(message)]
        if missing := [str(call) for call in calls if call not in answered]:
            words = (
                f"Expected toolResult blocks at messages.{index + 1}.content for the following Ids"
            )
            yield ("messages", index, "content"), f"{words}: {', '.join(missing)}"


def results_without_call(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find messages with more results than calls precede them (Curie#16)."""
    before: JsonObject = {}
    for index, message in messages_of(request):
        results = results_of(message) if message.get("role") == "user" else []
        if len(results) > len(calls_of(before)):
            words = (
                f"The number of toolResult blocks at messages.{index}.content exceeds the number"
            )
            yield ("messages", index, "content"), f"{words} of toolUse blocks of previous turn."
        before = message


def repeated_calls(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find calls of one message that share an id; the service's words are not known."""
    for index, message in messages_of(request):
        seen: set[object] = set()
        for at, call in calls_of(message):
            call_id = call.get("toolUseId")
            if call_id in seen:
                path = ("messages", index, "content", at, "toolUse", "toolUseId")
                yield path, f"messages.{index}.content has the toolUse Id {call_id} twice"
            seen.add(call_id)


def no_tools(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find calls and results in a request that declares no tools (zot#18)."""
    used = [*all_with(request, "toolUse"), *all_with(request, "toolResult")]
    if used and not tools_of(request):
        words = (
            "The toolConfig field must be defined when using toolUse and toolResult content blocks."
        )
        yield (), words


def input_that_is_no_object(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find arguments that are no object; botocore would send them."""
    for path, call in all_with(request, "toolUse"):
        if "input" in call and not isinstance(call["input"], dict):
            words = f"The format of the value at {dotted(path)}.input is invalid."
            yield (*path, "input"), f"{words} Provide a json object for the field and try again."


def bad_ids(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find ids of calls that the service does not take."""
    for kind in ("toolUse", "toolResult"):
        for path, block in all_with(request, kind):
            if isinstance(call_id := block.get("toolUseId"), str):
                yield from _constraints((*path, "toolUseId"), call_id, _ID)


def bad_names(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find names of tools that the service does not take."""
    for path, call in all_with(request, "toolUse"):
        if isinstance(tool_name := call.get("name"), str):
            yield from _constraints((*path, "name"), tool_name, _NAME)
    for path, name in _declared(request):
        yield from _constraints(path, name, _NAME)


def _constraints(path: Path, value: str, pattern: str) -> Iterator[Found]:
    wanted = {
        f"Member must satisfy regular expression pattern: {pattern}": re.fullmatch(pattern, value),
        "Member must have length greater than or equal to 1": value,
        f"Member must have length less than or equal to {_LONGEST}": len(value) <= _LONGEST,
    }
    for constraint, is_met in wanted.items():
        if not is_met:
            where = f"Value '{value}' at '{counted(path)}' failed to satisfy constraint"
            yield path, f"1 validation error detected: {where}: {constraint}"
            return


def repeated_names(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find tools that share a name."""
    seen: set[str] = set()
    for path, name in _declared(request):
        if name in seen:
            yield path, f"{OF_MODEL}tools: Tool names must be unique."
        seen.add(name)


def _declared(request: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    for at, tool in tools_of(request):
        if isinstance(name := member(tool.get("toolSpec"), "name"), str):
            yield ("toolConfig", "tools", at, "toolSpec", "name"), name


def refused_status(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find results with a status, for Writer's models (pydantic-ai)."""
    if vendor_of(request) != "writer":
        return
    for path, result in all_with(request, "toolResult"):
        if "status" in result:
            words = "This model doesn't support the status field. Remove status and try again."
            yield (*path, "status"), words


def results_beside_others(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find what some models want in a message of its own; their words are not known (pydantic-ai)."""
    vendor = vendor_of(request)
    for index, message in messages_of(request):
        kinds = {kind for _, block in blocks_of(message) for kind in block}
        if "toolResult" not in kinds or message.get("role") != "user":
            continue
        alone = vendor in ("meta", "mistral") and kinds != {"toolResult"}
        apart = vendor == "anthropic" and "document" in kinds
        if alone or apart:
            others = ", ".join(sorted(kinds - {"toolResult"}))
            yield ("messages", index, "content"), f"{OF_MODEL}{others} beside toolResult"


def results_in_s3(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find results whose files lie in S3, for Amazon's models: recorded; pictures are taken."""
    if vendor_of(request) != "amazon":
        return
    for path, result in all_with(request, "toolResult"):
        if any(_is_in_s3(block) for _, block in placed_objects(result.get("content"))):
            words = f"Malformed input request: #/messages/{path[1]}/content/{path[3]}: "
            rest = "extraneous key [toolResult] is not permitted, please reformat your input and "
            yield path[:-1], f"{OF_MODEL}{words}{rest}try again."


def _is_in_s3(block: JsonObject) -> bool:
    return any(member(member(block.get(kind), "source"), _S3) for kind in ("document", "video"))


def files_in_s3(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find files that lie in S3, for Anthropic's models.

    Recorded: of a user's message all were refused, of a result a document was accepted.
    """
    if vendor_of(request) != "anthropic":
        return
    for path, block in all_blocks(request):
        yield from _in_s3(path, block, ("document", "image", "video"))
        for at, part in placed_objects(member(block.get("toolResult"), "content")):
            yield from _in_s3((*path, "toolResult", "content", at), part, ("image", "video"))


def _in_s3(path: Path, block: JsonObject, kinds: Iterable[str]) -> Iterator[Found]:
    for kind in kinds:
        if member(member(block.get(kind), "source"), _S3):
            yield (*path, kind, "source"), "This model doesn't support the s3Uri field."


RULES: Final = (
    Rule("messages", "say something first", content_rules.no_messages),
    Rule("B5", "let the user speak first", content_rules.answer_first),
    Rule("B5", "join the messages", content_rules.neighbours_of_one_role),
    Rule("B4", "leave the message out, or say something", content_rules.no_content),
    Rule("B4", "leave the text out, or say something", content_rules.blank_texts),
    Rule("B1", "put a result for each call into the message right after them", unanswered_calls),
    Rule(
        "B2",
        "leave the result out, or put it right after the message that called it",
        results_without_call,
    ),
    Rule("B11", "map the id, on both ends of the pair alike", repeated_calls),
    Rule("B3", "declare the tools that were called", no_tools),
    Rule("B11", "give an object", input_that_is_no_object),
    Rule("B11", "map the id, on both ends of the pair alike", bad_ids),
    Rule("B11", "spell it anew, in calls and tools alike", bad_names),
    Rule("names", "give each tool a name of its own", repeated_names),
    Rule("B9", "let the assistant say a word between", results_beside_others),
    Rule("B8", "send the file as the user's, or its bytes", results_in_s3),
    Rule("B8", "send the file's bytes", files_in_s3),
    Rule("B12", "leave the status out", refused_status),
    Rule("B6", "say what the documents are", content_rules.documents_without_text),
    Rule("B7", "spell the name anew, and number it", content_rules.bad_document_names),
    Rule("B8", "choose a model that reads it", content_rules.unseen_files),
    Rule("B19", "let the assistant say a word between", content_rules.too_many_files),
    Rule("B10", "leave the reasoning out", content_rules.unsigned_reasoning),
    Rule("B14", "leave it out", content_rules.bad_endings),
    Rule("B13", "set fewer cache points", content_rules.too_many_points),
)
"""The rules of Converse, in the order in which they are told."""
