"""What recorded answers say of cached, cache-writing and reasoning tokens."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, cast

import pytest

from onrecord.projections.views.usage import UsageMembers, usage_members
from tests.corpus.wire import CORPUS, MISSING, JsonObject, is_there


def answers(value: Any) -> Iterator[JsonObject]:
    """Whatever holds counts of tokens in a recording, by a short and naive way."""
    match value:
        case dict():
            held = cast("JsonObject", value)
            if not held.keys().isdisjoint({"usage", "usageMetadata"}):
                yield held
            for each in held.values():
                yield from answers(each)
        case list():
            for each in cast("list[Any]", value):
                yield from answers(each)
        case str() if "sage" in value:
            for line in value.splitlines():
                yield from _read(line.removeprefix("data:").strip())
        case _:
            return


def _read(line: str) -> Iterator[JsonObject]:
    try:
        yield from answers(json.loads(line))
    except ValueError:
        return


@pytest.mark.skipif(not is_there(), reason=MISSING)
@pytest.mark.parametrize(
    ("api", "file", "told"),
    [
        (
            "anthropic-messages",
            (
                "anthropic/pydantic-ai/test_code_execution_files_vcr__test_anthropic_code_execution_"
                "files_cache_prefix_stable-automatic-sonnet-5.json"
            ),
            UsageMembers(20443, 574, 77),
        ),
        (
            "bedrock-converse",
            (
                "bedrock/pydantic-ai/test_bedrock__test_bedrock_cache_point_adds_cache_control-claude-"
                "sonnet-4-5.json"
            ),
            UsageMembers(0, 1503, 0),
        ),
        (
            "gemini",
            (
                "gemini/pydantic-ai/test_multimodal_tool_returns__test_mixed_content_ordering-google_"
                "2_5.json"
            ),
            UsageMembers(204, 0, 167),
        ),
        (
            "openai-chat",
            "openai-compatible/pydantic-ai/test_crusoe__test_crusoe_tool_calling.json",
            UsageMembers(64, 0, 20),
        ),
        (
            "openai-responses",
            (
                "openai-responses/pydantic-ai/test_openai_responses__test_openai_responses_code_"
                "execution_return_image.json"
            ),
            UsageMembers(1920, 0, 512),
        ),
    ],
)
def test_recorded_answers_tell_what_they_used(api: str, file: str, told: UsageMembers) -> None:
    if not (CORPUS / file).is_file():
        pytest.skip(f"{file} is not there")
    recorded: Any = json.loads((CORPUS / file).read_bytes())
    assert told in {usage_members(api, answer) for answer in answers(recorded)}
