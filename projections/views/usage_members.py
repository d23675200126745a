"""What providers say of tokens beside the two counts that every response has: by API.

Where each API has them: platform.claude.com "Messages" (`usage`), platform.openai.com "Chat" and
"Responses" (`usage`), api-docs.deepseek.com and platform.moonshot.ai for what they spell otherwise,
ai.google.dev `UsageMetadata`, docs.aws.amazon.com `TokenUsage`. Ollama tells nothing of it. What
Anthropic lists as `iterations` (an advisor's, a compaction's) is not counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, TypeAlias, cast

from onrecord.domain.head import MOST_TOKENS
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.views.view import storable


class UsageMembers(NamedTuple):
    """Counts of tokens that are part of what was read (`cached`, `cache_writes`) or written.

    `cached` came from a cache, `cache_writes` went into one, `reasoning` was thought. 0 where
    nobody told.
    """

    cached: int = 0
    cache_writes: int = 0
    reasoning: int = 0


_Path: TypeAlias = tuple[str, ...]


class _Places(NamedTuple):
    """Where an API's envelope has each count; of several places the first that has one holds."""

    cached: tuple[_Path, ...] = ()
    cache_writes: tuple[_Path, ...] = ()
    reasoning: tuple[_Path, ...] = ()


_LONGEST: Final = 200
"""Characters of a name: PostgreSQL's indexes take no row of more than 2,704 bytes."""

_CHAT: Final = (("usage",), ("x_groq", "usage"))
_NOWHERE: Final = _Places()
_PLACES: Final[Mapping[str, _Places]] = {
    "anthropic-messages": _Places(
        cached=(("usage", "cache_read_input_tokens"),),
        cache_writes=(("usage", "cache_creation_input_tokens"),),
        reasoning=(("usage", "output_tokens_details", "thinking_tokens"),),
    ),
    "openai-chat": _Places(
        cached=tuple(
            (*usage, *member)
            for usage in _CHAT
            for member in (
                ("prompt_tokens_details", "cached_tokens"),
                ("prompt_cache_hit_tokens",),
                ("cached_tokens",),
            )
        ),
        cache_writes=tuple((*u, "prompt_tokens_details", "cache_write_tokens") for u in _CHAT),
        reasoning=tuple((*u, "completion_tokens_details", "reasoning_tokens") for u in _CHAT),
    ),
    "openai-responses": _Places(
        cached=(("usage", "input_tokens_details", "cached_tokens"),),
        cache_writes=(("usage", "input_tokens_details", "cache_write_tokens"),),
        reasoning=(("usage", "output_tokens_details", "reasoning_tokens"),),
    ),
    "gemini": _Places(
        cached=(("usageMetadata", "cachedContentTokenCount"),),
        reasoning=(("usageMetadata", "thoughtsTokenCount"),),
    ),
    "bedrock-converse": _Places(
        cached=(("usage", "cacheReadInputTokens"),),
        cache_writes=(("usage", "cacheWriteInputTokens"),),
    ),
}


def usage_members(api: str, envelope: JsonObject) -> UsageMembers:
    """Return what the envelope of a response says of its tokens besides."""
    places = _PLACES.get(api, _NOWHERE)
    return UsageMembers(*(_first(envelope, paths) for paths in places))


def count_of(value: object) -> int:
    """Return a count of tokens that can be one, else 0: a server, or an import, may say anything."""
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_TOKENS
    return cast("int", value) if is_count else 0


def name_of(text: str) -> str:
    """Return the name of an API or a model as rows have it: storable, of at most 200 characters."""
    return storable(text[:_LONGEST])


def _first(envelope: JsonObject, paths: tuple[_Path, ...]) -> int:
    return next(filter(None, (count_of(_at(envelope, path)) for path in paths)), 0)


def _at(value: Any, path: _Path) -> Any:
    for name in path:
        if not isinstance(value, dict):
            return None
        value = cast("JsonObject", value).get(name)
    return value
