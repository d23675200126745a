"""What a thread of LangGraph takes on disk, over the bytes that were said: a thread of turns of 2 KB.

A file that grows with what is said has the same ratio at each length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

import onrecord
from tests.bench import peers
from tests.bench.frameworks.langgraph import graph_of, prompts, thread
from tests.bench.measure import Aim, Figures, Measure
from tests.bench.payload import text
from tests.bench.workspace import Workspace

_LENGTHS: Final = (100, 1_000)
_AIM: Final = Aim(3)


def measures(workspace: Workspace) -> Iterator[Measure]:
    """Yield the bytes of a file over those that were said, at each length."""
    for length in sorted({min(length, workspace.scale.sizes[-1]) for length in _LENGTHS}):
        workspace.say(f"frameworks, LangGraph: the bytes of a thread of {length:,} messages")
        name = f"frameworks.langgraph.bytes.{length}"
        ours = _grown(workspace, length, "OnrecordSaver", _ours)
        yield Measure(name, "times", ours, aim=_AIM)
        if workspace.peers:
            yield Measure(
                f"{name}.beside", "times", ours, _grown(workspace, length, "SqliteSaver", _peer)
            )


def _grown(
    workspace: Workspace, length: int, what: str, grow: Callable[[Path, int], None]
) -> Figures:
    folder = workspace.path("thread")
    folder.mkdir()
    grow(folder / "thread.db", length // 2)
    taken = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return Figures(
        f"{what}: the bytes of its files, closed, over those of {length:,} texts",
        "",
        [[taken / (length * len(text()))]],
    )


def _ours(path: Path, turns: int) -> None:
    from onrecord.frameworks.langgraph import OnrecordSaver

    with onrecord.connect(f"sqlite:///{path}") as store:
        _take_turns(OnrecordSaver(store), turns)


def _peer(path: Path, turns: int) -> None:
    with closing(peers.sqlite_file(path)) as connection:
        _take_turns(peers.saver_on(connection), turns)


def _take_turns(saver: object, turns: int) -> None:
    graph = graph_of(saver)
    for _ in range(turns):
        graph.invoke(prompts(1), thread("one"))
