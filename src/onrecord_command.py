"""The program `onrecord` from its first moment: what may happen while onrecord itself is imported.

It lies beside the package, because importing anything of the package runs all of `onrecord` first.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType
from typing import Final

_INTERRUPTED: Final = 130
"""The exit code of a program that Ctrl-C ended."""


def main() -> None:
    """Import the command line and run it; Ctrl-C and a bad setting end the import without a traceback."""
    _open_closed_streams()
    waiting = signal.getsignal(signal.SIGINT)
    if waiting is signal.default_int_handler:  # Otherwise it is ignored, as in a background job.
        signal.signal(signal.SIGINT, _end)
    try:
        from onrecord.adapters.cli import commands, main
    except ValueError as error:
        if not _is_onrecords(error):
            raise
        print(f"onrecord: {error}", file=sys.stderr)
        sys.exit(1)
    finally:
        signal.signal(signal.SIGINT, waiting)
    del commands  # Imported above, so that nothing large is left to import.
    main()


def _open_closed_streams() -> None:
    """Open those of the standard streams that are closed (`onrecord … >&-`): they lead nowhere.

    The next file that is opened would have their number, and be written into.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, os.fdopen(nowhere, mode, encoding="utf-8"))


def _end(number: int, frame: FrameType | None) -> None:
    """End at once: nothing is open yet, and an import may swallow an exception."""
    os._exit(_INTERRUPTED)


def _is_onrecords(error: ValueError) -> bool:
    """Whether it is an error of onrecord's own; `onrecord` was not imported, but its errors were."""
    errors = sys.modules.get("onrecord.domain.errors")
    return errors is not None and isinstance(error, errors.OnrecordError)
