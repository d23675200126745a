"""The tests of the Claude Agent SDK that take a session store pass with ours in the place of its own."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.frameworks.upstream import run_tests, source_of

PLUGIN = Path(__file__).parent / "claude_plugin.py"
WITH_A_STORE = tuple(
    f"tests/test_{name}.py"
    for name in (
        *("session_helpers_store", "session_import", "session_resume", "session_summary"),
        *("session_store_conformance", "transcript_mirror"),
    )
)
# Each of these sets or asks what only the SDK's own store has.
INTERNAL = (
    *("continue_picks_most_recent", "continue_skips_sidechain", "continue_tie_break"),
    "clear_helper",
)
# Each of these lets the event loop take a number of steps, in which no store of a disk has answered.
STEPS = (
    *("load_concurrency_is_bounded", "gap_fill_bounded_concurrency"),
    *("cancelled_after_mkdtemp", "eager_flush_mode_appends_per_frame"),
)


def test_the_suites_of_the_sdk_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(PLUGIN.parent), prepend=os.pathsep)
    # Our coroutines are asyncio's; the SDK has each of its tests for trio too.
    names = " or ".join(("trio", *INTERNAL, *STEPS))
    printed = run_tests(
        source_of("claude-agent-sdk"),
        *("-p", PLUGIN.stem, "-p", "no:asyncio", "-k", f"not ({names})"),
        *WITH_A_STORE,
    )
    found = re.findall(r"(\d+) (\w+)", printed.splitlines()[-1])
    counts = {kind: int(count) for count, kind in found}
    assert counts == {"passed": 198, "deselected": 157}, printed[-4000:]
