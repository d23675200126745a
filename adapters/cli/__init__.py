"""The `onrecord` command: a file a subject, with the help, the arguments and the work of its commands.

Nothing is imported at the top of these files that only one command needs: `--help` imports all.
"""

from __future__ import annotations

import logging
import sys
import traceback
import warnings
from io import TextIOWrapper
from types import TracebackType
from typing import TextIO, cast

from onrecord.adapters.presentation.control_characters import escaped_lines
from onrecord.adapters.terminal import output
from onrecord.domain.errors import OnrecordError


def main() -> None:
    """Run the command line: exit code 0, 1 for an error told in a line, 2 for wrong usage."""
    from onrecord.adapters.cli.commands import app

    # What the terminal cannot show is escaped; JSON and exports are bytes, and not touched.
    cast("TextIOWrapper", sys.stdout).reconfigure(errors="backslashreplace")
    escape_diagnostics()
    try:
        app()
    except OnrecordError as exc:
        output.note(f"onrecord: {exc}")
        sys.exit(1)
    except KeyboardInterrupt:  # Before the command had begun; the program itself sees to the rest.
        sys.exit(130)


def escape_diagnostics() -> None:
    """Let this process escape the warnings, log records and tracebacks that Python writes.

    They may quote a key, a path or a server's answer, and Python writes them as they are.
    """
    warnings.showwarning = _show_warning
    sys.excepthook = _show_traceback
    # Records that no handler takes: a command installs none, but `onrecord worker`.
    logging.lastResort = _EscapingHandler(logging.WARNING)


class _EscapingHandler(logging.Handler):
    """Writes the records of the log to standard error, each as lines without controls."""

    def emit(self, record: logging.LogRecord) -> None:
        print(escaped_lines(self.format(record)), file=sys.stderr)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    text = warnings.formatwarning(message, category, filename, lineno, line)
    print(escaped_lines(text), end="", file=file or sys.stderr)


def _show_traceback(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    if issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)
        return
    text = "".join(traceback.format_exception(kind, error, trace))
    print(escaped_lines(text), end="", file=sys.stderr)
