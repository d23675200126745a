"""The `hansard` command: commands.py says what there is, the other files how each one looks."""

from __future__ import annotations

import sys
from io import TextIOWrapper
from typing import cast

from hansard.domain.errors import HansardError


def main() -> None:
    """Run the command line: exit code 0, 1 for an error told in a line, 2 for wrong usage."""
    from hansard.adapters.cli.commands import app

    # What the terminal cannot show is escaped; JSON and exports are bytes, and not touched.
    cast("TextIOWrapper", sys.stdout).reconfigure(errors="backslashreplace")
    try:
        app()
    except HansardError as exc:
        print(f"hansard: {exc}", file=sys.stderr)
        sys.exit(1)
