"""The bench of ADK's sessions works, at its smallest. It says nothing here of how fast anything is."""

import json

import pytest

from tests.bench.__main__ import main


def test_a_session_is_measured_beside_each_service_of_adk(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["frameworks.adk", "--smallest"]) == 0
    lines = {line["name"]: line for line in map(json.loads, capsys.readouterr().out.splitlines())}
    for verb in ("append", "last"):
        for peer in ("sqlite.{}.sqlite", "sqlite.{}.database", "postgres.{}.database"):
            assert lines[f"frameworks.adk.{peer.format(verb)}"]["peer"]["median"] > 0
