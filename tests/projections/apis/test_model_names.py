"""The names of models: a model is found by whatever name it is asked for."""

from __future__ import annotations

import pytest

from onrecord.projections.apis.capabilities import capabilities_of
from onrecord.projections.apis.model_names import Pattern, names_of
from onrecord.projections.apis.request import Options


@pytest.mark.parametrize(
    ("api", "model", "row"),
    [
        ("anthropic-messages", "claude-sonnet-4-5-20250929", "claude-sonnet-4-5*"),
        ("anthropic-messages", "anthropic/claude-sonnet-4-5", "claude-sonnet-4-5*"),
        ("anthropic-messages", "claude-sonnet-4-5@20250929", "claude-sonnet-4-5*"),
        ("anthropic-messages", "claude-3-5-haiku@20241022", "claude-3-5-haiku-*"),
        ("anthropic-messages", "anthropic.claude-opus-4-5-20251101-v1:0", "claude-opus-4-5*"),
        ("anthropic-messages", "us.anthropic.claude-opus-4-5-20251101-v1:0", "claude-opus-4-5*"),
        ("openai-chat", "openai/gpt-4o", "gpt-4o*"),
        ("openai-chat", "ft:gpt-4o-2024-08-06:acme::AbC1", "gpt-4o*"),
        ("openai-chat", "deepseek/deepseek-chat:free", "deepseek*"),
        ("openai-chat", "deepseek-ai/DeepSeek-V3", "deepseek*"),
        ("openai-chat", "mistralai/Voxtral-Small-24B", "voxtral*"),
        ("openai-chat", "accounts/fireworks/models/deepseek-v3", "deepseek*"),
        ("openai-chat", "qwen2.5-vl", "*"),
        ("gemini", "models/gemini-3-pro-preview", "gemini-3*"),
        ("gemini", "publishers/google/models/gemini-2.5-pro", "gemini-2.5*"),
        ("gemini", "gemini-flash-latest", "*"),
        ("ollama", "qwen2.5:7b", "*"),
        ("bedrock-converse", "anthropic.claude-v2:1", "anthropic.claude-v2*"),
        ("bedrock-converse", "eu.amazon.nova-pro-v1:0", "amazon.nova*"),
        ("bedrock-converse", "us-gov.amazon.nova-micro-v1:0", "amazon.nova-micro*"),
        (
            "bedrock-converse",
            "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
            "anthropic.claude-sonnet*",
        ),
        (
            "bedrock-converse",
            "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.meta.llama4-scout-v1:0",
            "meta.llama4*",
        ),
        (
            "bedrock-converse",
            "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2c3",
            "*",
        ),
    ],
)
def test_a_model_is_found_by_whatever_name_it_is_asked_for(api: str, model: str, row: str) -> None:
    assert capabilities_of(api, model, Options(api=api)).row == f"{api} {row}"


def test_a_name_is_told_as_it_was_given_first() -> None:
    assert names_of("us.anthropic.claude-opus-4-5-v1:0") == (
        "us.anthropic.claude-opus-4-5-v1:0",
        "anthropic.claude-opus-4-5-v1:0",
        "claude-opus-4-5-v1:0",
    )
    assert names_of(" GPT-4.1 ") == ("gpt-4.1",)
    assert names_of("qwen2.5:7b") == ("qwen2.5:7b",)
    assert names_of("") == ("",)


def test_no_other_character_of_a_pattern_stands_for_another() -> None:
    assert not Pattern("gpt-[45]?").matches("gpt-4o")
    assert Pattern("gpt-[45]?").matches("gpt-[45]?")


def test_a_pattern_matches_the_whole_name() -> None:
    assert not Pattern("gpt-4").matches("gpt-4o")
    assert not Pattern("gpt-4").matches("gpt-4\n")
    assert not Pattern("*4o").matches("gpt-4o-mini")
    assert Pattern("*4o*").matches("gpt-4o-mini")
