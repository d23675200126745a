"""What Anthropic's Messages API refuses; the rules' numbers are those of docs/rendering.md.

Not looked for, because a request alone cannot tell: thinking that was modified (R7) or is bound to
another prefix, model or account (R8, R9), results that were altered (R12), fallback blocks that
the service did not make (R19), refused turns (R20), files that have expired (R23), and all that a
thread holds which a request goes on from (R22).
An assistant's message may come first, and have the last word with models that take a prefill.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.anthropic import tool_rules
from onrecord.projections.apis.anthropic.tool_rules import (
    THINKING,
    Placed,
    Turn,
    blocks_of,
    goes_on,
    goes_on_from_thread,
    turns_of,
)
from onrecord.projections.apis.rules import Found, Path, Rule, dotted
from onrecord.projections.members import member, placed_objects, text

# Anthropic's rules of what a message holds, in which order, and what it may not be.

_MOST_MESSAGES: Final = 100_000
_MOST_MARKS: Final = 4
_TOOL_CHANGES: Final = frozenset({"tool_addition", "tool_removal"})


def empty_messages(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find messages that say nothing, or none, or too many."""
    messages = placed_objects(request.get("messages"))
    if not messages and not goes_on_from_thread(request):
        yield ("messages",), "messages: at least one message is required"
    if len(messages) > _MOST_MESSAGES:
        yield ("messages",), f"messages: List should have at most {_MOST_MESSAGES} items"
    for index, message in messages:
        if not message.get("content") and not _is_final_assistant(messages, index):
            words = (
                f"messages.{index}: all messages must have non-empty content except for the "
                "optional final assistant message"
            )
            yield ("messages", index, "content"), words


def _is_final_assistant(messages: list[tuple[int, JsonObject]], index: int) -> bool:
    last, message = messages[-1]
    return index == last and message.get("role") == "assistant"


def blank_texts(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find empty texts, and messages whose texts are all blank (LibreChat agents#124)."""
    texts: dict[int, list[Placed]] = {}
    for placed in blocks_of(request):
        for path, parts in _texts_in(placed):
            if parts == "":
                yield path, "messages: text content blocks must be non-empty"
        if placed.kind == "text":
            texts.setdefault(placed.message, []).append(placed)
    for blocks in texts.values():
        parts = [text(placed.block.get("text")) for placed in blocks]
        if not any(words.strip() for words in parts) and "" not in parts:
            words = "messages: text content blocks must contain non-whitespace text"
            yield blocks[0].path, words
    for place, block in placed_objects(request.get("system")):
        if block.get("text") == "":
            yield ("system", place), "system: text content blocks must be non-empty"


def _texts_in(placed: Placed) -> Iterator[tuple[Path, Any]]:
    if placed.kind == "text":
        yield placed.path, placed.block.get("text")
    if placed.kind == "tool_result":
        for place, part in placed_objects(placed.block.get("content")):
            if part.get("type") == "text":
                yield (*placed.path, "content", place), part.get("text")


def endings(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find an assistant's last turn that ends with thinking or with space (forgecode#1872)."""
    turns = turns_of(request)
    if not turns or turns[-1].role != "assistant" or goes_on(turns):
        return
    last = turns[-1].blocks[-1]
    words = text(last.block.get("text"))
    if last.kind in THINKING:
        path_text = dotted(last.path[:2])
        yield (
            last.path,
            f"{path_text}: The final block in an assistant message cannot be `thinking`.",
        )
    elif last.kind == "text" and words != words.rstrip():
        yield (
            last.path,
            "messages: final assistant content cannot end with trailing whitespace",
        )


def loop_without_thinking(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find a tool loop that does not begin with thinking, where it is enabled (zed#33317)."""
    if member(request.get("thinking"), "type") != "enabled" or goes_on_from_thread(request):
        return
    turns = turns_of(request)
    prompt = max((place for place, turn in enumerate(turns) if _is_prompt(turn)), default=-1)
    if prompt + 1 >= len(turns) or turns[prompt + 1].role != "assistant":
        return
    first = turns[prompt + 1].blocks[0]
    if first.kind not in THINKING:
        message = (
            f"{dotted(first.path)}.type: Expected `thinking` or `redacted_thinking`, but found "
            f"`{first.kind}`. When `thinking` is enabled, a final `assistant` message must start "
            "with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` "
            "blocks)."
        )
        yield first.path, message


def _is_prompt(turn: Turn) -> bool:
    return turn.role == "user" and not turn.has_only_results


def unsigned_thinking(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find thinking without the signature that the service gave it."""
    for placed in blocks_of(request):
        if placed.kind == "thinking" and placed.block.get("signature") == "":
            path_text = dotted(placed.path)
            yield placed.path, f"{path_text}: Invalid `signature` in `thinking` block"


def cache_marks(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find more than four cache marks, and those on empty text (spring-ai#4199)."""
    marked = [(path, block) for path, block in _blocks_to_cache(request) if _mark(block)]
    count = len(marked) + bool(request.get("cache_control"))
    if count > _MOST_MARKS:
        words = f"A maximum of {_MOST_MARKS} blocks with cache_control may be provided."
        yield marked[-1][0], f"{words} Found {count}."
    for path, block in marked:
        if block.get("text") == "":
            words = "cache_control cannot be set for empty text blocks"
            yield path, f"{dotted((*path, 'text'))}: {words}"


def cache_times(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find marks of an hour that stand after shorter ones."""
    has_short = False
    for path, block in _blocks_to_cache(request):
        mark = _mark(block)
        is_long = member(mark, "ttl") == "1h"
        if is_long and has_short:
            message = (
                f"{dotted((*path, 'cache_control', 'ttl'))}: a ttl='1h' cache_control block must "
                "not come after a ttl='5m' cache_control block. Note that blocks are processed "
                "in the following order: `tools`, `system`, `messages`."
            )
            yield path, message
        has_short = has_short or bool(mark and not is_long)


def _mark(block: JsonObject) -> Any:
    return block.get("cache_control")


def _blocks_to_cache(request: Mapping[str, Any]) -> Iterator[tuple[Path, JsonObject]]:
    """Yield all that a mark can stand on; never what a tool was given or gave as data."""
    for name in ("tools", "system"):
        for place, block in placed_objects(request.get(name)):
            yield (name, place), block
    for placed in blocks_of(request):
        yield placed.path, placed.block
        if placed.kind == "tool_result":
            for place, part in placed_objects(placed.block.get("content")):
                yield (*placed.path, "content", place), part


def compactions(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find a second compaction with content, and one that is not the first of its message.

    Recorded: messages before it were accepted where it is the first block of an assistant's.
    """
    blocks = blocks_of(request)
    compacted = [placed for placed in blocks if placed.kind == "compaction"]
    if sum(bool(placed.block.get("content")) for placed in compacted) > 1:
        yield (
            compacted[-1].path,
            "compaction_block_ambiguous: more than one compaction block has content",
        )
    for placed in compacted:
        if placed.block.get("content") and (placed.path[-1] != 0 or placed.role != "assistant"):
            path_text = dotted(placed.path)
            yield (
                placed.path,
                f"compaction_block_misplaced: {path_text}: a compaction block comes first",
            )


def operators_messages(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find `system` messages elsewhere than after a user's, or with more than text in them.

    Recorded: they were accepted before an assistant's and at the end, and two of them in a row.
    """
    messages = placed_objects(request.get("messages"))
    roles = {index: text(message.get("role")) for index, message in messages}
    for index, role in roles.items():
        if role == "system" and roles.get(index - 1) not in ("user", "system"):
            yield ("messages", index), f"messages.{index}: a `system` message must follow a user's"
        if role == "system" and roles.get(index + 1, "assistant") not in ("assistant", "system"):
            words = (
                f"messages.{index}: a `system` message must come immediately before an "
                "assistant's, or last"
            )
            yield ("messages", index), words
    for placed in blocks_of(request):
        is_change = placed.kind in _TOOL_CHANGES
        if is_change if placed.role != "system" else not is_change and placed.kind != "text":
            path_text = dotted(placed.path)
            complaint = f"{path_text}: `{placed.kind}` blocks cannot be in `{placed.role}` messages"
            yield placed.path, complaint


# Anthropic's rule of turns that one model declined to go on with, and another one took over.


def declined_calls(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find calls of the caller's tools before a turn's last fallback (oh-my-pi, 2026.7.5).

    The service takes such a call for none, so it does not see its result either.
    """
    for turn in turns_of(request):
        kinds = [placed.kind for placed in turn.blocks]
        last = max((place for place, kind in enumerate(kinds) if kind == "fallback"), default=0)
        for placed in turn.blocks[:last]:
            if placed.kind == "tool_use":
                message = (
                    f"messages.{turn.index}: `tool_use` ids were found without `tool_result` "
                    f"blocks immediately after: {placed.id}. Each `tool_use` block must have a "
                    "corresponding `tool_result` block in the next message."
                )
                yield placed.path, message


RULES: Final = (
    Rule(
        "R1",
        "answer each call at the beginning of the next message, before any text",
        tool_rules.unanswered_calls,
    ),
    Rule("R2", "leave the result out, or bring its call back", tool_rules.results_without_call),
    Rule("R2", "keep one of the results", tool_rules.repeated_results),
    Rule(
        "R2", "leave the result out, or bring its call back", tool_rules.server_results_without_call
    ),
    Rule(
        "R3",
        "put its result back, or leave the call out with what its code called",
        tool_rules.unanswered_server_calls,
    ),
    Rule("R5", "leave the empty message out", empty_messages),
    Rule(
        "R6",
        "put the turn's thinking back as it came, or turn thinking off for this request",
        loop_without_thinking,
    ),
    Rule("R9", "send thinking back as it came, or not at all", unsigned_thinking),
    Rule("R10", "leave blank text out", blank_texts),
    Rule("R11", "let the user have the last word, or cut what the turn ends with", endings),
    Rule(
        "R13", "send `container`: the id that came with the response", tool_rules.missing_container
    ),
    Rule("R14", "send the advisor's tool, or leave its blocks out", tool_rules.absent_advisor),
    Rule("R14", "leave `content` out, or say something", tool_rules.empty_results),
    Rule(
        "R14",
        "send the definition of that tool, or leave the reference out",
        tool_rules.unknown_tools,
    ),
    Rule("R15", "map the id, on both ends of the pair alike", tool_rules.malformed_ids),
    Rule("R15", "give each call an id of its own", tool_rules.repeated_ids),
    Rule("R16", "place fewer cache marks, and none on empty text", cache_marks),
    Rule("R16", "place the marks of an hour before the others", cache_times),
    Rule(
        "R18",
        "begin with the last compaction, as the first block of an assistant's message",
        compactions,
    ),
    Rule("R19", "leave the call out, with its result: its model declined to go on", declined_calls),
    Rule(
        "R21",
        "put the message right after a user's, and nothing but text in it",
        operators_messages,
    ),
    Rule(
        "R24",
        "give the call `mcp_servers` with the server of that name",
        tool_rules.absent_servers,
    ),
    Rule("roles", "move the block to a message of that role", tool_rules.misplaced_blocks),
    Rule("tools", "name each tool once, in letters, digits, _ and -", tool_rules.tool_names),
)
