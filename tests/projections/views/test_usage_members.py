"""What envelopes say of cached, cache-writing and reasoning tokens, in the spelling of each API."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onrecord.domain.jsontext import JsonObject
from onrecord.projections.api import FOLDERS
from onrecord.projections.views.usage import UsageMembers, count_of, usage_members

SAMPLES = Path(__file__).parents[2] / "samples"


def read(api: str, name: str) -> JsonObject:
    body: JsonObject = json.loads((SAMPLES / api / f"{name}.json").read_bytes())
    return body


@pytest.mark.parametrize(
    ("api", "name", "told"),
    [
        ("anthropic-messages", "thinking", UsageMembers(reasoning=17)),
        ("anthropic-messages", "text", UsageMembers()),
        ("openai-chat", "text", UsageMembers()),
        ("openai-responses", "reasoning", UsageMembers()),
        ("gemini", "text", UsageMembers()),
        ("bedrock-converse", "text-without-stop.expected", UsageMembers()),
    ],
)
def test_samples_tell_what_they_used(api: str, name: str, told: UsageMembers) -> None:
    assert usage_members(api, read(api, name)) == told


@pytest.mark.parametrize(
    ("api", "envelope"),
    [
        (
            "anthropic-messages",
            {
                "usage": {
                    "input_tokens": 9,
                    "cache_read_input_tokens": 1,
                    "cache_creation_input_tokens": 2,
                    "output_tokens_details": {"thinking_tokens": 3},
                }
            },
        ),
        (
            "openai-chat",
            {
                "usage": {
                    "prompt_tokens_details": {"cached_tokens": 1, "cache_write_tokens": 2},
                    "completion_tokens_details": {"reasoning_tokens": 3},
                }
            },
        ),
        (
            "openai-chat",
            {
                "x_groq": {
                    "usage": {
                        "prompt_tokens_details": {"cached_tokens": 1, "cache_write_tokens": 2},
                        "completion_tokens_details": {"reasoning_tokens": 3},
                    }
                }
            },
        ),
        (
            "openai-responses",
            {
                "usage": {
                    "input_tokens_details": {"cached_tokens": 1, "cache_write_tokens": 2},
                    "output_tokens_details": {"reasoning_tokens": 3},
                }
            },
        ),
    ],
)
def test_each_api_tells_all_three_in_its_own_way(api: str, envelope: JsonObject) -> None:
    assert usage_members(api, envelope) == UsageMembers(1, 2, 3)


@pytest.mark.parametrize(
    ("api", "envelope", "told"),
    [
        (
            "gemini",
            {"usageMetadata": {"cachedContentTokenCount": 1, "thoughtsTokenCount": 3}},
            UsageMembers(1, 0, 3),
        ),
        (
            "bedrock-converse",
            {"usage": {"cacheReadInputTokens": 1, "cacheWriteInputTokens": 2}},
            UsageMembers(1, 2, 0),
        ),
        ("ollama", {"prompt_eval_count": 5, "eval_count": 3}, UsageMembers()),
        ("openai-chat", {"usage": {"prompt_cache_hit_tokens": 4}}, UsageMembers(4)),
        ("openai-chat", {"usage": {"cached_tokens": 5}}, UsageMembers(5)),
        ("unheard-of", {"usage": {"cached_tokens": 5}}, UsageMembers()),
    ],
)
def test_what_an_api_does_not_tell_is_none(
    api: str, envelope: JsonObject, told: UsageMembers
) -> None:
    assert usage_members(api, envelope) == told


@pytest.mark.parametrize("count", [12, 12.0, "12"])
def test_a_count_is_read_in_each_spelling_that_the_wire_reads(count: object) -> None:
    assert usage_members("openai-chat", {"usage": {"cached_tokens": count}}) == UsageMembers(12)


@pytest.mark.parametrize("value", [None, True, -1, 1.5, "7.5", "-7", 2**53, [1], {"a": 1}])
def test_what_can_be_no_count_is_nothing(value: object) -> None:
    assert count_of(value) == 0


anything: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["usage", "usageMetadata", "x_groq", "prompt_tokens_details"]), inner
        )
    ),
)


@given(st.sampled_from([*FOLDERS, "unheard-of"]), st.dictionaries(st.just("usage"), anything))
def test_whatever_an_envelope_holds_is_read(api: str, envelope: JsonObject) -> None:
    assert all(count >= 0 for count in usage_members(api, envelope))
