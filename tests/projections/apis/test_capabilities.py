"""What models take: how an entry is found, what lies over what, and what is known of whom."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onrecord.domain.documents import Modality
from onrecord.domain.errors import InvalidInput, SchemaNewer
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.request_template import Recipe
from onrecord.projections.api import FOLDERS
from onrecord.projections.apis.capabilities import (
    Capabilities,
    CapabilityOverride,
    capabilities_of,
    rows_of,
)
from onrecord.projections.apis.model_names import Pattern
from onrecord.projections.apis.request import Options, options_of
from tests.search import examples


def kinds(*modalities: Modality) -> frozenset[Modality]:
    return frozenset(modalities)


T = kinds("text")
TI = kinds("text", "image")
TID = kinds("text", "image", "document")


def known(api: str, model: str | None = None, matrix: JsonObject | None = None) -> Capabilities:
    return capabilities_of(api, model, Options(api=api, matrix=matrix))


# -- how an entry is found -------------------------------------------------------------------------

OWN: JsonObject = {
    "user": ["text", "image"],
    "document_bytes": {"image": 10, "document": 20},
    "context_tokens": 7,
    "models": {
        "exact": {"aliases": ["alias-1", "Alias-2"], "context_tokens": 1},
        "called so": {"id": "spelled-out", "context_tokens": 2},
        "ex*": {"context_tokens": 3},
        "exac*": {"context_tokens": 4},
        "several": {"pattern": ["one-*", "two-*"], "context_tokens": 5},
        "e.act*": {"context_tokens": 6},
        "of-a-vendor": {"pattern": "acme/*", "context_tokens": 8},
    },
}


def toy(model: str | None) -> Capabilities:
    return known("toy", model, OWN)


@pytest.mark.parametrize(
    ("pattern", "name", "is_one"),
    [
        ("a*b*c*d", "a-b-c-d", True),
        ("a*b*c*d", "abcd", True),
        ("a*b*c*d", "a-c-b-d", False),
        ("*b*", "abc", True),
        ("a*", "ba", False),
        ("A.b", "a.b", True),
        ("a.b", "axb", False),
        ("v/a*", "a1", False),
        ("a*", "v/a1", False),
    ],
)
def test_a_star_is_any_text_and_all_else_is_itself(pattern: str, name: str, is_one: bool) -> None:
    assert Pattern(pattern).matches(name) is is_one


def test_the_exact_id_comes_before_any_pattern() -> None:
    assert toy("exact").context_tokens == 1
    assert toy("exact").row == "toy exact"


def test_an_alias_is_as_good_as_the_id() -> None:
    assert [toy(name).context_tokens for name in ("alias-1", "alias-2")] == [1, 1]
    assert toy("alias-1").row == "toy alias-1"


def test_an_entry_with_an_id_is_not_found_by_its_key() -> None:
    assert toy("spelled-out").context_tokens == 2
    assert toy("called so").row == "toy (called so not listed)"


def test_of_the_patterns_the_longest_that_matches_wins() -> None:
    assert (toy("exactly").context_tokens, toy("exactly").row) == (4, "toy exac*")
    assert toy("extra").context_tokens == 3


def test_a_dot_in_a_pattern_is_a_dot() -> None:
    assert toy("e.acting").context_tokens == 6
    assert toy("exacting").context_tokens == 4


def test_case_is_of_no_account() -> None:
    assert toy("EXACT").context_tokens == 1
    assert toy("Exactly").context_tokens == 4
    assert known("toy", "llama-9", {"models": {"Llama-*": {"cache": True}}}).cache


def test_an_entry_may_have_several_patterns_and_the_row_names_the_one_that_matched() -> None:
    assert toy("two-b").context_tokens == 5
    assert toy("two-b").row == "toy two-*"


def test_a_pattern_with_a_path_looks_at_the_path() -> None:
    assert toy("acme/anything").context_tokens == 8
    assert toy("anything").row == "toy (anything not listed)"


def test_a_model_that_no_entry_is_for_is_taken_to_read_texts_only() -> None:
    found = toy("unheard-of")
    assert found == Capabilities(row="toy (unheard-of not listed)")
    assert (found.user, found.tool_result) == (T, T)
    assert not (found.reasoning or found.signatures or found.cache or found.parallel_calls)
    limits = (found.context_tokens, found.output_tokens, found.largest("document"))
    assert limits == (None, None, None)


def test_so_is_every_model_of_an_api_that_nobody_listed() -> None:
    found = known("unheard-of", "gpt-5")
    assert found == Capabilities(row="unheard-of (not listed)")


def test_a_model_that_nobody_named_takes_what_its_api_says_of_all() -> None:
    for nobody in (None, ""):
        assert (toy(nobody).user, toy(nobody).context_tokens) == (TI, 7)
        assert toy(nobody).row == "toy (any model)"


# -- what lies over what ---------------------------------------------------------------------------


def test_an_entry_lies_over_its_api_and_not_over_a_wider_pattern() -> None:
    table: JsonObject = {
        "document_bytes": {"image": 10, "document": 20},
        "models": {
            "a*": {"reasoning": True},
            "ab*": {"user": ["audio"], "document_bytes": {"image": 1}},
        },
    }
    found = known("toy", "abc", table)
    assert (found.user, found.reasoning) == (frozenset({"audio"}), False)
    assert (found.largest("image"), found.largest("document")) == (1, 20)


def test_what_a_caller_says_of_an_api_lies_over_what_is_known_of_it() -> None:
    found = known("openai-chat", "gpt-4o", {"document_bytes": {"image": 1}})
    assert (found.largest("image"), found.largest("document")) == (1, 52_428_800)
    assert found.user == TID


def test_what_a_caller_says_under_the_same_key_lies_over_that_entry() -> None:
    found = known("openai-chat", "gpt-4o-mini", {"models": {"gpt-4o*": {"reasoning": True}}})
    assert (found.reasoning, found.output_tokens) == (True, 16_384)


def test_of_two_entries_for_one_name_the_callers_own_wins() -> None:
    own: JsonObject = {"models": {"mine": {"pattern": "gpt-4o*", "output_tokens": 1}}}
    assert known("openai-chat", "gpt-4o-mini", own).output_tokens == 1


def test_a_callers_wider_pattern_does_not_win_over_a_longer_one() -> None:
    own: JsonObject = {"models": {"gpt*": {"output_tokens": 1}}}
    assert known("openai-chat", "gpt-4o-mini", own).output_tokens == 16_384


def test_who_an_entrys_models_are_is_said_by_the_one_above_if_it_says_so() -> None:
    own: JsonObject = {"models": {"of Mistral": {"id": "house-model", "cache": False}}}
    assert known("openai-chat", "house-model", own).row == "openai-chat house-model"
    assert known("openai-chat", "mistral-large", own).row == "openai-chat *"


def test_what_a_call_says_wins_over_all() -> None:
    given = CapabilityOverride(user=("audio",), document_bytes=5)
    options = Options(api="toy", matrix=OWN, capabilities=given)
    found = capabilities_of("toy", "exact", options)
    assert (found.user, found.tool_result) == (frozenset({"audio"}), T)
    assert (found.largest("audio"), found.largest("text"), found.context_tokens) == (5, 5, 1)
    assert found.row == "toy exact, as given"


def test_a_call_may_say_that_results_hold_nothing_but_text() -> None:
    options = Options(capabilities=CapabilityOverride(tool_result=()))
    found = capabilities_of("anthropic-messages", "claude-sonnet-5", options)
    assert (found.user, found.tool_result) == (TID, frozenset())


@pytest.mark.parametrize("wrong", [0, -1, True, "5"])
def test_a_limit_that_a_call_says_is_a_number_of_bytes(wrong: Any) -> None:
    with pytest.raises(
        InvalidInput, match=r"^CapabilityOverride\.document_bytes: Input should be "
    ):
        CapabilityOverride(document_bytes=wrong)


@pytest.mark.parametrize(
    ("members", "why"),
    [
        ({"user": ["smell"]}, "CapabilityOverride.user.0: Input should be 'text', 'image', "),
        ({"tool_result": 5}, "CapabilityOverride.tool_result: must be a list"),
        ({"size": 5}, "CapabilityOverride.size: is not one of user, tool_result, document_bytes"),
    ],
)
def test_what_is_wrong_in_what_a_call_says_is_named(members: dict[str, Any], why: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        CapabilityOverride(**members)
    assert str(caught.value).startswith(why)
    assert "smell" not in str(caught.value)


def test_what_a_later_release_kept_of_a_call_is_an_error_of_its_recipe() -> None:
    later: JsonObject = {"capabilities": {"user": ["smell"]}}
    with pytest.raises(SchemaNewer, match="'capabilities'"):
        options_of(Recipe(api="toy", version=1, options=later, renderer=""))


def test_the_order_of_a_callers_entries_is_of_no_account() -> None:
    models: JsonObject = OWN["models"]
    turned = {**OWN, "models": dict(reversed(models.items()))}
    for model in ("exact", "alias-2", "exactly", "extra", "two-b", "acme/x", "none"):
        assert known("toy", model, turned) == toy(model)


def test_options_that_were_recorded_find_the_same() -> None:
    options = Options(api="toy", matrix=OWN, capabilities=CapabilityOverride(user=("text",)))
    again = options_of(Recipe(api="toy", version=1, options=options.plain(), renderer=""))
    assert again == options
    assert capabilities_of("toy", "exact", again) == capabilities_of("toy", "exact", options)


def test_what_is_found_cannot_be_changed() -> None:
    found = known("openai-chat", "gpt-4o")
    with pytest.raises(FrozenInstanceError):
        found.row = ""  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue] - so
    with pytest.raises(TypeError):
        found.document_bytes["image"] = 1  # type: ignore[index]  # pyright: ignore[reportIndexIssue] - so
    assert hash(found) == hash(known("openai-chat", "gpt-4o"))


@given(st.text(max_size=30), st.sampled_from([*FOLDERS, "toy"]))
@examples(200)
def test_any_name_finds_something_and_always_the_same(model: str, api: str) -> None:
    found = known(api, model)
    assert "text" in found.user and "text" in found.tool_result
    assert found == known(api, model)


def pickled(known_ones: Capabilities) -> Capabilities:
    again = pickle.loads(pickle.dumps(known_ones))
    assert isinstance(again, Capabilities)
    return again


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, pickled])
def test_capabilities_that_are_copied_or_pickled_are_the_same(
    again: Callable[[Capabilities], Capabilities],
) -> None:
    known_ones = known("anthropic-messages", "claude-sonnet-4-5")
    copied = again(known_ones)
    assert copied == known_ones
    assert type(copied.document_bytes) is type(known_ones.document_bytes)


@pytest.mark.parametrize(
    ("api", "name", "model"),
    [
        ("openai-chat", "gpt-4o-audio*", "gpt-4o-audio-preview"),
        ("anthropic-messages", "claude-sonnet-4-6*", "claude-sonnet-4-6-20990101"),
        ("anthropic-messages", "claude-sonnet-4-6-20990101", "claude-sonnet-4-6-20990101"),
        ("gemini", "gemini-3-pro*", "gemini-3-pro-preview"),
    ],
)
def test_an_entry_for_names_of_another_entry_changes_only_what_it_says(
    api: str, name: str, model: str
) -> None:
    before = known(api, model)
    after = known(api, model, {"models": {name: {"context_tokens": 9}}})
    assert after == replace(before, row=f"{api} {name}", key=name, context_tokens=9)
    assert before.context_tokens != 9


def test_each_name_of_an_entry_lies_over_what_held_for_that_name() -> None:
    names = ["gpt-4o-audio*", "deepseek-r*"]
    matrix = {"models": {"some": {"pattern": names, "output_tokens": 9}}}
    hears, reads = (
        known("openai-chat", name, matrix) for name in ("gpt-4o-audio-1", "deepseek-r1")
    )
    assert (hears.output_tokens, reads.output_tokens) == (9, 9)
    assert hears.user == {"text", "image", "audio"}
    assert reads.user == {"text"}
    assert rows_of("openai-chat", matrix)[1].key == "some"
