"""A child that is forked while threads record finds nothing locked for ever."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.patience import PATIENCE

PROGRAM = """
import os, threading, time
import onrecord
from onrecord.domain.content import Value

def unbuilt(kind=Value):
    for sub in kind.__subclasses__():
        yield from [] if sub.__pydantic_complete__ else [sub]
        yield from unbuilt(sub)

assert list(unbuilt()), "nothing is built at import"
child = os.fork()
if child == 0:
    os._exit(len(list(unbuilt())))
_, status = os.waitpid(child, 0)
print(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_child_finds_every_model_built() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM],
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE,
    )
    assert done.stdout.strip() == "0"
