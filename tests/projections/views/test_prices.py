"""What tokens cost: by the caller's own file, exactly, or not at all."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from onrecord.adapters.settings import prices_given
from onrecord.domain.errors import InvalidInput
from onrecord.projections.views.usage import ModelUsage, Price, cost_of

FILE = """
[models."claude-sonnet-*"]
input = 3
output = 15
cached_input = 0.30
cache_write = 3.75

[models.gpt-6]
aliases = ["gpt-6-latest"]
input = 0.1
output = 0.7

[models."gpt-*"]
input = 1
output = 1
"""


def used(
    model: str | None, taken: int, given: int, *, cached: int = 0, written: int = 0
) -> ModelUsage:
    return ModelUsage(
        day=None,
        api="anthropic-messages",
        model=model,
        responses=1,
        input_tokens=taken,
        output_tokens=given,
        cached_tokens=cached,
        cache_write_tokens=written,
        reasoning_tokens=0,
    )


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("ONRECORD_PRICES", raising=False)
    path = tmp_path / "prices.toml"
    path.write_text(FILE)
    return path


def test_each_kind_of_tokens_costs_what_the_file_says(file: Path) -> None:
    usage = used("claude-sonnet-5", 1_000_000, 100_000, cached=500_000, written=100_000)
    told = Decimal("0.4") * 3 + Decimal("0.1") * 15 + Decimal("0.15") + Decimal("0.375")
    assert cost_of(usage, prices_given(file)) == told == Decimal("3.225")


def test_cached_tokens_without_a_price_cost_as_others(file: Path) -> None:
    prices = prices_given(file)
    alike = cost_of(used("gpt-6", 300, 7, cached=200, written=50), prices)
    assert alike == cost_of(used("gpt-6", 300, 7), prices) == Decimal("0.0000349")


def test_costs_are_exact(file: Path) -> None:
    assert cost_of(used("gpt-6", 3, 0), prices_given(file)) == Decimal("0.0000003")


@pytest.mark.parametrize(
    ("model", "price"),
    [
        ("gpt-6", Decimal("0.1")),
        ("GPT-6-latest", Decimal("0.1")),
        ("openai/gpt-6", Decimal("0.1")),
        ("gpt-5.1", Decimal(1)),
        ("eu.anthropic.claude-sonnet-5-v1:0", Decimal(3)),
        ("claude-sonnet-5@20260101", Decimal(3)),
    ],
)
def test_a_model_is_found_by_any_of_its_names(file: Path, model: str, price: Decimal) -> None:
    found = prices_given(file).of(model)
    assert isinstance(found, Price)
    assert found.input == price


@pytest.mark.parametrize("model", ["llama-4", "", None])
def test_a_model_without_a_price_has_no_cost(file: Path, model: str | None) -> None:
    assert cost_of(used(model, 5, 5), prices_given(file)) is None


def test_what_was_counted_beside_the_input_costs_no_less_than_nothing(file: Path) -> None:
    cost = cost_of(used("claude-sonnet-5", 10, 0, cached=1_000_000), prices_given(file))
    assert cost == Decimal("0.3")


def test_the_environment_names_the_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert prices_given(None).of("gpt-6") is None
    monkeypatch.setenv("ONRECORD_PRICES", str(file))
    assert prices_given(None).of("gpt-6") is not None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[models.a]\ninput = 1", "a.output: Field required"),
        ("[models.a]\ninput = 1\noutput = -1", "a.output: .* greater than or equal to 0"),
        ("[models.a]\ninput = 1\noutput = nan", "a.output: .* finite"),
        ('[models.a]\ninput = 1\noutput = "much"', "a.output: .* decimal"),
        ("[models.a]\ninput = 1\noutput = 1\nthinking = 1", "a.thinking: is not one of input"),
        ("[models]\na = 1", "models.a: is no table"),
        ("models = 1", "models: is no table"),
        ("[gpt-6]\ninput = 1\noutput = 1", "gpt-6: prices stand by model"),
        ('[models.a]\nid = "b"\npattern = "c*"', "at most one of `id` or `pattern`"),
        ("[models.a", "is no TOML"),
    ],
)
def test_a_file_that_says_what_it_may_not_is_refused(file: Path, text: str, told: str) -> None:
    file.write_text(text)
    with pytest.raises(InvalidInput, match=told) as refused:
        prices_given(file)
    assert str(refused.value).startswith(str(file))


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be read"):
        prices_given(tmp_path / "missing.toml")
