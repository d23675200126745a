"""A disk of a few megabytes, in memory, that can be filled and enlarged. Mounting it takes rights."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True, slots=True)
class SmallDisk:
    """Where it is mounted."""

    folder: Path

    def enlarge(self, megabytes: int) -> None:
        """Give it another size."""
        size = f"remount,size={megabytes}m"
        subprocess.run(["mount", "-o", size, str(self.folder)], check=True)


@contextmanager
def small_disk(megabytes: int) -> Generator[SmallDisk]:
    """Mount a disk; the test is skipped where that is not allowed."""
    folder = Path(tempfile.mkdtemp(prefix="onrecord-disk-"))
    size = f"size={megabytes}m"
    mounting = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", size, "onrecord", str(folder)],
        capture_output=True,
        check=False,
    )
    if mounting.returncode != 0:
        folder.rmdir()
        pytest.skip("a disk that is full has to be mounted, which takes CAP_SYS_ADMIN")
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
        folder.rmdir()
