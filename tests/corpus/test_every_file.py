"""No recording is passed over: each is read by a test of its API, or named with the reason why not."""

from __future__ import annotations

from typing import Final

import pytest

from tests.corpus import (
    bedrock_wire,
    conversations,
    gemini_wire,
    ollama_wire,
    openai_chat_wire,
    openai_responses_wire,
    wire,
)
from tests.corpus.test_bedrock_capture import COUNTING
from tests.corpus.test_gemini_capture import OUT_OF_SCOPE
from tests.corpus.wire import CORPUS, MISSING, is_there

pytestmark = pytest.mark.skipif(not is_there(), reason=MISSING)

ABOUT: Final = {
    "MANIFEST.json": "where the recordings are from",
    "ORIGIN.md": "where the recordings are from",
    "_licenses": "what may be done with them",
    "_schemas": "schemas of services, and no traffic",
}

_PYDANTIC: Final = "pydantic-ai/test_"
_EFFORT: Final = "test_anthropic_explicit_effort_xhigh_unsupported_model_errors"

NO_TURNS: Final = {
    **dict.fromkeys(COUNTING, "tokens are counted, and nothing is said"),
    **dict.fromkeys(OUT_OF_SCOPE, "the Interactions API, or embeddings: Onrecord speaks neither"),
    f"anthropic/{_PYDANTIC}anthropic__test_anthropic_count_tokens_keeps_memory_tool.json": (
        "tokens are counted, and nothing is said"
    ),
}

REFUSED: Final = {
    f"anthropic/{_PYDANTIC}anthropic__{_EFFORT}.json",
    f"bedrock/{_PYDANTIC}bedrock__test_bedrock_error.json",
    f"openai-chat/{_PYDANTIC}openai__test_openai_web_search_tool_model_not_supported.json",
    f"openai-compatible/{_PYDANTIC}openrouter__test_openrouter_errors_raised.json",
    f"openai-responses/{_PYDANTIC}openai_responses__test_openai_responses_model_http_error.json",
    "openai-responses/vercel-ai/openai-error.1.json",
}
"""Recordings of errors alone: they are captured, and nothing of them can go on."""


def recordings() -> set[str]:
    """All files but those about the recordings."""
    files = (path.relative_to(CORPUS) for path in CORPUS.rglob("*") if path.is_file())
    return {str(path) for path in files if path.parts[0] not in ABOUT}


def captured() -> set[str]:
    """What the tests of the captures read."""
    readers = (bedrock_wire, gemini_wire, openai_chat_wire, openai_responses_wire, wire)
    return {ollama_wire.NAME, *(name for reader in readers for name in reader.files())}


def test_every_recording_is_captured_or_named() -> None:
    left = recordings() - captured()
    assert left <= set(NO_TURNS)
    assert left == set(OUT_OF_SCOPE) - captured()


def test_every_recording_goes_on_with_every_api_or_is_named() -> None:
    assert recordings() - set(conversations.files()) == {*NO_TURNS, *REFUSED}


def test_nothing_that_is_named_has_gone() -> None:
    assert {*NO_TURNS, *REFUSED} <= recordings()
    assert {path.name for path in CORPUS.iterdir()} >= set(ABOUT)
