"""The names that OpenTelemetry is given: those of the conventions' table, and spelled in one module."""

import re
from pathlib import Path

import pytest

from onrecord.adapters.telemetry import names

ADAPTERS = Path(__file__).parents[3] / "adapters"

TABLE = {
    "SCOPE": "onrecord",
    "APPEND": "onrecord.append",
    "READ": "onrecord.read",
    "REQUEST": "onrecord.request",
    "CONVERSATION": "onrecord.conversation",
    "VERSION": "onrecord.version",
    "OPERATION_NAME": "gen_ai.operation.name",
    "PROVIDER_NAME": "gen_ai.provider.name",
    "CONVERSATION_ID": "gen_ai.conversation.id",
    "REQUEST_MODEL": "gen_ai.request.model",
    "REQUEST_STREAM": "gen_ai.request.stream",
    "RESPONSE_ID": "gen_ai.response.id",
    "RESPONSE_MODEL": "gen_ai.response.model",
    "FINISH_REASONS": "gen_ai.response.finish_reasons",
    "TIME_TO_FIRST_CHUNK": "gen_ai.response.time_to_first_chunk",
    "INPUT_TOKENS": "gen_ai.usage.input_tokens",
    "OUTPUT_TOKENS": "gen_ai.usage.output_tokens",
    "CACHE_READ_TOKENS": "gen_ai.usage.cache_read.input_tokens",
    "CACHE_WRITE_TOKENS": "gen_ai.usage.cache_write.input_tokens",
    "REASONING_TOKENS": "gen_ai.usage.reasoning.output_tokens",
    "ERROR_TYPE": "error.type",
    "RESEND_COUNT": "http.request.resend_count",
    "DURATION_METRIC": "gen_ai.client.inference.duration",
    "FIRST_CHUNK_METRIC": "gen_ai.client.inference.time_to_first_chunk",
    "TOKEN_METRICS": {
        "gen_ai.usage.input_tokens": "gen_ai.client.inference.usage.input_tokens",
        "gen_ai.usage.output_tokens": "gen_ai.client.inference.usage.output_tokens",
        "gen_ai.usage.cache_read.input_tokens": (
            "gen_ai.client.inference.usage.cache_read.input_tokens"
        ),
        "gen_ai.usage.cache_write.input_tokens": (
            "gen_ai.client.inference.usage.cache_write.input_tokens"
        ),
        "gen_ai.usage.reasoning.output_tokens": (
            "gen_ai.client.inference.usage.reasoning.output_tokens"
        ),
    },
    "SECONDS": "s",
    "TOKENS": "{token}",
    "CHAT": "chat",
    "GENERATE_CONTENT": "generate_content",
    "MODEL_OPERATIONS": {"chat", "generate_content", "text_completion"},
}


def test_each_name_is_the_one_of_the_table() -> None:
    public = {name: value for name, value in vars(names).items() if re.match("[A-Z_]+$", name)}
    told = {name: value for name, value in public.items() if not name.startswith("_")}
    assert told.pop("BUCKETS")[0] == 0.01
    assert told == TABLE


def test_no_other_module_spells_a_name_of_the_conventions() -> None:
    spelled = [
        str(path.relative_to(ADAPTERS))
        for path in ADAPTERS.rglob("*.py")
        if path.name != "names.py" and re.search(r"[\"']gen_ai\.", path.read_text("utf-8"))
    ]
    assert spelled == []


@pytest.mark.parametrize(
    ("api", "path", "provider", "operation"),
    [
        ("anthropic-messages", "/v1/messages", "anthropic", "chat"),
        (
            "anthropic-messages",
            "/model/us.x%3A0/invoke-with-response-stream",
            "aws.bedrock",
            "chat",
        ),
        (
            "anthropic-messages",
            "/v1/projects/p/locations/eu/publishers/anthropic/models/m:rawPredict",
            "gcp.vertex_ai",
            "chat",
        ),
        ("openai-chat", "/v1/chat/completions", "openai", "chat"),
        ("openai-chat", "/openai/deployments/d/chat/completions", "azure.ai.openai", "chat"),
        ("openai-responses", "/openai/v1/responses", "azure.ai.openai", "chat"),
        ("openai-responses", "/v1/responses", "openai", "chat"),
        ("gemini", "/v1beta/models/m:generateContent", "gcp.gemini", "generate_content"),
        (
            "gemini",
            "/v1beta1/projects/p/locations/eu/publishers/google/models/m:generateContent",
            "gcp.vertex_ai",
            "generate_content",
        ),
        ("ollama", "/api/chat", "ollama", "chat"),
        ("bedrock-converse", "/model/m/converse", "aws.bedrock", "chat"),
        ("acme-chat", "/v2/chat", "acme", "chat"),
    ],
)
def test_a_call_names_its_provider_and_its_operation(
    api: str, path: str, provider: str, operation: str
) -> None:
    assert names.provider_of(api, path) == provider
    assert names.operation_of(api) == operation
