"""Change lines that a seed draws, one at a time: the tests that run such a line should fail.

    python -m tests.mutants --seed 7 --lines 200
    python -m tests.mutants --seed 7 --lines 200 --tree ../before --map .mutants-before

Prints each mutant as killed or not, with the diff of each that no test noticed. What is changed is a
copy of the tree. Which tests run a line is measured first, once for each state of the tree: `--map`
names the file that keeps it, and the digest of the sources is added to that name.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import unified_diff
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Final

from tests.mutations import mutations
from tests.tests_by_line import Drawn, LineMap

ROOT: Final = Path(__file__).parents[1]
PROGRAM: Final = Path(__file__).with_name("forked_tests.py")
MUTATED: Final = ("domain", "projections", "adapters/recording")
TESTS: Final = ("domain", "projections", "adapters", "contract")
# Not asked: what starts servers and programs. The same rules hold on SQLite and in this process. Nor
# process models: their rules are in adapters/bpmn, which is not changed.
LEFT_OUT: Final = ("postgres", "redis", "citus", "bpmn", "test_cli", "test_demo")
SLOW: Final = 3.0
"""Seconds: a test that takes longer is asked only where no other one runs a line."""


@dataclass(frozen=True, slots=True)
class Runner:
    """A process that runs the tests of a tree, in a new child each time (tests/forked_tests.py)."""

    process: subprocess.Popen[str]

    @classmethod
    @contextmanager
    def of(cls, root: Path, python: str) -> Generator[Runner]:
        """Start it, in a copy of a tree."""
        path = os.pathsep.join((str(root / "src"), str(root)))
        environment = {**os.environ, "PYTHONPATH": path}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        with subprocess.Popen(
            [python, "-P", str(PROGRAM)],
            cwd=root,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            yield cls(process)

    def ask(self, **request: object) -> tuple[int | None, list[str]]:
        """How pytest ended, None if it was too slow, and the tests that failed."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        status, failed = json.loads(self.process.stdout.readline())
        return status, failed


@dataclass(frozen=True, slots=True)
class Trial:
    """Tries mutants, one at a time, in a copy of a tree."""

    root: Path
    tests: Runner
    lines: LineMap
    seconds: float
    _sound: set[str] = field(default_factory=set[str])

    def outcome(self, one: Drawn) -> tuple[str, str]:
        """Killed, survived, undecided or untested; and by which test, or by how many."""
        chosen = self.lines.chosen(one, self.seconds / 2, SLOW)
        while chosen:
            with changed(self.root, one):
                status, failed = self._run(chosen)
            match status:
                case 0:
                    return "survived", f"{len(chosen)} tests"
                case None:
                    return "undecided", f"{len(chosen)} tests"
                case _ if not failed:
                    return "killed", "at import, or by its process"
                case _ if self._passes(failed[0]):
                    return "killed", failed[0]
                case _:
                    chosen.remove(failed[0])
        return "untested", ""

    def _passes(self, test: str) -> bool:
        """Whether a test passes when nothing is changed, alone."""
        if test not in self._sound and self._run([test]) == (0, []):
            self._sound.add(test)
        return test in self._sound

    def _run(self, tests: list[str]) -> tuple[int | None, list[str]]:
        longest = max(self.lines.seconds[name] for name in tests)
        return self.tests.ask(tests=tests, seconds=self.seconds, longest=max(20, 5 * longest))


@contextmanager
def changed(root: Path, one: Drawn) -> Generator[None]:
    """Change a file for a while. The time of its last change returns too: what is compiled is as new."""
    path = root / one.path
    original, stat = path.read_bytes(), path.stat()
    path.write_bytes(one.mutation.of(original))
    try:
        yield
    finally:
        path.write_bytes(original)
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def copied(tree: Path, folder: Path) -> str:
    """Copy what git knows of a tree, and return its own Python, if it has an environment."""
    listed = subprocess.run(
        ["git", "-C", str(tree), "ls-files", "-z"], capture_output=True, text=True, check=True
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (tree / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(tree / name, folder / name, follow_symlinks=False)
    own = tree / ".venv" / "bin" / "python"
    return str(own) if own.exists() else sys.executable


def drawn(root: Path, seed: int, lines: int) -> list[Drawn]:
    """Draw lines among all that can be changed, and of each one of its changes."""
    chance = random.Random(seed)
    by_line: dict[tuple[str, int], list[Drawn]] = {}
    for path in sorted(path for folder in MUTATED for path in (root / folder).rglob("*.py")):
        name = str(path.relative_to(root))
        for mutation in mutations(path.read_bytes()):
            by_line.setdefault((name, mutation.line), []).append(Drawn(name, mutation))
    places = chance.sample(sorted(by_line), min(lines, len(by_line)))
    return [chance.choice(by_line[place]) for place in places]


def digest(root: Path) -> str:
    """The first digits of the digest of what is changed and of the tests: a map holds for these alone."""
    hashed = sha256()
    for path in sorted(
        path for folder in (*MUTATED, "tests") for path in (root / folder).rglob("*.py")
    ):
        hashed.update(path.read_bytes())
    return hashed.hexdigest()[:12]


def measured(root: Path, tests: Runner, file: Path) -> LineMap:
    """Which tests run which lines: as the file says, or else measured now and kept there."""
    if not file.exists():
        print(f"measuring which tests run which lines; {file} keeps it", flush=True)
        status, failed = tests.ask(
            files=asked(root), measured=MUTATED, map=str(file), left_out=LEFT_OUT
        )
        if status:
            file.unlink(missing_ok=True)
            raise SystemExit(f"the tests fail before anything is changed: {failed[:3] or status}")
    tests.ask(files=asked(root))
    return LineMap.of(root, file)


def asked(root: Path) -> list[str]:
    """The files of tests that are asked about mutants: no drills, which take minutes."""
    drills = subprocess.run(
        [
            "make",
            "-s",
            "--no-print-directory",
            "--eval",
            "drills.txt: ; @echo $(DRILLS)",
            "drills.txt",
        ],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    files = (path for folder in TESTS for path in (root / "tests" / folder).rglob("test_*.py"))
    names = sorted(str(path.relative_to(root)) for path in files)
    return [
        name
        for name in names
        if not name.startswith(tuple(drills)) and not any(word in name for word in LEFT_OUT)
    ]


def diff(root: Path, one: Drawn) -> Iterator[str]:
    """The change, as people read it."""
    before = (root / one.path).read_bytes()
    old, new = before.decode().splitlines(), one.mutation.of(before).decode().splitlines()
    yield from unified_diff(
        old, new, one.path, f"{one.path} ({one.mutation.what})", n=2, lineterm=""
    )


def arguments() -> Namespace:
    """Read the command line."""
    parser = ArgumentParser(
        prog="python -m tests.mutants",
        description=__doc__,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--lines", type=int, default=200)
    parser.add_argument("--tree", type=Path, default=ROOT, help="a checkout of any commit")
    parser.add_argument("--map", type=Path, default=Path(".mutants-map"))
    parser.add_argument("--seconds", type=float, default=60, help="the most that a mutant takes")
    return parser.parse_args()


def main() -> None:
    """Draw, change, test, and print."""
    options = arguments()
    counts, began = Counter[str](), monotonic()
    with TemporaryDirectory(prefix="mutants-") as folder:
        root = Path(folder).resolve()
        python = copied(options.tree.resolve(), root)
        chosen = drawn(root, options.seed, options.lines)
        with Runner.of(root, python) as tests:
            file = options.map.resolve().with_suffix(f".{digest(root)}")
            trial = Trial(root, tests, measured(root, tests, file), options.seconds)
            tested = monotonic()
            print(f"{len(chosen)} mutants; the map took {tested - began:.0f} s", flush=True)
            for one in chosen:
                start = monotonic()
                outcome, why = trial.outcome(one)
                counts[outcome] += 1
                took = f"{monotonic() - start:.1f} s"
                print(f"{outcome:9} {one.place} {one.mutation.what} ({took}; {why})", flush=True)
                if outcome != "killed":
                    print("\n".join(diff(root, one)), flush=True)
    each = (monotonic() - tested) / max(1, len(chosen))
    totals = ", ".join(f"{number} {outcome}" for outcome, number in counts.most_common())
    print(f"{totals}; {each:.1f} s a mutant")


if __name__ == "__main__":
    main()
