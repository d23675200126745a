"""docs/redis.md does what it says, with the figures that the code has."""

from pathlib import Path

import pytest

from onrecord.adapters.redis import connection, relay, tails
from onrecord.adapters.redis import connection as breaker
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
        f"{relay.KEPT_SECONDS // 60} minutes after a worker last copied",
        f"the last {relay.LENGTH:,} events of each shard",
        f"Events of more than {relay.LARGEST >> 10} KiB",
        f"Onrecord waits {connection.ANSWER_SECONDS} seconds",
        f"may take longer than {connection.CONNECT_SECONDS} seconds",
        f"it has worked again for {breaker.BACK_OFF:.0f} seconds",
        f"is not used for {breaker.BACK_OFF:.0f} seconds",
        f"after {relay.LEASE_MILLISECONDS // 1000} seconds readers",
        f"believed for {tails.LOOK_SECONDS:.0f} seconds",
    ],
)
def test_the_page_tells_the_figures_that_hold(told: str) -> None:
    assert told in " ".join(PAGE.read_text(encoding="utf-8").split())
