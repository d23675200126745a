"""Runs tests again and again, each time in a new child that has imported all but our own code.

`python -P FILE`, in the folder of a tree: reads a request a line and answers each by a line. It needs
nothing of ours, for it runs the tests of older commits as well.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import sys
import warnings
from collections.abc import Callable, Generator, Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path
from time import monotonic
from typing import Final

import coverage
import pytest
from hypothesis import HealthCheck, Phase, settings

OURS: Final = ("onrecord", "tests", "conftest", "__main__", "_pytest")
MEMORY: Final = 6 << 30
"""Bytes: a changed loop may keep what it makes for ever."""

# The examples that are drawn are the same ones each time, and a failing one is not made simpler.
PROFILE: Final = "unshrunk"
settings.register_profile(
    PROFILE,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,
    database=None,
    phases=(Phase.explicit, Phase.generate),
)
OPTIONS: Final = (
    "-q",
    *("-p", "no:xdist", "-p", "no:cacheprovider"),
    f"--hypothesis-profile={PROFILE}",
    # Plugins were imported before pytest could rewrite their assertions.
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),
)


@dataclass(frozen=True, slots=True)
class Answer:
    """How pytest ended, by its exit status (None: it was too slow), and the tests that failed."""

    status: int | None
    failed: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()


@dataclass(eq=False, slots=True)
class Chosen:
    """A plugin of pytest: runs the tests that are named, in that order."""

    names: list[str]
    failed: list[str] = field(default_factory=list[str])

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave out all others."""
        place = {name: number for number, name in enumerate(self.names)}
        items[:] = sorted(
            (item for item in items if item.nodeid in place), key=lambda item: place[item.nodeid]
        )

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the names of those that fail."""
        if report.failed:
            self.failed.append(report.nodeid)


@dataclass(eq=False, slots=True)
class Measuring:
    """A plugin of pytest: measures which lines a test runs, its fixtures too, and how long it takes."""

    measure: coverage.Coverage
    left_out: list[str]
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    failed: list[str] = field(default_factory=list[str])

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave out the tests whose names hold one of the words."""
        items[:] = [
            item for item in items if not any(word in item.nodeid for word in self.left_out)
        ]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Name the test whose lines are measured."""
        self.measure.switch_context(item.nodeid)
        start = monotonic()
        try:
            return (yield)
        finally:
            self.seconds[item.nodeid] = monotonic() - start
            self.measure.switch_context("")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the names of those that fail."""
        if report.failed:
            self.failed.append(report.nodeid)


def main() -> None:
    """Answer requests until there are none."""
    for line in sys.stdin:
        match json.loads(line):
            case {"files": files, "measured": folders, "map": str(file), "left_out": words}:
                answer = in_child(partial(measured, files, folders, Path(file), words), None)
            case {"files": files}:
                answer = in_child(partial(collected, files), None)
                preload(answer.modules)
            case {"tests": tests, "longest": longest, "seconds": seconds}:
                answer = in_child(partial(run, tests, longest), seconds)
            case _:
                raise ValueError(line)
        print(json.dumps([answer.status, answer.failed]), flush=True)


def measured(files: list[str], folders: list[str], file: Path, left_out: list[str]) -> Answer:
    """Keep which tests run which lines of the folders, and the seconds of each test beside it."""
    include = [f"{Path.cwd()}/{folder}/*" for folder in folders]
    measure = coverage.Coverage(data_file=str(file), include=include, config_file=False)
    measure.start()
    plugin = Measuring(measure, left_out)
    status = pytest.main([*OPTIONS, *files], plugins=[plugin])
    measure.stop()
    measure.save()
    Path(f"{file}.seconds").write_text(json.dumps(plugin.seconds))
    return Answer(status, tuple(plugin.failed))


def collected(files: list[str]) -> Answer:
    """Import all that the tests import, and name it. Python keeps it compiled."""
    status = pytest.main([*OPTIONS, "--collect-only", *files])
    return Answer(status, modules=tuple(sys.modules))


def preload(modules: Iterable[str]) -> None:
    """Import what is not ours, for all children to come."""
    for name in modules:
        if name.partition(".")[0] not in OURS:
            with suppress(Exception), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                import_module(name)


def run(tests: list[str], longest: float) -> Answer:
    """Run tests until one fails, or takes longer than it may. What is changed is not kept compiled."""
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    sys.dont_write_bytecode = True
    chosen = Chosen(tests)
    files = dict.fromkeys(name.partition("::")[0] for name in tests)
    status = pytest.main([*OPTIONS, "-x", f"--timeout={longest}", *files], plugins=[chosen])
    return Answer(status, tuple(chosen.failed))


def in_child(work: Callable[[], Answer], seconds: float | None) -> Answer:
    """Do it in a child; it ends with all that it started. One that ends by itself has failed."""
    reads, writes = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
            log = os.open("forked_tests.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            for number, descriptor in enumerate((os.open(os.devnull, os.O_RDONLY), log, log)):
                os.dup2(descriptor, number)
            os.write(writes, json.dumps(asdict(work())).encode() + b"\n")
        finally:
            os._exit(0)
    os.close(writes)
    with os.fdopen(reads) as pipe:
        ready, _, _ = select.select([pipe], [], [], seconds)
        text = pipe.readline() if ready else ""
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return Answer(**json.loads(text)) if text else Answer(1 if ready else None)


if __name__ == "__main__":
    main()
