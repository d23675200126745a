"""Anthropic's API as the demo server speaks it: its messages and its signatures.

Order and shapes of the events: platform.claude.com, "Streaming messages", and recorded traffic.
"""

import base64
import hmac
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from pydantic import JsonValue

from onrecord.adapters.demo.services.connection import pieces, tokens
from onrecord.adapters.demo.services.scenes import Answer, HttpError, JsonObject, encoded, frame
from onrecord.projections.apis.anthropic.tool_rules import (
    SERVER_CALLS,
    THINKING,
    Placed,
    blocks_of,
    turns_of,
)
from onrecord.projections.apis.rules import dotted
from onrecord.projections.members import member, text

_CALLS = SERVER_CALLS | {"tool_use"}

# Fields of the envelope that a stream carries in its message_delta: inside `delta`, or beside it.
_IN_DELTA = frozenset({"container"})

_PING = b'event: ping\ndata: {"type": "ping"}\n\n'


def error_body(error: HttpError, request_id: str) -> JsonObject:
    """Return the body of an HTTP error."""
    details: JsonObject = {} if error.code is None else {"details": {"error_code": error.code}}
    return {
        "type": "error",
        "error": {"type": error.kind, "message": error.message, **details},
        "request_id": request_id,
    }


def message(
    answer: Answer, content: Sequence[JsonObject], message_id: str, request: JsonObject
) -> JsonObject:
    """Return the message that a request without `stream` gets back."""
    return {
        "model": answer.model or request["model"],
        "id": message_id,
        "type": "message",
        "role": "assistant",
        "content": [*content],
        "stop_reason": answer.stop_reason,
        "stop_sequence": answer.stop_sequence,
        "stop_details": answer.stop_details,
        "usage": _usage(answer, request),
        **answer.envelope,
    }


def _usage(answer: Answer, request: JsonObject) -> JsonObject:
    """Return token counts: the answer's own, else made from sizes."""
    searches = sum(block.get("name") == "web_search" for block in answer.content)
    return {
        "input_tokens": tokens(request),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
        "output_tokens": tokens([*answer.content]),
        **({"server_tool_use": {"web_search_requests": searches}} if searches else {}),
        "service_tier": "standard",
        "inference_geo": "not_available",
        **answer.usage,
    }


def frames(whole: JsonObject) -> Iterator[bytes]:
    """Yield the events that say the same as the message `whole`."""
    blocks = whole["content"]
    assert isinstance(blocks, list)
    yield frame({"type": "message_start", "message": _start_of_message(whole)})
    for index, block in enumerate(blocks):
        assert isinstance(block, dict)
        start, deltas = _in_pieces(block)
        yield frame({"type": "content_block_start", "index": index, "content_block": start})
        if index == 0:
            yield _PING
        for delta in deltas:
            yield frame({"type": "content_block_delta", "index": index, "delta": delta})
        yield frame({"type": "content_block_stop", "index": index})
    yield frame(_message_delta(whole))
    yield frame({"type": "message_stop"})


def _start_of_message(whole: JsonObject) -> JsonObject:
    usage = whole["usage"]
    assert isinstance(usage, dict)
    start: JsonObject = {
        key: whole[key]
        for key in ("model", "id", "type", "role", "content", "stop_reason", "stop_sequence")
    }
    unknown_yet: JsonObject = {"content": [], "stop_reason": None, "stop_sequence": None}
    first_usage: JsonObject = {**usage, "output_tokens": 1}
    first_usage.pop("server_tool_use", None)
    return {**start, **unknown_yet, "stop_details": None, "usage": first_usage}


def _message_delta(whole: JsonObject) -> JsonObject:
    stop = {key: whole[key] for key in ("stop_reason", "stop_sequence", "stop_details")}
    usage = whole["usage"]
    assert isinstance(usage, dict)
    # The last event repeats the counts without where they come from; they are totals.
    totals = {
        key: count
        for key, count in usage.items()
        if key not in {"cache_creation", "service_tier", "inference_geo"}
    }
    known = {"model", "id", "type", "role", "content", "usage", *stop}
    extra = {key: value for key, value in whole.items() if key not in known}
    inside = {key: value for key, value in extra.items() if key in _IN_DELTA}
    beside = {key: value for key, value in extra.items() if key not in _IN_DELTA}
    return {"type": "message_delta", "delta": {**stop, **inside}, "usage": totals, **beside}


def _in_pieces(block: JsonObject) -> tuple[JsonObject, list[JsonObject]]:
    """Return how a block starts, and what is added to it; most kinds arrive whole."""
    match block:
        case {"type": "text", "text": str(text)}:
            return _text_in_pieces(block, text)
        case {"type": "thinking", "thinking": str(text), "signature": str(signature)}:
            deltas = _deltas("thinking_delta", "thinking", text)
            sealed: JsonObject = {"type": "signature_delta", "signature": signature}
            return {**block, "thinking": "", "signature": ""}, [*deltas, sealed]
        case {"type": "compaction", "content": content}:
            return {**block, "content": None}, [{"type": "compaction_delta", "content": content}]
        case {"type": str(kind), "input": arguments} if kind in _CALLS and not _by_program(block):
            parts = _deltas("input_json_delta", "partial_json", encoded(arguments).decode())
            first: JsonObject = {"type": "input_json_delta", "partial_json": ""}
            return {**block, "input": {}}, [first, *(parts if arguments else [])]
        case _:
            return block, []


def _by_program(block: JsonObject) -> bool:
    """Whether code on the server made the call; such calls arrive whole."""
    return member(block.get("caller"), "type") not in (None, "direct")


def _text_in_pieces(block: JsonObject, text: str) -> tuple[JsonObject, list[JsonObject]]:
    deltas = _deltas("text_delta", "text", text)
    citations = block.get("citations")
    if not isinstance(citations, list):
        return {**block, "text": ""}, deltas
    cited: list[JsonObject] = [
        {"type": "citations_delta", "citation": citation} for citation in citations
    ]
    return {**block, "citations": [], "text": ""}, [*cited, *deltas]


def _deltas(kind: str, field: str, text: str) -> list[JsonObject]:
    return [{"type": kind, field: piece} for piece in pieces(text)]


# Signatures of thinking blocks: each is bound to all that the model was shown before it.
#
# The service's rule (platform.claude.com, "Preserved thinking"): a block is valid only while system
# prompt, tools and earlier messages are what they were, all earlier thinking included.


def _without_cache_marks(value: JsonValue) -> JsonValue:
    """Return the value without any `cache_control`: marks are not part of the history."""
    match value:
        case dict():
            return {
                key: _without_cache_marks(inner)
                for key, inner in value.items()
                if key != "cache_control"
            }
        case list():
            return [_without_cache_marks(inner) for inner in value]
        case _:
            return value


_MODIFIED = (
    "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. "
    "These blocks must remain as they were in the original response."
)
_BOUND_ELSEWHERE = (
    "The block is bound to a different conversation. Remove the block, or set "
    '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
)

_MAC = 16
_COUNT = 4


@dataclass(frozen=True, slots=True)
class Signer:
    """Signs the thinking of answers and checks what comes back; `key` stands for an account."""

    key: bytes

    def signed(self, content: Sequence[JsonObject], request: JsonObject) -> tuple[JsonObject, ...]:
        """Return the blocks of an answer to `request`, its thinking signed."""
        blocks: list[JsonObject] = []
        before = _history(request)
        earlier = _thinking_in(before)
        for block in content:
            blocks.append(self._signed(block, request, before, earlier))
            earlier += block.get("type") in THINKING
        return tuple(blocks)

    def problems(self, request: JsonObject) -> Iterator[str]:
        """Yield what is wrong with the thinking in a request, in the service's words."""
        history = _history(request)
        turns = reversed(turns_of(request))
        latest = next((turn for turn in turns if turn.role == "assistant"), None)
        for place, placed in enumerate(blocks_of(request)):
            if placed.kind in THINKING:
                is_latest = latest is not None and placed in latest.blocks
                yield from self._problem(placed, request, history, place, is_latest)

    def _signed(
        self, block: JsonObject, request: JsonObject, before: list[JsonValue], earlier: int
    ) -> JsonObject:
        match block:
            case {"type": "thinking", "thinking": str(thought)} if "signature" not in block:
                return {**block, "signature": self._seal(request, before, earlier, thought)}
            case {"type": "redacted_thinking"} if "data" not in block:
                return {**block, "data": self._seal(request, before, earlier, "")}
            case _:
                return block

    def _seal(
        self, request: JsonObject, before: list[JsonValue], earlier: int, thought: str
    ) -> str:
        bound = self._mac(_shown(request, before, earlier))
        return base64.b64encode(
            len(before).to_bytes(_COUNT) + bound + self._mac([bound.hex(), thought])
        ).decode()

    def _problem(
        self,
        placed: Placed,
        request: JsonObject,
        history: list[JsonValue],
        place: int,
        is_latest: bool,
    ) -> Iterator[str]:
        field = "signature" if placed.kind == "thinking" else "data"
        seal = _decoded(text(placed.block.get(field)))
        invalid = f"{dotted(placed.path)}: Invalid `{field}` in `{placed.kind}` block"
        if seal is None:
            yield invalid
            return
        count, bound, own = seal
        if not hmac.compare_digest(
            own, self._mac([bound.hex(), text(placed.block.get("thinking"))])
        ):
            yield f"{dotted(placed.path)}: {_MODIFIED}" if is_latest else invalid
        shown = _shown(request, history[:count], _thinking_in(history[:place]))
        if count > place or not hmac.compare_digest(bound, self._mac(shown)):
            yield f"{invalid}. {_BOUND_ELSEWHERE}"

    def _mac(self, value: JsonValue) -> bytes:
        canonical = json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
        return hmac.digest(self.key, canonical, "sha256")[:_MAC]


def _history(request: JsonObject) -> list[JsonValue]:
    return [[placed.role, _without_cache_marks(placed.block)] for placed in blocks_of(request)]


def _shown(request: JsonObject, before: list[JsonValue], earlier: int) -> JsonValue:
    """Return what thinking is bound to; `earlier` counts the thinking blocks before it."""
    system = request.get("system") or []
    if isinstance(system, str):
        system = [{"type": "text", "text": system}]
    tools = request.get("tools") or []
    shown = [_without_cache_marks(cast("JsonValue", each)) for each in (system, tools)]
    return [*shown, before, earlier]


def _thinking_in(history: list[JsonValue]) -> int:
    return sum(
        isinstance(entry, list) and isinstance(entry[1], dict) and entry[1].get("type") in THINKING
        for entry in history
    )


def _decoded(seal: str) -> tuple[int, bytes, bytes] | None:
    try:
        raw = base64.b64decode(seal, validate=True)
    except ValueError:
        return None
    if len(raw) != _COUNT + 2 * _MAC:
        return None
    return int.from_bytes(raw[:_COUNT]), raw[_COUNT : _COUNT + _MAC], raw[_COUNT + _MAC :]
