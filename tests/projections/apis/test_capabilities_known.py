"""What comes with Onrecord: what each API and its models take, and that each entry is one."""

from __future__ import annotations

from pathlib import Path

import pytest

from onrecord.domain.documents import Modality
from onrecord.projections.api import FOLDERS
from onrecord.projections.apis import request as rendering
from onrecord.projections.apis.capabilities import (
    Capabilities,
    bundled,
    capabilities_of,
    check_tables,
    entries_in,
)
from onrecord.projections.apis.documents import LARGEST
from onrecord.projections.apis.request import Options


def kinds(*modalities: Modality) -> frozenset[Modality]:
    return frozenset(modalities)


T = kinds("text")
TI = kinds("text", "image")
TD = kinds("text", "document")
TID = kinds("text", "image", "document")
TIA = kinds("text", "image", "audio")
TIDA = kinds("text", "image", "document", "audio")
TIDV = kinds("text", "image", "document", "video")
ALL = kinds("text", "image", "document", "audio", "video")


def known(api: str, model: str | None = None) -> Capabilities:
    return capabilities_of(api, model, Options(api=api))


def flags(found: Capabilities) -> str:
    told = (found.reasoning, found.signatures, found.cache, found.parallel_calls)
    return "".join("y" if one else "-" for one in told)


@pytest.mark.parametrize(
    ("model", "user", "result", "told", "context", "output"),
    [
        (None, TID, TID, "--yy", 200_000, 8_192),
        ("claude-3-5-sonnet-20241022", TID, TID, "--yy", 200_000, 8_192),
        ("claude-next", TID, TID, "--yy", 200_000, 8_192),
        ("claude-opus-4-20250514", TID, TID, "yyyy", 200_000, 32_000),
        ("claude-opus-4-1", TID, TID, "yyyy", 200_000, 32_000),
        ("claude-opus-4-5", TID, TID, "yyyy", 200_000, 64_000),
        ("claude-opus-4-7", TID, TID, "yyyy", 1_000_000, 128_000),
        ("claude-sonnet-4-20250514", TID, TID, "yyyy", 200_000, 64_000),
        ("claude-3-7-sonnet-latest", TID, TID, "yyyy", 200_000, 64_000),
        ("claude-sonnet-4-5", TID, TID, "yyyy", 1_000_000, 64_000),
        ("claude-sonnet-5", TID, TID, "yyyy", 1_000_000, 128_000),
        ("claude-haiku-4-5", TID, TID, "yyyy", 200_000, 64_000),
        ("claude-3-5-haiku-20241022", T, T, "--yy", 200_000, 8_192),
    ],
)
def test_what_models_of_anthropic_take(
    model: str | None,
    user: frozenset[Modality],
    result: frozenset[Modality],
    told: str,
    context: int,
    output: int,
) -> None:
    found = known("anthropic-messages", model)
    assert (found.user, found.tool_result, flags(found)) == (user, result, told)
    assert (found.context_tokens, found.output_tokens) == (context, output)


OPENAI = [
    (None, TID, "--yy", 128_000, 4_096),
    ("gpt-4-turbo", TID, "--yy", 128_000, 4_096),
    ("gpt-5-mini", TID, "y-yy", 400_000, 128_000),
    ("o1-2024-12-17", TID, "y-y-", 200_000, 100_000),
    ("o3-mini", TID, "y-yy", 200_000, 100_000),
    ("o4-mini", TID, "y-yy", 200_000, 100_000),
    ("gpt-4o-mini", TID, "--yy", 128_000, 16_384),
    ("gpt-4.1-nano", TID, "--yy", 1_047_576, 32_768),
]


@pytest.mark.parametrize(("model", "user", "told", "context", "output"), OPENAI)
def test_what_models_of_openai_take_in_chat_completions(
    model: str | None, user: frozenset[Modality], told: str, context: int, output: int
) -> None:
    found = known("openai-chat", model)
    assert (found.user, found.tool_result, flags(found)) == (user, T, told)
    assert (found.context_tokens, found.output_tokens) == (context, output)


@pytest.mark.parametrize(("model", "user", "told", "context", "output"), OPENAI)
def test_in_responses_they_read_results_with_files_and_what_they_thought_goes_back_sealed(
    model: str | None, user: frozenset[Modality], told: str, context: int, output: int
) -> None:
    found = known("openai-responses", model)
    signed = f"{told[0]}{told[0]}{told[2:]}"
    assert (found.user, found.tool_result, flags(found)) == (user, TID, signed)
    assert (found.context_tokens, found.output_tokens) == (context, output)


@pytest.mark.parametrize(
    ("model", "user"),
    [
        ("gpt-4o-audio-preview", TIA),
        ("gpt-4o-mini-audio-preview-2024-12-17", TIA),
        ("gpt-audio-mini", TIA),
        ("deepseek-chat", T),
        ("mistral-large-latest", TID),
        ("pixtral-12b", TID),
        ("voxtral-small-latest", TIDA),
        ("qwen-omni-turbo", TIDA),
        ("llama-3.3-70b-versatile", TIDA),
    ],
)
def test_servers_that_speak_chat_completions_differ(model: str, user: frozenset[Modality]) -> None:
    found = known("openai-chat", model)
    assert (found.user, found.tool_result) == (user, T)


@pytest.mark.parametrize(
    ("model", "result"),
    [
        (None, T),
        ("gemini-2.5-flash", T),
        ("gemini-3-flash-preview", ALL),
        ("gemini-4-pro", ALL),
        ("gemini-flash-latest", T),
        ("gemma-3", T),
    ],
)
def test_functions_of_gemini_give_files_from_the_third_generation_on(
    model: str | None, result: frozenset[Modality]
) -> None:
    found = known("gemini", model)
    assert (found.user, found.tool_result) == (ALL, result)


def test_ollama_takes_pictures_of_the_user_only() -> None:
    for model in (None, "qwen3", "hf.co/acme/model:Q4"):
        found = known("ollama", model)
        assert (found.user, found.tool_result) == (TI, T)


@pytest.mark.parametrize(
    ("model", "user", "result"),
    [
        (None, TID, TID),
        ("anthropic.claude-instant-v1", TD, T),
        ("us.anthropic.claude-haiku-4-5-20251001-v1:0", TID, TID),
        ("anthropic.claude-3-haiku-20240307-v1:0", TID, TID),
        ("us.amazon.nova-2-lite-v1:0", TIDV, TIDV),
        ("amazon.nova-micro-v1:0", T, T),
        ("amazon.titan-text-express-v1", TD, T),
        ("us.meta.llama3-2-90b-instruct-v1:0", TID, T),
        ("us.meta.llama3-3-70b-instruct-v1:0", TD, T),
        ("mistral.pixtral-large-2502-v1:0", TID, T),
        ("mistral.mistral-large-2407-v1:0", TD, T),
        ("qwen.qwen3-vl-235b-a22b", TI, T),
        ("deepseek.r1-v1:0", T, T),
        ("writer.palmyra-x5-v1:0", T, T),
    ],
)
def test_models_on_bedrock_differ_by_vendor(
    model: str | None, user: frozenset[Modality], result: frozenset[Modality]
) -> None:
    found = known("bedrock-converse", model)
    assert (found.user, found.tool_result) == (user, result)


def test_every_api_says_what_it_takes_of_models_that_nobody_listed() -> None:
    for api in FOLDERS:
        assert known(api, "model-that-nobody-listed").row == f"{api} *"


def test_limits_are_those_of_the_kind_of_document() -> None:
    claude = known("anthropic-messages", "claude-sonnet-5")
    # 5 MB of base64 an image; 32 MB of it a request.
    assert claude.largest("image") == 5 * 2**20 * 3 // 4
    assert claude.largest("document") == 32 * 2**20 * 3 // 4
    assert claude.largest("text") == 24 * 2**20
    nova = known("bedrock-converse", "amazon.nova-pro-v1:0")
    assert nova.largest("image") == 3.75 * 2**20
    assert nova.largest("document") == 4.5 * 2**20


@pytest.mark.parametrize("api", [api for api in FOLDERS if api != "ollama"])
def test_a_text_that_no_request_could_hold_does_not_go(api: str) -> None:
    limit = known(api, None).largest("text")
    assert limit is not None
    assert limit < LARGEST


def test_what_comes_with_onrecord_has_the_shape_that_a_file_must_have() -> None:
    check_tables(bundled(), tuple(FOLDERS))
    assert set(bundled()) == set(FOLDERS)


def test_no_key_that_comes_with_onrecord_could_be_the_id_of_a_model() -> None:
    """Else who names a model exactly would change an entry for many."""
    keys = [key for table in bundled().values() for key in table["models"]]
    assert [key for key in keys if "*" not in key and " " not in key] == []


def test_of_each_pattern_there_is_a_model() -> None:
    """A pattern that a longer one hides altogether would be no entry at all."""
    for api, table in bundled().items():
        for entry in entries_in(api, table, {}):
            for pattern in entry.patterns:
                model = pattern.text.replace("*", "q")
                assert known(api, model).row == f"{api} {pattern.text}", model


def test_the_table_stands_where_the_digest_of_a_recipe_covers_it() -> None:
    root = Path(rendering.__file__).parents[2]
    covered = {path for source in rendering._SOURCES for path in root.glob(source)}  # pyright: ignore[reportPrivateUsage] - what it reads is asked
    for name in ("capabilities.toml", "capabilities.py", "documents.py"):
        assert root / "projections" / "apis" / name in covered
