"""A program that runs tools without leases, and may be killed by one of them.

Its arguments: the store's URL, a file in which each call leaves a line, the number of the call that
kills the process (0: none does), and `parallel` or `in-order`.
"""

import os
import signal
import sys
from pathlib import Path

import onrecord


def main(url: str, file: Path, fatal: int, way: str) -> None:
    def leave(number: int) -> str:
        with file.open("a", encoding="utf-8") as lines:
            lines.write(f"begun {number}\n")
        if number == fatal:
            if way == "parallel":
                while len(recorded()) < fatal - 1:
                    pass
            os.kill(os.getpid(), signal.SIGKILL)
        with file.open("a", encoding="utf-8") as lines:
            lines.write(f"done {number}\n")
        return f"result {number}"

    with onrecord.connect(url) as store:
        chat = store.conversation("support/4711")

        def recorded() -> list[str]:
            return [each.type for each in chat.log.read() if each.type == "tool_result.recorded"]

        onrecord.ToolRunner(chat, [leave], parallel=way == "parallel", lease=None).run()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
