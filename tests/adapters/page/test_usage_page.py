"""Usage on the page: the plot of it, and the numbers."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import onrecord
from onrecord.adapters.page.lists.usage import whole_days
from onrecord.adapters.page.lists.usage_plot import HEIGHT, MOST_DAYS, Measure, Plot, usage_plot
from onrecord.projections.views.usage import ModelUsage
from tests.adapters.page.test_proof import words
from tests.adapters.service.served import served
from tests.adapters.views.used import ended

LAST = date(2026, 11, 29)


def used(days_ago: int = 0, model: str | None = "claude", **counts: int) -> ModelUsage:
    given: dict[str, Any] = {
        "responses": 1,
        "input_tokens": 900,
        "output_tokens": 100,
        "cached_tokens": 400,
        "cache_write_tokens": 0,
        "reasoning_tokens": 0,
    }
    return ModelUsage(LAST - timedelta(days=days_ago), "gemini", model, **{**given, **counts})


def plotted(*entries: ModelUsage, bars: Measure = "tokens") -> Plot:
    return usage_plot(
        entries, bars, lambda entry: Decimal("0.25") if entry.model == "claude" else None
    )


def test_a_bar_has_what_was_read_what_came_from_a_cache_and_what_was_written() -> None:
    (bar,) = plotted(used()).bars
    assert [segment.title for segment in bar.segments] == [
        "2026-11-29, read: 500 tokens",
        "2026-11-29, read from a cache: 400 tokens",
        "2026-11-29, written: 100 tokens",
    ]
    low, middle, high = bar.segments
    assert (low.y + low.height, middle.y + middle.height) == (HEIGHT, low.y)
    assert high.y + high.height == middle.y
    assert low.height == pytest.approx(5 * high.height, abs=0.1)


def test_days_without_usage_have_a_place_and_no_bar() -> None:
    plot = plotted(used(), used(3))
    assert [len(bar.segments) for bar in plot.bars] == [3, 0, 0, 3]
    assert [label.day for label in plot.labels] == [bar.day for bar in plot.bars]
    assert all(bar.x >= 0 and bar.x + bar.width <= 100 for bar in plot.bars)
    assert plotted().bars == ()


def test_models_beyond_the_sixth_are_one_series() -> None:
    models = [f"model-{number}" for number in range(9)]
    plot = plotted(
        *(used(model=name, input_tokens=n) for n, name in enumerate(models)), bars="models"
    )
    assert plot.series == ("model-4", "model-5", "model-6", "model-7", "model-8", "others")
    assert plotted(used(model=None), bars="models").series == ("no model named",)


def test_cost_is_of_models_with_a_price_alone() -> None:
    plot = plotted(used(), used(model="llama"), bars="cost")
    assert plot.series == ("claude",)
    assert [line.label for line in plot.lines] == ["$0.1", "$0.2", "$0.3", "$0.4"]
    assert plot.bars[0].segments[0].title == "2026-11-29, claude: $0.2500"


def test_each_day_is_shown_whole_and_older_ones_are_on_the_next_page() -> None:
    entries = [used(0), used(1), used(1, "other"), used(2)]
    assert whole_days(entries, has_more=False) == (tuple(entries), None)
    assert whole_days(entries, has_more=True) == (tuple(entries[:3]), entries[1].day)
    long = [used(number) for number in range(MOST_DAYS + 5)]
    kept, older = whole_days(long, has_more=False)
    assert (len(kept), older) == (MOST_DAYS, kept[-1].day)
    assert whole_days([], has_more=False) == ((), None)


def test_the_page_has_the_plot_and_the_same_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"sqlite:///{tmp_path}/talks.db"
    with onrecord.connect(url) as store:
        store.conversation("a").log.append(ended("claude-sonnet-5", 1_000, 234))
    prices = tmp_path / "prices.toml"
    prices.write_text('[models."claude-*"]\ninput = 3\noutput = 15\n')
    monkeypatch.setenv("ONRECORD_PRICES", str(prices))
    with served(url) as page:
        answer = page.ask("GET", "/usage?model=&since=&until=2999-01-01")
        text = words(answer)
        assert "read: 1,000 tokens" in text
        assert "written: 234 tokens" in text
        assert "$0.0065" in text
        assert b"style=" not in answer.data
        assert "claude-sonnet-5: $0.0065" in words(page.ask("GET", "/usage?bars=cost"))
        assert "No usage matches." in words(page.ask("GET", "/usage?model=none"))
        prices.write_text("x")
        assert "No cost is shown:" in words(page.ask("GET", "/usage"))
        assert page.ask("GET", "/usage?bars=other").status == 422
