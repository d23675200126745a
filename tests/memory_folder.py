"""Where tests write: in memory where a machine has much of it, else where its temporary files are.

No test cuts the power, and a process that is killed loses nothing that it had handed to the system: what a
disk makes durable shows in no result, and takes longer than most tests.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Final

MEMORY: Final = Path("/dev/shm")
_MEASURES: Final = Path("/proc/meminfo")
_ROOM: Final = 8 << 30
"""Bytes: what the servers and folders of several workers take, and as much again."""


def write_in_memory() -> None:
    """Let this process and its children write there, unless TMPDIR says where or there is little room."""
    if "TMPDIR" in os.environ or _room() < _ROOM:
        return
    os.environ["TMPDIR"] = str(MEMORY)
    tempfile.tempdir = None


def _room() -> int:
    """Return the bytes that may be written there: none without Linux, or without the rights."""
    if not os.access(MEMORY, os.W_OK | os.X_OK):
        return 0
    available = re.search(r"^MemAvailable: +(\d+) kB$", _MEASURES.read_text("ascii"), re.MULTILINE)
    return min(int(available[1]) << 10, shutil.disk_usage(MEMORY).free) if available else 0
