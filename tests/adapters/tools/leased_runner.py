"""A program that runs the tools of a conversation under a lease, and may die amid a call.

Its arguments: the store's URL, a file in which each call leaves a line, the lease in seconds or
`default`, `dies`, `waits` or `runs`, and `repeatable`, `approved` or `plain`.
"""

import os
import signal
import sys
from pathlib import Path

import onrecord


def main(url: str, file: Path, lease: str, way: str, kind: str) -> None:
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
        chat = store.conversation("support/4711")
        if lease == "default":
            runner = onrecord.ToolRunner(chat, [tool])
        else:
            runner = onrecord.ToolRunner(chat, [tool], lease=float(lease))
        runs = runner.run()
    print(len(runs), len(runner.waiting))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3], sys.argv[4], sys.argv[5])
