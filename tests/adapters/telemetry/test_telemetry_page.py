"""docs/telemetry.md does what it says."""

from pathlib import Path

import pytest
from opentelemetry.util._once import Once

from tests.shown_program import run_program

PAGE = Path(__file__).parents[3] / "docs" / "telemetry.md"


def test_the_page_of_telemetry_does_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    # A program sets its provider once; this one takes it away again.
    monkeypatch.setattr("opentelemetry.trace._TRACER_PROVIDER", None)
    monkeypatch.setattr("opentelemetry.trace._TRACER_PROVIDER_SET_ONCE", Once())
    run_program(PAGE)["provider"].shutdown()
