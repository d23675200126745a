"""An answer as OpenAI's Responses API writes it: one JSON body, or server-sent events.

Order and shapes of the events: platform.openai.com, "Streaming responses", and recorded traffic.
"""

import base64
import hmac
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import TypeAlias

from onrecord.adapters.demo.services.connection import pieces, tokens
from onrecord.adapters.demo.services.scenes import JsonObject, PlainAnswer, encoded, frame
from onrecord.projections.members import objects, text

_CREATED = 1_790_000_000
# What a response repeats of its request, and what stands there where the request is silent.
_REPEATED: JsonObject = {
    "instructions": None,
    "max_output_tokens": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "store": True,
    "temperature": 1.0,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "tools": [],
    "top_p": 1.0,
    "truncation": "disabled",
}

Sealed: TypeAlias = Callable[[JsonObject, str], JsonObject]
"""A reasoning item with what only the service can read, as it is spelled at a stage of a stream."""


def items(answer: PlainAnswer, own_id: str) -> list[JsonObject]:
    """Return the items of an answer, reasoning first; ids are made of `own_id`."""
    reasoning: JsonObject = {"id": f"rs_{own_id}", "type": "reasoning", "summary": []}
    calls: list[JsonObject] = [
        {
            "id": f"fc_{own_id}{place}",
            "type": "function_call",
            "status": "completed",
            "arguments": encoded(call.arguments).decode(),
            "call_id": f"call_{own_id}{place}",
            "name": call.name,
        }
        for place, call in enumerate(answer.calls)
    ]
    return [
        *([reasoning] if answer.reasons else []),
        *([_message(answer.text, own_id)] if answer.text else []),
        *calls,
    ]


def response(output: Sequence[JsonObject], request: JsonObject, own_id: str) -> JsonObject:
    """Return the body that a request without `stream` gets."""
    return {
        "id": f"resp_{own_id}",
        "object": "response",
        "created_at": _CREATED,
        "status": "completed",
        "background": False,
        "error": None,
        "incomplete_details": None,
        "model": request["model"],
        "output": [*output],
        "previous_response_id": None,
        **{name: request.get(name, silent) for name, silent in _REPEATED.items()},
        "usage": _usage(request, output),
    }


def events(whole: JsonObject, sealed: Sealed) -> Iterator[bytes]:
    """Yield the events that say the same as the body `whole`.

    What is encrypted is spelled anew at each stage, as the service does.
    """
    for number, event in enumerate(_events(whole, sealed)):
        yield frame({**event, "sequence_number": number})


def _message(content: str, own_id: str) -> JsonObject:
    part: JsonObject = {"type": "output_text", "annotations": [], "logprobs": [], "text": content}
    return {
        "id": f"msg_{own_id}",
        "type": "message",
        "status": "completed",
        "content": [part],
        "role": "assistant",
    }


def _usage(request: JsonObject, output: Sequence[JsonObject]) -> JsonObject:
    prompt, answer = tokens(request), tokens([*output])
    return {
        "input_tokens": prompt,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": answer,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": prompt + answer,
    }


def _events(whole: JsonObject, sealed: Sealed) -> Iterator[JsonObject]:
    begun: JsonObject = {**whole, "status": "in_progress", "output": [], "usage": None}
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    output = objects(whole["output"])
    for index, item in enumerate(output):
        at: JsonObject = {"output_index": index}
        added = sealed(_empty(item), "added")
        yield {"type": "response.output_item.added", **at, "item": added}
        yield from _pieces(item, {"item_id": item["id"], **at})
        yield {"type": "response.output_item.done", **at, "item": sealed(item, "done")}
    final = [sealed(item, "completed") for item in output]
    yield {"type": "response.completed", "response": {**whole, "output": [*final]}}


def _empty(item: JsonObject) -> JsonObject:
    """Return an item as it stands when it begins."""
    match item["type"]:
        case "message":
            return {**item, "status": "in_progress", "content": []}
        case "function_call":
            return {**item, "status": "in_progress", "arguments": ""}
        case _:
            return item


def _pieces(item: JsonObject, at: JsonObject) -> Iterator[JsonObject]:
    """Yield what is added to an item, piece by piece; reasoning that is sealed comes whole."""
    match item["type"]:
        case "message":
            yield from _text_pieces(item, {**at, "content_index": 0})
        case "function_call":
            arguments = text(item["arguments"])
            kind = "response.function_call_arguments"
            yield from _deltas(kind, arguments, at)
            yield {"type": f"{kind}.done", **at, "arguments": arguments, "name": item["name"]}
        case _:
            pass


def _text_pieces(message: JsonObject, at: JsonObject) -> Iterator[JsonObject]:
    (part,) = objects(message["content"])
    content, kind = text(part["text"]), "response.output_text"
    yield {"type": "response.content_part.added", **at, "part": {**part, "text": ""}}
    for delta in _deltas(kind, content, at):
        yield {**delta, "logprobs": []}
    yield {"type": f"{kind}.done", **at, "text": content, "logprobs": []}
    yield {"type": "response.content_part.done", **at, "part": part}


def _deltas(kind: str, content: str, at: JsonObject) -> Iterator[JsonObject]:
    for piece in pieces(content):
        yield {"type": f"{kind}.delta", **at, "delta": piece}


# Reasoning that only the service can read, and what came of it: the service holds none of it.
#
# It answers as it does for an organization that has nothing stored: reasoning comes back as it
# was sealed, together with the items that came of it, or not at all. The texts are those that
# users of OpenAI's API report (openai/codex#8132, vendo#1071, mastra#8738).

_MAC = 16
_NONCE = 8
_SHOWN = 4
# What an item is when it is added to a stream may not be whole yet.
_READABLE = ("done", "completed")


@dataclass(frozen=True, slots=True)
class Complaint:
    """What is wrong with a request, as the service says it."""

    message: str
    param: str | None = None
    code: str | None = None
    status: int = 400


class Reasoning:
    """Seals the reasoning of answers and checks what comes back; `key` stands for an account."""

    def __init__(self, key: bytes) -> None:
        """Start with no answer given."""
        self._key = key
        self._lock = Lock()
        self._came_of: dict[str, str] = {}

    def remember(self, output: Sequence[JsonObject]) -> None:
        """Take note of which reasoning the items of an answer came of."""
        reasoning = None
        for item in output:
            if item["type"] == "reasoning":
                reasoning = text(item["id"])
            elif reasoning is not None:
                with self._lock:
                    self._came_of[text(item["id"])] = reasoning

    def sealed(self, item: JsonObject, model: str, stage: str) -> JsonObject:
        """Return an item with its reasoning sealed, differently at each stage; others as they are."""
        if item["type"] != "reasoning":
            return item
        nonce = secrets.token_bytes(_NONCE)
        seal = nonce + self._mac(nonce, text(item["id"]), model, stage)
        return {**item, "encrypted_content": base64.urlsafe_b64encode(seal).decode()}

    def problems(self, request: JsonObject) -> Iterator[Complaint]:
        """Yield what is wrong with the reasoning in a request, and with what came of it."""
        if previous := text(request.get("previous_response_id")):
            why = f"Previous response with id '{previous}' not found."
            yield Complaint(why, "previous_response_id", "previous_response_not_found")
        items = objects(request.get("input"))
        before: set[str] = set()
        for index, item in enumerate(items):
            before.add(text(item.get("id")))
            if item.get("type") == "reasoning":
                yield from self._unreadable(item, text(request.get("model")))
            else:
                yield from self._bereft(item, before, f"input[{index}]")

    def _unreadable(self, item: JsonObject, model: str) -> Iterator[Complaint]:
        item_id, seal = text(item.get("id")), text(item.get("encrypted_content"))
        if not seal:
            yield Complaint(
                f"Item with id '{item_id}' not found. Items are not persisted for Zero Data "
                "Retention organizations.",
                "input",
                status=404,
            )
        elif not self._opens(seal, item_id, model):
            shown = f"{seal[:_SHOWN]}...{seal[-_SHOWN:]}"
            why = f"The encrypted content {shown} could not be verified."
            yield Complaint(why, code="invalid_encrypted_content")

    def _bereft(self, item: JsonObject, before: set[str], where: str) -> Iterator[Complaint]:
        item_id = text(item.get("id"))
        with self._lock:
            reasoning = self._came_of.get(item_id)
        if reasoning is not None and reasoning not in before:
            kind = text(item.get("type"))
            yield Complaint(
                f"Item '{item_id}' of type '{kind}' was provided without its required "
                f"'reasoning' item: '{reasoning}'.",
                where,
            )

    def _opens(self, seal: str, item_id: str, model: str) -> bool:
        try:
            raw = base64.urlsafe_b64decode(seal)
        except ValueError:
            return False
        nonce, mac = raw[:_NONCE], raw[_NONCE:]
        return any(
            hmac.compare_digest(mac, self._mac(nonce, item_id, model, stage)) for stage in _READABLE
        )

    def _mac(self, nonce: bytes, item_id: str, model: str, stage: str) -> bytes:
        bound = encoded([nonce.hex(), item_id, model, stage])
        return hmac.digest(self._key, bound, "sha256")[:_MAC]
