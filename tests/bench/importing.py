"""How long `import onrecord` takes in a fresh process, and what it brings along."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Final

from tests.bench.measure import Aim, Contender, Measure, Pace, Work, take_turns
from tests.bench.workspace import Workspace

_OURS: Final = "import onrecord"
_PEER: Final = "from agents import SQLiteSession"
_SDKS: Final = {
    *("agents", "anthropic", "boto3", "google", "httpx", "httpx2", "langchain_core", "ollama"),
    *("openai", "psycopg", "redis", "rich", "typer"),
}
_AIM: Final = Aim(150, "below")


def measures(workspace: Workspace) -> Iterator[Measure]:
    """Yield the time of the import alone; the interpreter's own start is left out."""
    workspace.say("import onrecord, in fresh processes")
    statements = (_OURS, _PEER) if workspace.peers else (_OURS,)
    sides = [Contender(statement, "", _prepare(statement), _printed) for statement in statements]
    ours, *others = take_turns(sides, Pace(3, workspace.scale.starts))
    note = f"SDKs and drivers that it loads: {', '.join(loaded_sdks()) or 'none'}"
    yield Measure("import", "ms", ours, aim=_AIM, note=note)
    if others:
        yield Measure("import.beside", "ms", ours, others[0])


def loaded_sdks() -> list[str]:
    """Return the SDKs and drivers that are loaded once onrecord is."""
    program = "import sys, onrecord; print(*{name.split('.')[0] for name in sys.modules})"
    return sorted(set(_run(program).split()) & _SDKS)


def _prepare(statement: str) -> Callable[[int], Work]:
    timed = (
        f"import time; began = time.perf_counter(); {statement}; print(time.perf_counter() - began)"
    )
    return lambda _: lambda: float(_run(timed))


def _printed(work: Work) -> float:
    seconds: float = work()
    return seconds


def _run(program: str) -> str:
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, text=True
    )
    return run.stdout
