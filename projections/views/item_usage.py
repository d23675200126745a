"""What items of frameworks say of tokens: who answered, and how many each answer took.

Counts are as Onrecord has them everywhere: what was read includes what came from a cache and what went
into one, what was written includes what was thought. Providers count otherwise, and so do some frameworks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple, TypeAlias

from onrecord.domain.jsontext import JsonObject
from onrecord.projections.frameworks.langchain_messages import message_members
from onrecord.projections.frameworks.langgraph import new_messages
from onrecord.projections.members import list_of, member, members_of, text, token_count


class ItemUsage(NamedTuple):
    """What an answer took, as one item says it.

    `answer` is its id, where other items may say the same again; None where each item is an answer of
    its own. `model` is empty where nobody named it.
    """

    answer: str | None
    model: str
    input_tokens: int
    output_tokens: int
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0

    @property
    def counts(self) -> tuple[int, int, int, int, int]:
        """Return the counts in this order."""
        return self[2:]


def usages_in(framework: str, item: JsonObject) -> Iterator[ItemUsage]:
    """Yield what each answer took of which an item tells; not of those that tell of no tokens."""
    read = _READERS.get(framework)
    for usage in () if read is None else read(item):
        if any(usage.counts):
            yield usage


def _claude(entry: JsonObject) -> Iterator[ItemUsage]:
    # An answer has an entry a block, each with the counts so far, under the id of its message.
    message = members_of(entry.get("message"))
    counts = _counts(message.get("usage"))
    if entry.get("type") == "assistant":
        written, cached = counts("cache_creation_input_tokens"), counts("cache_read_input_tokens")
        yield ItemUsage(
            answer=text(message.get("id")) or None,
            model=text(message.get("model")),
            input_tokens=counts("input_tokens") + written + cached,
            output_tokens=counts("output_tokens"),
            cached_tokens=cached,
            cache_write_tokens=written,
        )


def _pydantic_ai(entry: JsonObject) -> Iterator[ItemUsage]:
    message = members_of(entry.get("message"))
    counts = _counts(message.get("usage"))
    yield ItemUsage(
        answer=None,
        model=text(message.get("model_name")),
        input_tokens=counts("input_tokens"),
        output_tokens=counts("output_tokens"),
        cached_tokens=counts("cache_read_tokens"),
        cache_write_tokens=counts("cache_write_tokens"),
        reasoning_tokens=counts("output_reasoning_tokens"),
    )


def _agent_framework(message: JsonObject) -> Iterator[ItemUsage]:
    for content in list_of(message.get("contents")):
        counts = _counts(members_of(content).get("usage_details"))
        yield ItemUsage(
            answer=None,
            model="",
            input_tokens=counts("input_token_count"),
            output_tokens=counts("output_token_count"),
            cached_tokens=counts("cache_read_input_token_count"),
            cache_write_tokens=counts("cache_creation_input_token_count"),
            reasoning_tokens=counts("reasoning_output_token_count"),
        )


_CACHE_BESIDE: Final = ("anthropic", "bedrock")
_THOUGHT_BESIDE: Final = ("gemini", "google")
"""Providers of AG2 whose counts it hands on where they stand beside each other."""


def _ag2(event: JsonObject) -> Iterator[ItemUsage]:
    # Tokens have events of their own. Responses repeat them, and a compaction keeps them once more.
    if text(event.get("__event__")).rpartition(".")[2] != "UsageEvent":
        return
    counts = _counts(members_of(event.get("usage")).get("data"))
    provider = text(event.get("provider"))
    cached = counts("cache_read_input_tokens")
    written, thought = counts("cache_creation_input_tokens"), counts("thinking_tokens")
    yield ItemUsage(
        answer=repr(event.get("created_at")),
        model=text(event.get("model")),
        input_tokens=counts("prompt_tokens")
        + (cached + written if provider in _CACHE_BESIDE else 0),
        output_tokens=counts("completion_tokens") + (thought if provider in _THOUGHT_BESIDE else 0),
        cached_tokens=cached,
        cache_write_tokens=written,
        reasoning_tokens=thought,
    )


def _langgraph(item: JsonObject) -> Iterator[ItemUsage]:
    for message in map(message_members, new_messages(item)):
        usage, response = message.get("usage_metadata"), message.get("response_metadata")
        counts, details = _counts(usage), _counts(member(usage, "input_token_details"))
        yield ItemUsage(
            answer=text(message.get("id")) or None,
            model=text(member(response, "model_name")) or text(member(response, "model")),
            input_tokens=counts("input_tokens"),
            output_tokens=counts("output_tokens"),
            cached_tokens=details("cache_read"),
            cache_write_tokens=details("cache_creation"),
            reasoning_tokens=_counts(member(usage, "output_token_details"))("reasoning"),
        )


def _adk(event: JsonObject) -> Iterator[ItemUsage]:
    counts = _counts(event.get("usage_metadata", event.get("usageMetadata")))
    thought = counts("thoughts_token_count", "thoughtsTokenCount")
    yield ItemUsage(
        answer=None,
        model=text(event.get("model_version", event.get("modelVersion"))),
        input_tokens=counts("prompt_token_count", "promptTokenCount")
        + counts("tool_use_prompt_token_count", "toolUsePromptTokenCount"),
        output_tokens=counts("candidates_token_count", "candidatesTokenCount") + thought,
        cached_tokens=counts("cached_content_token_count", "cachedContentTokenCount"),
        reasoning_tokens=thought,
    )


_Reader: TypeAlias = Callable[[JsonObject], Iterator[ItemUsage]]
_READERS: Final[Mapping[str, _Reader]] = {
    "ag2": _ag2,
    "agent-framework": _agent_framework,
    "claude-agent-sdk": _claude,
    "google-adk": _adk,
    "langgraph": _langgraph,
    "pydantic-ai": _pydantic_ai,
}


def _counts(usage: object) -> Callable[..., int]:
    """Return what tells a count by any of its names; 0 where there is none."""

    def count(*names: str) -> int:
        values = (member(usage, name) for name in names)
        return next((number for value in values if (number := token_count(value))), 0)

    return count
