"""What Anthropic's Messages API refuses; the rules' numbers are those of docs/rendering.md.

Not looked for, because a request alone cannot tell: thinking that was modified (R7) or is bound to
another prefix, model or account (R8, R9), results that were altered (R12), fallback blocks that
the service did not make (R19), refused turns (R20), files that have expired (R23), and all that a
thread holds which a request goes on from (R22).
An assistant's message may come first, and have the last word with models that take a prefill.
"""

from __future__ import annotations

from typing import Final

from onrecord.projections.referee import (
    anthropic_contents,
    anthropic_fallbacks,
    anthropic_server_tools,
    anthropic_tools,
)
from onrecord.projections.referee.violation import Rule

RULES: Final = (
    Rule(
        "R1",
        "answer each call at the beginning of the next message, before any text",
        anthropic_tools.unanswered_calls,
    ),
    Rule(
        "R2",
        "leave the result out, or bring its call back",
        anthropic_tools.results_without_call,
    ),
    Rule("R2", "keep one of the results", anthropic_tools.repeated_results),
    Rule(
        "R2",
        "leave the result out, or bring its call back",
        anthropic_server_tools.results_without_call,
    ),
    Rule(
        "R3",
        "put its result back, or leave the call out with what its code called",
        anthropic_server_tools.unanswered_calls,
    ),
    Rule("R5", "leave the empty message out", anthropic_contents.empty_messages),
    Rule(
        "R6",
        "put the turn's thinking back as it came, or turn thinking off for this request",
        anthropic_contents.loop_without_thinking,
    ),
    Rule(
        "R9", "send thinking back as it came, or not at all", anthropic_contents.unsigned_thinking
    ),
    Rule("R10", "leave blank text out", anthropic_contents.blank_texts),
    Rule(
        "R11",
        "let the user have the last word, or cut what the turn ends with",
        anthropic_contents.endings,
    ),
    Rule(
        "R13",
        "send `container`: the id that came with the response",
        anthropic_tools.missing_container,
    ),
    Rule(
        "R14",
        "send the advisor's tool, or leave its blocks out",
        anthropic_server_tools.absent_advisor,
    ),
    Rule("R14", "leave `content` out, or say something", anthropic_server_tools.empty_results),
    Rule(
        "R14",
        "send the definition of that tool, or leave the reference out",
        anthropic_server_tools.unknown_tools,
    ),
    Rule(
        "R15",
        "map the id, on both ends of the pair alike",
        anthropic_tools.malformed_ids,
    ),
    Rule("R15", "give each call an id of its own", anthropic_tools.repeated_ids),
    Rule("R16", "place fewer cache marks, and none on empty text", anthropic_contents.cache_marks),
    Rule("R16", "place the marks of an hour before the others", anthropic_contents.cache_times),
    Rule(
        "R18",
        "begin with the last compaction, as the first block of an assistant's message",
        anthropic_contents.compactions,
    ),
    Rule(
        "R19",
        "leave the call out, with its result: its model declined to go on",
        anthropic_fallbacks.declined_calls,
    ),
    Rule(
        "R21",
        "put the message right after a user's, and nothing but text in it",
        anthropic_contents.operators_messages,
    ),
    Rule("roles", "move the block to a message of that role", anthropic_tools.misplaced_blocks),
    Rule("tools", "name each tool once, in letters, digits, _ and -", anthropic_tools.tool_names),
)
