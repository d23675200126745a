"""The browser of the tests: Debian's Chromium, or any that is named; nothing is downloaded."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import Final

from tests.patience import PATIENCE

NAMES: Final = ("chromium", "chromium-browser", "google-chrome")
MISSING: Final = (
    "no Chromium is found: apt-get install --no-install-recommends chromium fonts-dejavu-core, "
    "or name one in ONRECORD_CHROMIUM"
)
ARGUMENTS: Final = (
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--font-render-hinting=none",
)


def chromium() -> str | None:
    """Return the program of a Chromium: `$ONRECORD_CHROMIUM`, else the first on PATH that runs.

    FileNotFoundError where the one that is named is not there.
    """
    named = os.environ.get("ONRECORD_CHROMIUM")
    if not named:
        return next(filter(_runs, filter(None, map(shutil.which, NAMES))), None)
    if shutil.which(named) is None:
        raise FileNotFoundError(f"ONRECORD_CHROMIUM names {named}, and no such program is here")
    return named


def _runs(program: str) -> bool:
    """Whether a program runs: Ubuntu's package of that name only asks for another one."""
    asked = subprocess.run(
        (program, "--version"), check=False, capture_output=True, timeout=PATIENCE
    )
    return asked.returncode == 0
