"""The tests of the OpenAI Agents SDK pass with our session in the place of its own `SQLiteSession`."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.frameworks.upstream import run_tests, source_of

PLUGIN = Path(__file__).parent / "agents_plugin.py"
SESSION = ("tests/memory/test_session.py", "tests/memory/test_session_limit.py")
COMPACTION = (
    "tests/memory/test_compaction_suffix.py",
    "tests/memory/test_openai_responses_compaction_session.py",
    "tests/memory/test_compaction_model_visibility.py",
)
# Each of these opens the SQLite file or the connections of the SDK's own session by itself.
INTERNAL = (
    *("worker_thread", "retired_connections", "corrupt", "file_lock", "failed_add_items"),
    *("failed_clear_session", "failed_pop_item", "rollback_failure", "close_retries"),
    *("post_commit", "closed_rejects", "settled_pop_failure", "settled_clear_failure"),
    *("rolls_back_failed_insert", "settles_before_newer", "preserves_original_tokens"),
)


@pytest.mark.parametrize(
    ("files", "passed", "excluded"),
    [(SESSION, 53, 18), (COMPACTION, 209, 12)],
    ids=["session", "compaction"],
)
def test_the_suites_of_the_sdk_pass(
    files: tuple[str, ...], passed: int, excluded: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(PLUGIN.parent), prepend=os.pathsep)
    names = " or ".join(INTERNAL)
    printed = run_tests(
        source_of("openai-agents"), "-p", PLUGIN.stem, "-k", f"not ({names})", *files
    )
    counts = dict(re.findall(r"(\d+) (\w+)", printed.splitlines()[-1]))
    counts = {kind: int(count) for count, kind in counts.items()}
    assert counts == {"passed": passed, "deselected": excluded}, printed[-4000:]
