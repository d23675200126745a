"""Processes whose every clock is faked, of the day and since the start, beside one that is right.

libfaketime fakes them below Python, so that SQLite and the waits for its locks see them as well.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import onrecord
from tests.patience import PATIENCE

LIBRARY = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)

pytestmark = pytest.mark.skipif(
    LIBRARY is None, reason="libfaketime is not installed (Debian: apt-get install libfaketime)"
)

WRITER = """
import sys, warnings
from pathlib import Path
import onrecord
warnings.simplefilter("ignore")
with onrecord.connect("sqlite:///" + sys.argv[1]) as store:
    conversation = store.conversation(sys.argv[2])
    for number in range(30):
        file = Path(sys.argv[1]).with_name(f"{sys.argv[2]} {number}.txt")
        file.write_text(f"document {number} of {sys.argv[2]}")
        conversation.user(f"prompt {number}", documents=[file])
        store.sweep(rewrite=False)
    print(len(list(conversation.events())))
"""

# What the clocks of a process show: https://github.com/wolfcw/libfaketime#readme.
CLOCKS = {"right": "+0", "ahead": "+30y x100", "behind": "-10y x0.1", "stepping": "-2d x5"}


def writer(path: Path, name: str) -> subprocess.Popen[str]:
    environment = os.environ | {"LD_PRELOAD": str(LIBRARY), "FAKETIME": CLOCKS[name]}
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, path, name],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_writers_of_four_clocks_write_and_sweep_one_file(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    with onrecord.connect(f"sqlite:///{path}") as store:
        store.conversation("first").user("Hello")
    writers = {name: writer(path, name) for name in CLOCKS}
    for name, process in writers.items():
        out, err = process.communicate(timeout=PATIENCE)
        assert out.split() == ["31"], f"{name}: {err}"
    with onrecord.connect(f"sqlite:///{path}") as store:
        assert store.verify().faults == ()
        for name in CLOCKS:
            conversation = store.conversation(name)
            blobs = [document.blob for document in conversation.documents()]
            texts = [conversation.blob(blob).decode() for blob in blobs if blob is not None]
            assert texts == [f"document {number} of {name}" for number in range(30)]
