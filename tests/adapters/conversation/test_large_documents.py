"""Documents of any size are read from their files in pieces, never whole."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import onrecord

PROGRAM = """
import resource, sys
from pathlib import Path
import onrecord

chat = onrecord.connect(f"sqlite:///{sys.argv[1]}/talks.db").conversation("support/4711")
chat.user("Hello")
chat.tool_result("call_1", {"small": b"%PDF"})
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
chat.tool_result("call_2", {"results": [{"file": Path(sys.argv[1]) / "large.pdf"}]})
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
MIB = 1024 * 1024


def kilobytes_more(folder: Path, size: int) -> int:
    """How much the memory of a process grew that recorded a result with a file of some size."""
    with (folder / "large.pdf").open("wb") as file:
        file.write(b"%PDF-1.7")
        file.truncate(size)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(folder)], capture_output=True, text=True, check=True
    )
    with onrecord.connect(f"sqlite:///{folder}/talks.db") as store:
        chat = store.conversation("support/4711")
        held = chat.documents()[-1]
        assert held.blob is not None
        assert (held.blob.size, held.document.media_type) == (size, "application/pdf")
    return int(done.stdout)


def test_a_large_file_is_stored_in_pieces_and_never_whole_in_memory(tmp_path: Path) -> None:
    assert kilobytes_more(tmp_path, 200 * MIB) < 32 * 1024


@pytest.mark.soak
def test_a_file_of_a_gibibyte_takes_no_more_memory(tmp_path: Path) -> None:
    assert kilobytes_more(tmp_path, 1024 * MIB) < 32 * 1024
