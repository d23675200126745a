"""Signatures of thinking blocks: each is bound to all that the model was shown before it.

The service's rule (platform.claude.com, "Preserved thinking"): a block is valid only while the
system prompt, the tools and all earlier messages are what they were, and no thinking block before
it was left out or moved.
"""

import base64
import hmac
import json
from binascii import Error as NotBase64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from onrecord.adapters.demo.history import (
    THINKING,
    PlacedBlock,
    objects,
    placed_blocks,
    runs,
    text,
    without_cache_marks,
)
from onrecord.adapters.demo.scenes import JsonObject

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
        blocks = placed_blocks(request)
        history = _history(request)
        latest = next((run for run in reversed(runs(blocks)) if run.role == "assistant"), None)
        for place, placed in enumerate(blocks):
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
        placed: PlacedBlock,
        request: JsonObject,
        history: list[JsonValue],
        place: int,
        is_latest: bool,
    ) -> Iterator[str]:
        field = "signature" if placed.kind == "thinking" else "data"
        seal = _decoded(text(placed.block.get(field)))
        invalid = f"{placed.path}: Invalid `{field}` in `{placed.kind}` block"
        if seal is None:
            yield invalid
            return
        count, bound, own = seal
        if not hmac.compare_digest(own, self._mac([bound.hex(), _thought(placed)])):
            yield f"{placed.path}: {_MODIFIED}" if is_latest else invalid
        shown = _shown(request, history[:count], _thinking_in(history[:place]))
        if count > place or not hmac.compare_digest(bound, self._mac(shown)):
            yield f"{invalid}. {_BOUND_ELSEWHERE}"

    def _mac(self, value: JsonValue) -> bytes:
        canonical = json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
        return hmac.digest(self.key, canonical, "sha256")[:_MAC]


def _history(request: JsonObject) -> list[JsonValue]:
    return [[placed.role, without_cache_marks(placed.block)] for placed in placed_blocks(request)]


def _shown(request: JsonObject, before: list[JsonValue], earlier: int) -> JsonValue:
    """Return what thinking is bound to; `earlier` counts the thinking blocks before it."""
    system: list[JsonValue] = [*objects(request.get("system"))]
    tools = request.get("tools") or []
    return [without_cache_marks(system), without_cache_marks(tools), before, earlier]


def _thinking_in(history: list[JsonValue]) -> int:
    return sum(
        isinstance(entry, list) and isinstance(entry[1], dict) and entry[1].get("type") in THINKING
        for entry in history
    )


def _thought(placed: PlacedBlock) -> str:
    return text(placed.block.get("thinking"))


def _decoded(seal: str) -> tuple[int, bytes, bytes] | None:
    try:
        raw = base64.b64decode(seal, validate=True)
    except (NotBase64, ValueError):
        return None
    if len(raw) != _COUNT + 2 * _MAC:
        return None
    return int.from_bytes(raw[:_COUNT]), raw[_COUNT : _COUNT + _MAC], raw[_COUNT + _MAC :]
