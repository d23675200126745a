"""Figures of the tree: how many modules, how long, how they hang together, and what a turn runs through.

`python -m tests.figures` prints them, one a line; `--files` names the files of the turn as well.
"""

import ast
import io
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import anthropic
import httpx2

import onrecord
from tests.anthropic_wire import message, spelled, text
from tests.import_graph import FOLDERS, ROOT, modules, package_cycles

PROVIDERS = {"anthropic", "bedrock", "gemini", "ollama", "openai_chat", "openai_responses"}
"""Folders of APIs, and of databases below, drawn alike: their files may bear the same names."""
DATABASES = {"memory", "postgres", "sqlite", "redis", "eventsourcing"}


def main(arguments: list[str]) -> None:
    """Print all figures."""
    files = modules()
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in files}
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files)
    named = [path for path in files if path.name != "__init__.py"]
    folders = Counter(path.parent for path in named)
    fullest, most = folders.most_common(1)[0]
    lengths = sorted(function_lengths(trees))
    show("modules, without __init__", len(named))
    show("lines of source", lines)
    show("most modules in a folder", f"{most} ({fullest.relative_to(ROOT)})")
    show("flat in adapters/", folders[ROOT / "adapters"])
    show("flat in projections/", folders[ROOT / "projections"])
    show("package cycles", "; ".join(map(", ".join, package_cycles(trees))) or 0)
    show("file names used twice, outside the drawn tree", ", ".join(same_names(named)) or 0)
    show("functions", len(lengths))
    show("lines of a function, median", statistics.median(lengths))
    show("lines of a function, p90", statistics.quantiles(lengths, n=10)[-1])
    show("lines of a function, longest", lengths[-1])
    show("comments, % of lines", round(100 * sum(map(comments, files)) / lines, 2))
    show("import onrecord, ms (median of 11)", round(import_time()))
    phases = turn()
    show("files on the traced turn", len(set[str]().union(*phases.values())))
    for phase, touched in phases.items():
        show(f"  {phase}", len(touched))
        if "--files" in arguments:
            print(*(f"      {file}" for file in sorted(touched)), sep="\n")


def show(name: str, value: object) -> None:
    """Print one figure."""
    print(f"{name:52} {value}")


def same_names(files: list[Path]) -> list[str]:
    """Return the names of several files, but for those of the folders that are drawn alike."""
    plain = [path for path in files if not {path.parent.name} & (PROVIDERS | DATABASES)]
    return sorted(name for name, uses in Counter(path.name for path in plain).items() if uses > 1)


# How long, and how much is said of it.


def function_lengths(trees: dict[Path, ast.Module]) -> Iterator[int]:
    """Yield the lines of each function, decorators and docstring left out."""
    for tree in trees.values():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                first = body[0].lineno if body else node.lineno
                yield (node.end_lineno or node.lineno) - first + 2


def comments(path: Path) -> int:
    """Return how many lines of a file hold a comment."""
    text = path.read_text(encoding="utf-8")
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return len({token.start[0] for token in tokens if token.type == tokenize.COMMENT})


def import_time() -> float:
    """Return how long `import onrecord` takes in a fresh Python, in milliseconds, median of 11."""
    program = (
        "from time import perf_counter as now; start = now(); import onrecord;"
        " print((now() - start) * 1000)"
    )
    command = [sys.executable, "-c", program]
    cached = {
        name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
    }
    subprocess.run(command, capture_output=True, check=True, env=cached)
    return statistics.median(
        float(
            subprocess.run(command, capture_output=True, check=True, text=True, env=cached).stdout
        )
        for _ in range(11)
    )


# What a turn runs through.


class Trace:
    """The files of ours whose functions were called, by phase."""

    def __init__(self) -> None:
        """Begin with no phase: nothing is kept until one has a name."""
        self.phase = ""
        self.files: dict[str, set[str]] = {}

    def __call__(self, frame: FrameType, event: str, _argument: Any) -> None:
        """Take a call of a function."""
        if event != "call" or not self.phase:
            return
        path = Path(frame.f_code.co_filename).resolve()
        if path.is_relative_to(ROOT) and path.relative_to(ROOT).parts[0] in FOLDERS:
            self.files.setdefault(self.phase, set()).add(str(path.relative_to(ROOT)))


def turn() -> dict[str, set[str]]:
    """Return the files that one streamed turn runs through, by phase; a turn before it warms up."""
    trace = Trace()

    def answer(_: httpx2.Request) -> httpx2.Response:
        if trace.phase:
            trace.phase = "from bytes to events"
        headers = {"content-type": "text/event-stream"}
        return httpx2.Response(200, headers=headers, content=spelled(message(text())))

    http = httpx2.Client(transport=httpx2.MockTransport(answer))
    client = anthropic.Anthropic(api_key="none", http_client=http, max_retries=0)
    with (
        tempfile.TemporaryDirectory() as folder,
        onrecord.connect(f"sqlite:///{folder}/log.db") as store,
    ):
        chat = store.conversation("figures")
        recorded = chat.record(client)
        phases = ("to record the request", "for the next request", "")
        for first, next_, none in (("", "", ""), phases):
            threading.setprofile(trace)
            sys.setprofile(trace)
            chat.user("Where is parcel NW-20931?")
            request = chat.request("anthropic-messages")
            trace.phase = first
            with recorded.messages.stream(
                model="claude-sonnet-5", max_tokens=1024, **request
            ) as stream:
                stream.until_done()
            trace.phase = next_
            chat.request("anthropic-messages")
            trace.phase = none
            sys.setprofile(None)
            threading.setprofile(None)
    return trace.files


if __name__ == "__main__":
    main(sys.argv[1:])
