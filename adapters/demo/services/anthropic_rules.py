"""What the service refuses in a request, in its own words.

The texts are those that users of Anthropic's API report; each function names the rule. A rule is
a generator of complaints; the service answers with the first one.
"""

import re
from collections.abc import Iterator

from pydantic import JsonValue

from onrecord.adapters.demo.services.scenes import JsonObject
from onrecord.adapters.demo.services.signatures import (
    THINKING,
    PlacedBlock,
    Run,
    Signer,
    objects,
    placed_blocks,
    runs,
    text,
)

MOST_CACHE_MARKS = 4

_SERVER_CALLS = frozenset({"server_tool_use", "mcp_tool_use"})
# Blocks after which the service goes on with the assistant's turn.
_RESUMABLE = _SERVER_CALLS | {"compaction"}
_ID_PATTERNS = {
    "tool_use": "^[a-zA-Z0-9_-]+$",
    "tool_result": "^[a-zA-Z0-9_-]+$",
    "server_tool_use": "^srvtoolu_[a-zA-Z0-9_]+$",
}
_KEYS = {
    "text": {"type", "text", "citations", "cache_control"},
    "thinking": {"type", "thinking", "signature"},
    "redacted_thinking": {"type", "data"},
    "tool_use": {"type", "id", "name", "input", "caller", "toolset_name", "cache_control"},
    "server_tool_use": {"type", "id", "name", "input", "caller", "cache_control"},
    "tool_result": {
        "type",
        "tool_use_id",
        "content",
        "is_error",
        "toolset_name",
        "cache_control",
    },
}


def complaint(request: JsonObject, signer: Signer) -> str | None:
    """Return the first thing the service would refuse the request for; None when it is fine."""
    return next(_complaints(request, signer), None)


def _complaints(request: JsonObject, signer: Signer) -> Iterator[str]:
    blocks = placed_blocks(request)
    spoken = runs(blocks)
    yield from _missing_fields(request)
    yield from _empty_messages(request)
    yield from _foreign_keys(request, blocks)
    yield from _bad_ids(blocks)
    yield from _blank_text(blocks)
    yield from _cache_marks(request, blocks)
    yield from _repeated_calls(blocks)
    yield from _results_without_call(spoken)
    yield from _calls_without_result(spoken)
    yield from _server_results_without_call(blocks)
    yield from _server_calls_without_result(spoken)
    yield from _prefill(spoken)
    yield from _loop_without_thinking(request, spoken)
    yield from signer.problems(request)


def _missing_fields(request: JsonObject) -> Iterator[str]:
    for field in ("model", "max_tokens", "messages"):
        if field not in request:
            yield f"{field}: Field required"
    if not request.get("messages"):
        yield "messages: at least one message is required"


def _empty_messages(request: JsonObject) -> Iterator[str]:
    """R5."""
    messages = objects(request.get("messages"))
    for index, message in enumerate(messages):
        is_final_assistant = index == len(messages) - 1 and message.get("role") == "assistant"
        if not message.get("content") and not is_final_assistant:
            yield (
                f"messages.{index}: all messages must have non-empty content "
                "except for the optional final assistant message"
            )


def _foreign_keys(request: JsonObject, blocks: tuple[PlacedBlock, ...]) -> Iterator[str]:
    """R17."""
    for index, message in enumerate(objects(request.get("messages"))):
        for key in message.keys() - {"role", "content", "clear_at", "output_config"}:
            yield f"messages.{index}.{key}: Extra inputs are not permitted"
    for placed in blocks:
        known = _KEYS.get(placed.kind, placed.block.keys())
        for key in placed.block.keys() - known:
            yield f"{placed.path}.{placed.kind}.{key}: Extra inputs are not permitted"


def _bad_ids(blocks: tuple[PlacedBlock, ...]) -> Iterator[str]:
    """R15."""
    for placed in blocks:
        field = "tool_use_id" if placed.kind == "tool_result" else "id"
        pattern = _ID_PATTERNS.get(placed.kind)
        if pattern and not re.fullmatch(pattern, text(placed.block.get(field))):
            yield f"{placed.path}.{placed.kind}.{field}: String should match pattern '{pattern}'"
        if "input" in placed.block and not isinstance(placed.block["input"], dict):
            yield f"{placed.path}.{placed.kind}.input: Input should be a valid dictionary"


def _blank_text(blocks: tuple[PlacedBlock, ...]) -> Iterator[str]:
    """R10: no empty text at all, and no message whose only text is blank."""
    texts: dict[int, list[str]] = {}
    for placed in blocks:
        if placed.kind == "text":
            texts.setdefault(placed.message, []).append(text(placed.block.get("text")))
    for said in texts.values():
        if "" in said:
            yield "messages: text content blocks must be non-empty"
        if not any(piece.strip() for piece in said):
            yield "messages: text content blocks must contain non-whitespace text"


def _cache_marks(request: JsonObject, blocks: tuple[PlacedBlock, ...]) -> Iterator[str]:
    """R16; marks on thinking are foreign keys."""
    marks = sum(_marks_in(request.get(field)) for field in ("system", "tools", "messages"))
    if marks > MOST_CACHE_MARKS:
        yield (
            f"A maximum of {MOST_CACHE_MARKS} blocks with cache_control may be provided. "
            f"Found {marks}."
        )
    for placed in blocks:
        if placed.block.get("cache_control") and placed.block.get("text") == "":
            yield f"{placed.path}.text: cache_control cannot be set for empty text blocks"


def _marks_in(value: JsonValue) -> int:
    match value:
        case dict():
            inside = sum(_marks_in(inner) for inner in value.values())
            return inside + bool(value.get("cache_control"))
        case list():
            return sum(_marks_in(inner) for inner in value)
        case _:
            return 0


def _repeated_calls(blocks: tuple[PlacedBlock, ...]) -> Iterator[str]:
    """R15."""
    seen: set[str] = set()
    for placed in blocks:
        if placed.kind != "tool_use":
            continue
        if (call := text(placed.block.get("id"))) in seen:
            yield f"{placed.path}: `tool_use` ids must be unique"
        seen.add(call)


def _calls_of(run: Run) -> list[str]:
    return [text(placed.block.get("id")) for placed in run.blocks if placed.kind == "tool_use"]


def _results_without_call(spoken: tuple[Run, ...]) -> Iterator[str]:
    """R2."""
    for place, run in enumerate(spoken):
        called = _calls_of(spoken[place - 1]) if place else []
        for placed in run.blocks:
            answered = text(placed.block.get("tool_use_id"))
            if placed.kind == "tool_result" and answered not in called:
                yield (
                    f"{placed.path}: unexpected `tool_use_id` found in `tool_result` blocks: "
                    f"{answered}. Each `tool_result` block must have a corresponding `tool_use` "
                    "block in the previous message."
                )


def _calls_without_result(spoken: tuple[Run, ...]) -> Iterator[str]:
    """R1: the results stand first in the next message."""
    for place, run in enumerate(spoken):
        answered = _leading_results(spoken[place + 1]) if place + 1 < len(spoken) else set[str]()
        if missing := [call for call in _calls_of(run) if call not in answered]:
            yield (
                f"messages.{run.blocks[-1].message}: `tool_use` ids were found without "
                f"`tool_result` blocks immediately after: {', '.join(missing)}. Each `tool_use` "
                "block must have a corresponding `tool_result` block in the next message."
            )


def _leading_results(run: Run) -> set[str]:
    answered: set[str] = set()
    for placed in run.blocks:
        if placed.kind != "tool_result":
            break
        answered.add(text(placed.block.get("tool_use_id")))
    return answered


def _server_results_without_call(blocks: tuple[PlacedBlock, ...]) -> Iterator[str]:
    """R2, for tools that the service runs."""
    called: set[str] = set()
    for placed in blocks:
        if placed.kind in _SERVER_CALLS:
            called.add(text(placed.block.get("id")))
        answered = text(placed.block.get("tool_use_id"))
        if placed.kind.endswith("_tool_result") and answered not in called:
            call = "mcp_tool_use" if placed.kind == "mcp_tool_result" else "server_tool_use"
            yield (
                f"{placed.path}: unexpected `tool_use_id` found in `{placed.kind}` blocks: "
                f"{answered}. Each `{placed.kind}` block must have a corresponding `{call}` "
                "block before it."
            )


def _server_calls_without_result(spoken: tuple[Run, ...]) -> Iterator[str]:
    """R3: a call stays open while only tool results follow it, and answers that its code gave."""
    answered = {
        text(placed.block.get("tool_use_id"))
        for run in spoken
        for placed in run.blocks
        if placed.kind.endswith("_tool_result")
    }
    for place, run in enumerate(spoken):
        for placed in run.blocks:
            call = text(placed.block.get("id"))
            if placed.kind not in _SERVER_CALLS or call in answered:
                continue
            if not all(_leaves_open(later, call) for later in spoken[place + 1 :]):
                is_mcp = placed.kind == "mcp_tool_use"
                tool = "mcp" if is_mcp else text(placed.block.get("name"))
                yield (
                    f"{placed.path}: `{tool}` tool use with id `{call}` was found without a "
                    f"corresponding `{tool}_tool_result` block"
                )


def _leaves_open(run: Run, call: str) -> bool:
    if run.role == "user":
        return not run.is_prompt
    callers = [placed.block.get("caller") for placed in run.blocks]
    return any(isinstance(by, dict) and by.get("tool_id") == call for by in callers)


def _prefill(spoken: tuple[Run, ...]) -> Iterator[str]:
    """R4 and R11: only a turn that the service itself interrupted may come last."""
    last = spoken[-1] if spoken else None
    if last is None or last.role != "assistant":
        return
    if not any(placed.kind in _RESUMABLE for placed in last.blocks):
        yield (
            "This model does not support assistant message prefill. "
            "The conversation must end with a user message."
        )


def _loop_without_thinking(request: JsonObject, spoken: tuple[Run, ...]) -> Iterator[str]:
    """R6: with `thinking.type` "enabled", the turn that a tool loop belongs to starts with it."""
    thinking = request.get("thinking")
    if not isinstance(thinking, dict) or thinking.get("type") != "enabled":
        return
    prompt = max((place for place, run in enumerate(spoken) if run.is_prompt), default=-1)
    turn = spoken[prompt + 1] if prompt + 1 < len(spoken) else None
    if turn is None or turn.role != "assistant" or turn.blocks[0].kind in THINKING:
        return
    first = turn.blocks[0]
    yield (
        f"{first.path}.type: Expected `thinking` or `redacted_thinking`, but found `{first.kind}`. "
        "When `thinking` is enabled, a final `assistant` message must start with a thinking block "
        "(preceeding the lastmost set of `tool_use` and `tool_result` blocks)."
    )
