"""The shape of entries that say what models take, and what is said of one that has another."""

from __future__ import annotations

import tomllib

import pytest

from onrecord.domain.errors import InvalidInput
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.api import FOLDERS
from onrecord.projections.apis.capabilities import Told, check_tables, laid_over, read_as


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "[gemini.models.a]\nid = 'b'\npattern = 'c'",
            "gemini.models.a: must specify at most one of `id` or `pattern`",
        ),
        (
            "[gemini.models.a]\npattern = 'c*'\naliases = ['d']",
            "gemini.models.a: a pattern cannot declare aliases",
        ),
        (
            "[gemini.models.'a*']\naliases = ['d']",
            "gemini.models.a*: a pattern cannot declare aliases",
        ),
        ("[gemini.models.a]\nid = 5", "gemini.models.a.id: is no text, or a blank one"),
        (
            "[gemini.models.a]\nid = ['a', 'b']",
            "gemini.models.a.id: is one text: use `aliases` for other names of the model",
        ),
        (
            "[gemini.models.a]\npattern = ['a*', ' ']",
            "gemini.models.a.pattern: is no text, or a blank one",
        ),
        ("[gemini.models.a]\naliases = [1]", "gemini.models.a.aliases: is no text, or a blank one"),
        (
            "[gemini.models.a]\nuser = ['text', 'smell']",
            "gemini.models.a.user.1: Input should be 'text', 'image', 'document', 'audio' or 'video'",
        ),
        ("[gemini]\nuser = 'text'", "gemini.user: must be a list"),
        ("[gemini]\ncache = 'yes'", "gemini.cache: Input should be a valid boolean"),
        ("[gemini]\ncache = 1", "gemini.cache: Input should be a valid boolean"),
        (
            "[gemini]\ncontext_tokens = true",
            "gemini.context_tokens: Input should be a valid integer",
        ),
        ("[gemini]\ncontext_tokens = 0", "gemini.context_tokens: Input should be greater than 0"),
        (
            "[gemini]\ncontext_tokens = 1979-05-27",
            "gemini.context_tokens: Input should be a valid integer",
        ),
        (
            "[gemini.document_bytes]\nimages = 5",
            "gemini.document_bytes.images.[key]: Input should be 'text', 'image', 'document', 'audio' or 'video'",
        ),
        (
            "[gemini]\nsmells = true",
            "gemini.smells: is not one of user, tool_result, document_bytes, reasoning, signatures, cache, parallel_calls, context_tokens, output_tokens, models",
        ),
        (
            "[gemini.models.a]\nids = ['x']",
            "gemini.models.a.ids: is not one of user, tool_result, document_bytes, reasoning, signatures, cache, parallel_calls, context_tokens, output_tokens, id, pattern, aliases",
        ),
        (
            "[gemini.house]\nuser = ['text']",
            "gemini.house: is not one of user, tool_result, document_bytes, reasoning, signatures, cache, parallel_calls, context_tokens, output_tokens, models",
        ),
        ("[gemini]\nid = 'x'", "gemini.id: is not one of user"),
        ("[gemini]\nmodels = 5", "gemini.models: is no table"),
        ("[gemini.models]\na = 5", "gemini.models.a: is no table"),
        ("gemini = 5", "gemini: is no table"),
        ("[germini]", "germini: is no API that Onrecord speaks"),
        (
            "[gemini.models.a]\n[gemini.models.b]\naliases = ['A']",
            "gemini.models.b: another entry is for 'a'",
        ),
        (
            "[gemini.models.'a*']\n[gemini.models.b]\npattern = 'a*'",
            "gemini.models.b: another entry is for 'a*'",
        ),
    ],
)
def test_what_has_not_the_shape_is_refused_with_the_entry_and_the_reason(
    text: str, why: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        check_tables(tomllib.loads(text), tuple(FOLDERS))
    assert str(refused.value).startswith(why)


def test_what_is_not_told_is_as_little_as_any_model_takes() -> None:
    told = read_as(Told, "toy", {})
    assert (told.user, told.tool_result, told.document_bytes) == (("text",), ("text",), {})


def test_mappings_join_lists_and_scalars_are_replaced() -> None:
    under: JsonObject = {"user": ["text", "image"], "document_bytes": {"image": 1, "audio": 2}}
    over: JsonObject = {"user": ["audio"], "document_bytes": {"image": 3}, "cache": True}
    joined: JsonObject = {
        "user": ["audio"],
        "document_bytes": {"image": 3, "audio": 2},
        "cache": True,
    }
    assert laid_over(under, over) == joined
    assert under["document_bytes"] == {"image": 1, "audio": 2}
