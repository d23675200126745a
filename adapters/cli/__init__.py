"""The `onrecord` command: commands.py says what there is, the other files how each one looks."""

from __future__ import annotations

import sys
from io import TextIOWrapper
from typing import cast

from onrecord.domain.errors import OnrecordError


def main() -> None:
    """Run the command line: exit code 0, 1 for an error told in a line, 2 for wrong usage."""
    from onrecord.adapters.cli import diagnostics, output
    from onrecord.adapters.cli.commands.commands import app

    # What the terminal cannot show is escaped; JSON and exports are bytes, and not touched.
    cast("TextIOWrapper", sys.stdout).reconfigure(errors="backslashreplace")
    diagnostics.install()
    try:
        app()
    except OnrecordError as exc:
        output.told(f"onrecord: {exc}")
        sys.exit(1)
    except KeyboardInterrupt:  # Before the command had begun; the program itself sees to the rest.
        sys.exit(130)
