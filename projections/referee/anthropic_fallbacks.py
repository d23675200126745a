"""Anthropic's rule of turns that one model declined to go on with, and another one took over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from onrecord.projections.referee.anthropic_blocks import turns_of
from onrecord.projections.referee.violation import Found


def declined_calls(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find calls of the caller's tools before a turn's last fallback (oh-my-pi, 2026.7.5).

    The service takes such a call for none, so it does not see its result either.
    """
    for turn in turns_of(request):
        kinds = [placed.kind for placed in turn.blocks]
        last = max((place for place, kind in enumerate(kinds) if kind == "fallback"), default=0)
        for placed in turn.blocks[:last]:
            if placed.kind == "tool_use":
                yield (
                    placed.path,
                    (
                        f"messages.{turn.index}: `tool_use` ids were found without `tool_result` "
                        f"blocks immediately after: {placed.id}. Each `tool_use` block must have a "
                        "corresponding `tool_result` block in the next message."
                    ),
                )
