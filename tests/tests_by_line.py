"""Which tests run a line: as coverage measured it, which kept the name of the test that ran."""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from coverage import CoverageData

from tests.mutations import Mutation


@dataclass(frozen=True, slots=True)
class Drawn:
    """A mutation of a file, by the file's path below the tree."""

    path: str
    mutation: Mutation

    @property
    def place(self) -> str:
        """Where it is, for people."""
        return f"{self.path}:{self.mutation.line}"


def _words(path: str) -> set[str]:
    return set(re.split(r"[/_.]", path))


@dataclass(frozen=True, slots=True)
class LineMap:
    """Which tests run which lines of a tree, and how many seconds each test took."""

    root: Path
    data: CoverageData
    seconds: dict[str, float]
    _lines: dict[str, dict[int, list[str]]] = field(default_factory=dict[str, dict[int, list[str]]])

    @classmethod
    def of(cls, root: Path, file: Path) -> LineMap:
        """Read what was measured."""
        data = CoverageData(str(file))
        data.read()
        return cls(root, data, json.loads(Path(f"{file}.seconds").read_text()))

    def tests(self, one: Drawn) -> set[str]:
        """The tests that run a line, or else the statement around it.

        What runs at import, or is run by what does, belongs to all tests of its file, and if there
        are none to those of its importers.
        """
        first, last = one.mutation.statement
        if not one.mutation.at_import:
            for start, end in ((one.mutation.line, one.mutation.line), (first, last)):
                if tests := self._of_lines(one.path, start, end):
                    return tests
            if not self._is_run(one.path, first, last):
                return set()
        return self._of_file(one.path) or set[str]().union(
            *(self._of_file(path) for path in self._importers(one.path))
        )

    def chosen(self, one: Drawn, seconds: float, slow: float) -> list[str]:
        """Those of the tests that take so many seconds in all, the likeliest to fail first.

        These are in files whose names have the most words in common with its file's; of each file
        the quickest come first. Slow ones are left out, if there are others.
        """
        tests = self.tests(one)
        tests = {name for name in tests if self.seconds[name] < slow} or tests
        words, rank = _words(one.path), Counter[str]()
        keys = dict[str, tuple[int, int]]()
        for name in sorted(tests, key=lambda name: (self.seconds[name], name)):
            file = name.partition("::")[0]
            keys[name] = -len(words & _words(file)), rank[file]
            rank[file] += 1
        return list(self._within(sorted(keys, key=keys.__getitem__), seconds))

    def _within(self, tests: list[str], seconds: float) -> Iterator[str]:
        for number, name in enumerate(tests):
            seconds -= self.seconds[name]
            if number and seconds < 0:
                return
            yield name

    def _of_file(self, path: str) -> set[str]:
        return self._of_lines(path, 1, 1 << 30)

    def _of_lines(self, path: str, first: int, last: int) -> set[str]:
        """The tests that run one of the lines."""
        lines = self._by_line(path).items()
        return {name for line, names in lines if first <= line <= last for name in names if name}

    def _is_run(self, path: str, first: int, last: int) -> bool:
        """Whether one of the lines is run, by a test or between tests."""
        return any(first <= line <= last for line in self._by_line(path))

    def _by_line(self, path: str) -> dict[int, list[str]]:
        if path not in self._lines:
            names = [name for name in self.data.measured_files() if name.endswith(f"/{path}")]
            self._lines[path] = self.data.contexts_by_lineno(names[0]) if names else {}
        return self._lines[path]

    def _importers(self, path: str) -> Iterator[str]:
        """The files that import a file, by what they name."""
        package, _, stem = path.removesuffix(".py").removesuffix("/__init__").rpartition("/")
        module = f"onrecord.{package.replace('/', '.')}"
        for other in self.root.glob("*/**/*.py"):
            if other.is_relative_to(self.root / "tests") or other.is_relative_to(self.root / "src"):
                continue
            for node in ast.walk(ast.parse(other.read_bytes())):
                match node:
                    case ast.ImportFrom(module=name, names=names) if name == f"{module}.{stem}" or (
                        name == module and any(each.name == stem for each in names)
                    ):
                        yield str(other.relative_to(self.root))
                        break
                    case _:
                        pass
