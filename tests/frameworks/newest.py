"""Run `make frameworks` on the newest releases of the frameworks, where those are newer than the locked ones.

`python -m tests.frameworks.newest FOLDER` makes an environment in FOLDER with what the lock file pins, puts
the newest frameworks into it and says which they are. Tests that fail there are told and do not fail
the build: they say what a release changed. What cannot be installed or run does fail it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.newest import ROOT, environment

LOCK = ROOT / "requirements-frameworks.lock"
FRAMEWORKS = (
    "ag2",
    "agent-framework-core",
    "claude-agent-sdk",
    "google-adk",
    "langgraph-checkpoint",
    "openai-agents",
    "pydantic-ai-slim",
)


def main(folder: Path) -> int:
    """Return 0 where the tests pass, where some fail, and where no framework has a newer release."""
    newer = newer_releases()
    if not newer:
        print("No framework has a release newer than the locked one: `make frameworks` tests them.")
        return 0
    print(f"Testing with {', '.join(newer)}", flush=True)
    python = environment(folder, Path(sys.executable), LOCK)
    subprocess.run([python, "-m", "pip", "install", "--quiet", *newer], check=True)
    tests = ("-n", "2", "-p", "no:asyncio", "-rfE", "--continue-on-collection-errors")
    ended = subprocess.call([python, "-m", "pytest", *tests, "tests/frameworks"], cwd=ROOT)
    if ended == pytest.ExitCode.TESTS_FAILED:
        print(f"TESTS FAIL with {', '.join(newer)}: see above. The build does not fail for it.")
        return 0
    return ended


def newer_releases() -> list[str]:
    """Return `NAME==VERSION` of each framework that the index has a newer release of than is here."""
    asked = ("--dry-run", "--quiet", "--report", "-", "--no-deps", "--upgrade", *FRAMEWORKS)
    run = subprocess.run(
        [sys.executable, "-m", "pip", "install", *asked], check=True, stdout=subprocess.PIPE
    )
    found = [each["metadata"] for each in json.loads(run.stdout)["install"]]
    return [f"{each['name']}=={each['version']}" for each in found]


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
