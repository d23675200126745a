"""docs/redis.md does what it says, with the figures that the code has."""

from pathlib import Path

import pytest

from onrecord.adapters.redis import connection, hot_windows, relay, tails
from onrecord.adapters.redis import connection as breaker
from onrecord.adapters.redis import connection as pace
from tests.shown_program import run_program
from tests.test_docs import ROOT

PAGE = ROOT / "docs" / "redis.md"


def test_the_page_does_what_it_says(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ONRECORD_REDIS", url)
    run_program(PAGE)


@pytest.mark.parametrize(
    "told",
    [
        f"{hot_windows.KEPT_SECONDS // 60} minutes after the conversation's first one was kept",
        f"{relay.KEPT_SECONDS // 60} minutes after the last relay was at work",
        f"the last {relay.LENGTH:,} events of each shard",
        f"Requests beyond {hot_windows.LARGEST >> 20} MiB",
        f"events beyond {relay.LARGEST >> 10} KiB",
        f"waited for {connection.ANSWER_SECONDS} seconds",
        f"waited for {connection.CONNECT_SECONDS} seconds",
        f"in a row took over {pace.LATE_SECONDS} seconds",
        f"has answered for {breaker.BACK_OFF:.0f} seconds again",
        f"left alone for {breaker.BACK_OFF:.0f} seconds",
        f"after {relay.LEASE_MILLISECONDS // 1000} seconds readers",
        f"believed for {tails.LOOK_SECONDS:.0f} seconds",
        {8: "at most eight requests"}[hot_windows.MOST],
    ],
)
def test_the_page_tells_the_figures_that_hold(told: str) -> None:
    assert told in PAGE.read_text(encoding="utf-8").replace("\n", " ")
