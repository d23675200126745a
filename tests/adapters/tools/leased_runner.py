"""A program that runs the tools of a conversation under a lease, and may die amid a call.

Its arguments: the store's URL, a file in which each call leaves a line, the lease in seconds, `dies`,
`waits` or `runs`, and `repeatable`, `approved` or `plain`.
"""

import os
import signal
import sys
from pathlib import Path

import onrecord
from onrecord.adapters.conversation import open_calls

# No test waits for what a slow disk may take.
open_calls.GRACE = 0


def main(url: str, file: Path, lease: float, way: str, kind: str) -> None:
    def leave(number: int) -> str:
        with file.open("a", encoding="utf-8") as lines:
            lines.write(f"begun {number}\n")
        if way == "dies":
            os.kill(os.getpid(), signal.SIGKILL)
        if way == "waits":
            sys.stdin.read()
        return f"result {number}"

    tool = onrecord.tool(leave, needs_approval=kind == "approved", repeatable=kind == "repeatable")
    with onrecord.connect(url, actor="runtime") as store:
        runner = onrecord.ToolRunner(store.conversation("support/4711"), [tool], lease=lease)
        runs = runner.run()
    print(len(runs), len(runner.waiting))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), float(sys.argv[3]), sys.argv[4], sys.argv[5])
