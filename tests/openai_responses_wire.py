"""Responses of OpenAI's API spelled as its service spells them in a stream, for tests."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tests.anthropic_wire import slices

JsonObject = dict[str, Any]

SAMPLES = Path(__file__).parent / "samples" / "openai-responses"

# Members of an item that are told in pieces: the kind of the events, and the member of the last.
MEMBERS = {
    "function_call": ("arguments", "function_call_arguments", "arguments"),
    "mcp_call": ("arguments", "mcp_call_arguments", "arguments"),
    "custom_tool_call": ("input", "custom_tool_call_input", "input"),
    "code_interpreter_call": ("code", "code_interpreter_call_code", "code"),
}
# Parts of a content that are told in pieces: the kind of the events, and the member that is text.
PARTS = {
    "output_text": ("output_text", "text"),
    "refusal": ("refusal", "refusal"),
    "reasoning_text": ("reasoning_text", "text"),
    "summary_text": ("reasoning_summary_text", "text"),
}


def event(data: JsonObject, *, ascii_only: bool = True) -> bytes:
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=ascii_only)
    return f"event: {data['type']}\ndata: {text}\n\n".encode()


def spelled(response: JsonObject, *, piece: int = 7, ascii_only: bool = True) -> bytes:
    """The stream that brings a response, its long values in pieces of so many characters."""
    events = stream_events(response, piece)
    return b"".join(event(data, ascii_only=ascii_only) for data in events)


def stream_events(response: JsonObject, piece: int = 7) -> Iterator[JsonObject]:
    begun: JsonObject = {**response, "status": "in_progress", "output": [], "usage": None}
    told: list[JsonObject] = [
        {"type": "response.created", "response": begun},
        {"type": "response.in_progress", "response": begun},
        *(
            data
            for index, item in enumerate(response["output"])
            for data in item_events(index, item, piece)
        ),
        {"type": f"response.{response['status']}", "response": response},
    ]
    return numbered(told)


def numbered(events: Iterable[JsonObject], first: int = 0) -> Iterator[JsonObject]:
    """The events with the numbers that the service gives them."""
    for number, data in enumerate(events, first):
        yield {**data, "sequence_number": number}


def item_events(index: int, item: JsonObject, piece: int = 7) -> Iterator[JsonObject]:
    """All events of one item, from its beginning to its end."""
    at = {"output_index": index}
    yield {"type": "response.output_item.added", **at, "item": begun(item)}
    for data in inner_events(item, piece):
        yield {**data, **at, "item_id": item.get("id")}
    yield {"type": "response.output_item.done", **at, "item": item}


def begun(item: JsonObject) -> JsonObject:
    """The item as it begins, without what is told in pieces."""
    empty: JsonObject = {"status": "in_progress"} if "status" in item else {}
    for member in ("content", "summary"):
        if item.get(member):
            empty[member] = []
    if item["type"] in MEMBERS and isinstance(item.get(MEMBERS[item["type"]][0]), str):
        empty[MEMBERS[item["type"]][0]] = ""
    if item["type"] == "shell_call":
        empty["action"] = {**item["action"], "commands": []}
    if item["type"] == "apply_patch_call" and "diff" in item["operation"]:
        empty["operation"] = {**item["operation"], "diff": ""}
    if item["type"] == "shell_call_output":
        empty["output"] = []
    return {**item, **empty}


def inner_events(item: JsonObject, piece: int) -> Iterator[JsonObject]:
    kind = item["type"]
    if kind in MEMBERS:
        member, name, last = MEMBERS[kind]
        if isinstance(item.get(member), str):
            yield from pieces(name, {}, item[member], last, piece)
    elif kind == "shell_call":
        for place, command in enumerate(item["action"]["commands"]):
            at = {"command_index": place}
            yield {"type": "response.shell_call_command.added", "command": "", **at}
            yield from pieces("shell_call_command", at, command, "command", piece)
    elif kind == "shell_call_output":
        for place, outcome in enumerate(item["output"]):
            yield from printed(place, outcome, piece)
    elif kind == "apply_patch_call" and "diff" in item["operation"]:
        diff = item["operation"]["diff"]
        yield from pieces("apply_patch_call_operation_diff", {}, diff, "diff", piece)
    for place, part in enumerate(item.get("summary") or []):
        yield from part_events("reasoning_summary_part", {"summary_index": place}, part, piece)
    for place, part in enumerate(item.get("content") or []):
        yield from part_events("content_part", {"content_index": place}, part, piece)


def part_events(name: str, at: JsonObject, part: JsonObject, piece: int) -> Iterator[JsonObject]:
    if part["type"] not in PARTS:
        yield {"type": f"response.{name}.added", **at, "part": part}
        return
    kind, member = PARTS[part["type"]]
    empty: JsonObject = {member: ""}
    if part.get("annotations"):
        empty["annotations"] = []
    yield {"type": f"response.{name}.added", **at, "part": {**part, **empty}}
    yield from pieces(kind, at, part[member], member, piece)
    for place, annotation in enumerate(part.get("annotations") or []):
        more = {"annotation_index": place, "annotation": annotation}
        yield {"type": "response.output_text.annotation.added", **at, **more}
    yield {"type": f"response.{name}.done", **at, "part": part}


def printed(place: int, outcome: JsonObject, piece: int) -> Iterator[JsonObject]:
    at = {"command_index": place}
    for stream in ("stdout", "stderr"):
        for text in slices(outcome[stream], piece):
            delta = {stream: text}
            yield {"type": "response.shell_call_output_content.delta", **at, "delta": delta}
    yield {"type": "response.shell_call_output_content.done", **at, "output": [outcome]}


def pieces(name: str, at: JsonObject, text: str, last: str, piece: int) -> Iterator[JsonObject]:
    for part in slices(text, piece):
        yield {"type": f"response.{name}.delta", **at, "delta": part}
    yield {"type": f"response.{name}.done", **at, last: text}


def response(*output: JsonObject, status: str = "completed", **more: Any) -> JsonObject:
    return {
        "id": "resp_01",
        "object": "response",
        "created_at": 1767225600,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "model": "gpt-5.4",
        "output": list(output),
        "previous_response_id": None,
        "store": True,
        "tools": [],
        "usage": {"input_tokens": 11, "output_tokens": 22, "total_tokens": 33},
        **more,
    }


def message(*texts: str, number: int = 1, **more: Any) -> JsonObject:
    return {
        "id": f"msg_{number}",
        "type": "message",
        "status": "completed",
        "role": "assistant",
        "content": [text(said) for said in texts or ("Hello.",)],
        **more,
    }


def text(said: str = "Hello.", **more: Any) -> JsonObject:
    return {"type": "output_text", "annotations": [], "logprobs": [], "text": said, **more}


def reasoning(number: int = 1, **more: Any) -> JsonObject:
    return {
        "id": f"rs_{number}",
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": "I look it up."}],
        "encrypted_content": f"gAAAAA-done-{number}",
        **more,
    }


def call(number: int = 1, arguments: str = '{"id":4711}', **more: Any) -> JsonObject:
    return {
        "id": f"fc_{number}",
        "type": "function_call",
        "status": "completed",
        "arguments": arguments,
        "call_id": f"call_{number}",
        "name": "look_up",
        **more,
    }
