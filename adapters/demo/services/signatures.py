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
from itertools import groupby

from pydantic import JsonValue

from onrecord.adapters.demo.services.scenes import JsonObject

# The history in a request, as the service reads it: every block with its place.

THINKING = frozenset({"thinking", "redacted_thinking"})


@dataclass(frozen=True, slots=True)
class PlacedBlock:
    """A content block of a request; `path` names it in an error, as `messages.1.content.0`."""

    message: int
    path: str
    role: str
    block: JsonObject

    @property
    def kind(self) -> str:
        """The block's type; empty when it has none."""
        return text(self.block.get("type"))


@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive messages of one role, which the service merges to one."""

    role: str
    blocks: tuple[PlacedBlock, ...]

    @property
    def is_prompt(self) -> bool:
        """Whether a user says something in it, instead of only returning tool results."""
        return self.role == "user" and any(placed.kind != "tool_result" for placed in self.blocks)


def text(value: JsonValue) -> str:
    """Return the value when it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def objects(value: JsonValue) -> list[JsonObject]:
    """Return the objects in a list; a string counts as one text block, as the service takes it."""
    if isinstance(value, str):
        return [{"type": "text", "text": value}] if value else []
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def placed_blocks(request: JsonObject) -> tuple[PlacedBlock, ...]:
    """Return every content block of the request's messages, in order."""
    return tuple(_placed(request))


def runs(blocks: tuple[PlacedBlock, ...]) -> tuple[Run, ...]:
    """Return the blocks by speaker: neighbours of one role together."""
    return tuple(
        Run(role, tuple(group)) for role, group in groupby(blocks, lambda placed: placed.role)
    )


def without_cache_marks(value: JsonValue) -> JsonValue:
    """Return the value without any `cache_control`: marks are not part of the history."""
    match value:
        case dict():
            return {
                key: without_cache_marks(inner)
                for key, inner in value.items()
                if key != "cache_control"
            }
        case list():
            return [without_cache_marks(inner) for inner in value]
        case _:
            return value


def _placed(request: JsonObject) -> Iterator[PlacedBlock]:
    for index, message in enumerate(objects(request.get("messages"))):
        for place, block in enumerate(objects(message.get("content"))):
            path = f"messages.{index}.content.{place}"
            yield PlacedBlock(index, path, text(message.get("role")), block)


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
