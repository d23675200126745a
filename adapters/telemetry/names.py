"""All names that OpenTelemetry is given: of spans, attributes and metrics. No other module spells one.

Those that begin with `gen_ai` are the conventions' for generative AI, which are in development
(github.com/open-telemetry/semantic-conventions-genai, after v1.41.0). They were renamed in each of the
last years: a new name is a change here, and in the table of the test.
"""

from __future__ import annotations

import re
from typing import Final

SCOPE: Final = "onrecord"
"""The instrumentation scope of all spans and metrics."""

# The store's own operations: spans alone, their name is `onrecord.append` and so on.
APPEND: Final = "onrecord.append"
READ: Final = "onrecord.read"
REQUEST: Final = "onrecord.request"

CONVERSATION: Final = "onrecord.conversation"
"""The key of a conversation."""
VERSION: Final = "onrecord.version"
"""The last version that an operation appended, read or rendered; of a model call, its request's."""

# A call of a model. The span's name is the operation and the model.
OPERATION_NAME: Final = "gen_ai.operation.name"
PROVIDER_NAME: Final = "gen_ai.provider.name"
CONVERSATION_ID: Final = "gen_ai.conversation.id"
REQUEST_MODEL: Final = "gen_ai.request.model"
REQUEST_STREAM: Final = "gen_ai.request.stream"
RESPONSE_ID: Final = "gen_ai.response.id"
RESPONSE_MODEL: Final = "gen_ai.response.model"
FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
TIME_TO_FIRST_CHUNK: Final = "gen_ai.response.time_to_first_chunk"
INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
CACHE_READ_TOKENS: Final = "gen_ai.usage.cache_read.input_tokens"
CACHE_WRITE_TOKENS: Final = "gen_ai.usage.cache_write.input_tokens"
REASONING_TOKENS: Final = "gen_ai.usage.reasoning.output_tokens"
ERROR_TYPE: Final = "error.type"
RESEND_COUNT: Final = "http.request.resend_count"

# What is measured of calls of models.
DURATION_METRIC: Final = "gen_ai.client.inference.duration"
FIRST_CHUNK_METRIC: Final = "gen_ai.client.inference.time_to_first_chunk"
TOKEN_METRICS: Final = {
    INPUT_TOKENS: "gen_ai.client.inference.usage.input_tokens",
    OUTPUT_TOKENS: "gen_ai.client.inference.usage.output_tokens",
    CACHE_READ_TOKENS: "gen_ai.client.inference.usage.cache_read.input_tokens",
    CACHE_WRITE_TOKENS: "gen_ai.client.inference.usage.cache_write.input_tokens",
    REASONING_TOKENS: "gen_ai.client.inference.usage.reasoning.output_tokens",
}
"""The counter of each kind of token, by the attribute that has its count on a span."""

SECONDS: Final = "s"
TOKENS: Final = "{token}"
BUCKETS: Final = (
    *(0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64),
    *(1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92),
)
"""The conventions' boundaries for durations of calls, in seconds."""

CHAT: Final = "chat"
GENERATE_CONTENT: Final = "generate_content"
MODEL_OPERATIONS: Final = frozenset({CHAT, GENERATE_CONTENT, "text_completion"})
"""The operations that are one call of a model."""

_PROVIDERS: Final = {"bedrock": "aws.bedrock", "gemini": "gcp.gemini"}
"""The names of providers, where they are not the first word of their APIs' names."""

_CLOUDS: Final = (
    (re.compile(r"(^|/)model/[^/]+/(invoke|converse)"), "aws.bedrock"),
    (re.compile(r"(^|/)projects/[^/]+/locations/"), "gcp.vertex_ai"),
    (re.compile(r"(^|/)openai/(v1/|deployments/)"), "azure.ai.openai"),
)
"""How the paths of clouds look that serve the models of others."""


def operation_of(api: str) -> str:
    """Return the conventions' name of a call of an API."""
    return GENERATE_CONTENT if api == "gemini" else CHAT


def provider_of(api: str, path: str) -> str:
    """Return the conventions' name of who serves an API at a path.

    A server that only speaks the API counts as the provider that the API is named for.
    """
    clouds = (name for pattern, name in _CLOUDS if pattern.search(path))
    word = api.partition("-")[0]
    return next(clouds, None) or _PROVIDERS.get(word, word)
