"""`make bench`: what Onrecord costs, beside the stores that people use today.

Prints a JSON line a measure on stdout (medians, quartiles as the spread); progress, and a table
with the aims, on stderr. `make bench BENCH_ARGS="append.sqlite import --quick"` runs a part.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from tests.bench import (
    append,
    awaited,
    callers,
    growth,
    importing,
    insert,
    ledger,
    loop,
    own_projecting,
    page,
    peers,
    projecting,
    request,
    scaling,
    serving,
    sharing,
    verifying,
    view_growth,
    windowed,
)
from tests.bench.frameworks import adk, claude, langgraph, langgraph_bytes, openai_agents
from tests.bench.measure import Measure
from tests.bench.pairings import Pairing
from tests.bench.report import draw, say, tell
from tests.bench.workspace import FULL, QUICK, SMALLEST, USUAL, Scale, Workspace, workspace

Line = dict[str, Any]
Part = Callable[[], Iterator[Line]]

_ROOT: Final = Path(__file__).parents[2]
_NAMES: Final = (
    *("windowed", "loop.sqlite", "loop.postgres"),
    *("request.sqlite", "append.sqlite", "request.postgres", "append.postgres"),
    *("awaited.sqlite", "awaited.postgres"),
    *("insert.postgres", "callers.postgres", "rendering", "capturing", "own_lists"),
    *("proxying", "serving", "page"),
    *("recorder.sqlite", "recorder.postgres"),
    *("frameworks.langgraph.turn", "frameworks.langgraph.bytes"),
    *("frameworks.openai_agents.sqlite", "frameworks.openai_agents.postgres"),
    *("frameworks.adk.sqlite", "frameworks.adk.postgres"),
    *("frameworks.claude.sqlite", "frameworks.claude.postgres"),
    *("growth.log", "growth.views", "sharing", "projecting", "own_projecting", "scaling"),
    *("verify", "ledger", "import"),
)


def main(arguments: list[str] | None = None) -> int:
    """Measure what was asked for, all by default; return 1 if a part could not be measured."""
    asked = _asked(arguments)
    if not (asked.alone or peers.are_here()):
        sys.exit("the peers are not installed here: run `make bench`, or pass --alone")
    lines: list[Line] = []
    with workspace(
        asked.scale, peers=not asked.alone, folder=asked.folder, say=say, tell=tell
    ) as place:
        tell(place.environment())
        failed = [name for name, part in _chosen(place, asked.names) if not _run(part, lines)]
    draw(lines)
    if failed:
        say(f"could not be measured: {', '.join(failed)}")
    return 1 if failed else 0


def _run(part: Part, lines: list[Line]) -> bool:
    """Run a part and tell what it yields; one that fails must not cost the others their run."""
    try:
        for line in part():
            tell(line)
            lines.append(line)
    except Exception:  # noqa: BLE001 - told in full; the other parts are still worth their run
        traceback.print_exc()
        return False
    return True


def _chosen(place: Workspace, names: list[str]) -> list[tuple[str, Part]]:
    """Return the parts whose names begin with one that was asked for."""
    prefixes = tuple(names) or ("",)
    return [(name, part) for name, part in _parts(place).items() if name.startswith(prefixes)]


def _parts(place: Workspace) -> Mapping[str, Part]:
    """Return all parts by name; requests come first, for appends change how a window looks."""
    sqlite, postgres = Pairing(place, "sqlite"), Pairing(place, "postgres")
    return {
        "windowed": partial(_lines, partial(windowed.measures, place, sqlite, postgres)),
        "loop.sqlite": partial(_lines, partial(loop.measures, sqlite)),
        "loop.postgres": partial(_lines, partial(loop.measures, postgres)),
        "request.sqlite": partial(_lines, partial(request.measures, sqlite)),
        "append.sqlite": partial(_lines, partial(append.measures, sqlite)),
        "request.postgres": partial(_lines, partial(request.measures, postgres)),
        "append.postgres": partial(_lines, partial(append.measures, postgres)),
        "awaited.sqlite": partial(_lines, partial(awaited.measures, sqlite)),
        "awaited.postgres": partial(_lines, partial(awaited.measures, postgres)),
        "insert.postgres": partial(_lines, partial(insert.measures, place)),
        "callers.postgres": partial(_lines, partial(callers.measures, place)),
        "rendering": partial(_program, place, "rendering"),
        "capturing": partial(_program, place, "capturing"),
        "own_lists": partial(_program, place, "own_lists"),
        "proxying": partial(_program, place, "proxying"),
        "serving": partial(_lines, partial(serving.measures, place, sqlite, postgres)),
        "page": partial(_lines, partial(page.measures, sqlite)),
        "recorder.sqlite": partial(_program, place, "recorder"),
        "recorder.postgres": partial(_program, place, "recorder", place.database),
        "frameworks.langgraph.turn": partial(_lines, partial(langgraph.measures, sqlite, postgres)),
        "frameworks.langgraph.bytes": partial(_lines, partial(langgraph_bytes.measures, place)),
        "frameworks.openai_agents.sqlite": partial(_lines, partial(openai_agents.measures, sqlite)),
        "frameworks.openai_agents.postgres": partial(
            _lines, partial(openai_agents.measures, postgres)
        ),
        "frameworks.adk.sqlite": partial(_lines, partial(adk.measures, sqlite)),
        "frameworks.adk.postgres": partial(_lines, partial(adk.measures, postgres)),
        "frameworks.claude.sqlite": partial(_lines, partial(claude.measures, sqlite)),
        "frameworks.claude.postgres": partial(_lines, partial(claude.measures, postgres)),
        "growth.log": partial(_lines, partial(growth.measures, place)),
        "growth.views": partial(_lines, partial(view_growth.measures, place)),
        "sharing": partial(_lines, partial(sharing.measures, place)),
        "projecting": partial(_lines, partial(projecting.measures, place)),
        "own_projecting": partial(_lines, partial(own_projecting.measures, place)),
        "scaling": partial(_lines, partial(scaling.measures, place)),
        "verify": partial(_lines, partial(verifying.measures, place)),
        "ledger": partial(_lines, partial(ledger.measures, place)),
        "import": partial(_lines, partial(importing.measures, place)),
    }


def _lines(measures: Callable[[], Iterator[Measure]]) -> Iterator[Line]:
    for measure in measures():
        yield measure.line()


def _program(place: Workspace, name: str, *given: Callable[[], str]) -> Iterator[Line]:
    """Yield the lines of a part that is a program of its own, which is given these arguments."""
    place.say(name)
    command = [sys.executable, "-m", f"tests.bench.{name}", *(make() for make in given)]
    run = subprocess.run(command, cwd=_ROOT, stdout=subprocess.PIPE, check=True, text=True)
    yield from map(json.loads, run.stdout.splitlines())


class _Asked(argparse.Namespace):
    names: list[str]
    scale: Scale
    alone: bool
    folder: Path | None


def _asked(arguments: list[str] | None) -> _Asked:
    parser = argparse.ArgumentParser(prog="make bench BENCH_ARGS=…", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"beginnings of: {', '.join(_NAMES)}")
    scale = parser.add_mutually_exclusive_group()
    for option, value, text in (
        ("--quick", QUICK, "up to 5,000 messages, a minute or two"),
        ("--full", FULL, "more rounds, for figures to quote"),
        ("--smallest", SMALLEST, "only to see that it runs"),
    ):
        scale.add_argument(
            option, dest="scale", action="store_const", const=value, default=USUAL, help=text
        )
    parser.add_argument("--alone", action="store_true", help="ours only, without the peers")
    parser.add_argument("--folder", type=Path, help="where the files go; on a real disk")
    return parser.parse_args(arguments, namespace=_Asked())


if __name__ == "__main__":
    sys.exit(main())
