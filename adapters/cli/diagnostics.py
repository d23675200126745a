"""What Python itself writes to standard error: warnings, log records, tracebacks, all escaped.

They may quote a key, a path or a server's answer, and Python writes them as they are.
"""

from __future__ import annotations

import logging
import sys
import traceback
import warnings
from types import TracebackType
from typing import TextIO

from onrecord.adapters.cli import output


def install() -> None:
    """Let this process, which is the command's own, write them escaped."""
    warnings.showwarning = _show_warning
    sys.excepthook = _show_traceback
    # Records that no handler takes: a command installs none, but `onrecord worker`.
    logging.lastResort = _EscapingHandler(logging.WARNING)


class _EscapingHandler(logging.Handler):
    """Writes the records of the log to standard error, each as lines without controls."""

    def emit(self, record: logging.LogRecord) -> None:
        print(output.escaped_lines(self.format(record)), file=sys.stderr)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    told = warnings.formatwarning(message, category, filename, lineno, line)
    print(output.escaped_lines(told), end="", file=file or sys.stderr)


def _show_traceback(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    if issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)
        return
    told = "".join(traceback.format_exception(kind, error, trace))
    print(output.escaped_lines(told), end="", file=sys.stderr)
