"""Change lines that a seed draws, one at a time: the tests that run such a line should fail.

    python -m tests.mutants --seed 7 --lines 200
    python -m tests.mutants --seed 7 --lines 200 --tree ../before --map .mutants-before

Prints each mutant as killed or not, with the diff of each that no test noticed. What is changed is a
copy of the tree. Which tests run a line is measured first, once for each state of the tree: `--map`
names the file that keeps it, and the digest of the sources is added to that name.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import unified_diff
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Final

from coverage import CoverageData

from tests.mutations import Mutation, mutations

ROOT: Final = Path(__file__).parents[1]
MUTATED: Final = ("domain", "projections", "adapters/recording")
TESTS: Final = ("tests/domain", "tests/projections")
# What a test in other folders names: it is asked about the recorder, views and what is verified.
OTHERS: Final = ("tests/adapters", "tests/views")
NAMED: Final = (
    "onrecord.adapters.recording",
    "onrecord.projections.verification",
    "onrecord.projections.views",
    "tests.adapters.recorded_calls",
)
MOST_TESTS: Final = 400
CONTEXTS: Final = "[run]\nsource = onrecord\ndynamic_context = test_function\n"


@dataclass(frozen=True, slots=True)
class Drawn:
    """A mutation of a file, by the file's path below the tree."""

    path: str
    mutation: Mutation

    @property
    def place(self) -> str:
        """Where it is, for people."""
        return f"{self.path}:{self.mutation.line}"


@dataclass(frozen=True, slots=True)
class Tree:
    """A copy of a tree, which can be changed, and the Python that runs its tests."""

    root: Path
    python: str

    def run(self, *command: str, seconds: float | None = None) -> subprocess.CompletedProcess[str]:
        """Run a module of Python with the code of the copy."""
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join((str(self.root / "src"), str(self.root))),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        return subprocess.run(
            [self.python, "-m", *command],
            cwd=self.root,
            env=environment,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )


def copied(tree: Path, folder: Path) -> Tree:
    """Copy what git knows of a tree: its own Python runs it, if it has an environment."""
    listed = subprocess.run(
        ["git", "-C", str(tree), "ls-files", "-z"], capture_output=True, text=True, check=True
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (tree / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(tree / name, folder / name, follow_symlinks=False)
    own = tree / ".venv" / "bin" / "python"
    return Tree(folder, str(own) if own.exists() else sys.executable)


def drawn(root: Path, seed: int, lines: int) -> list[Drawn]:
    """Draw lines among all that can be changed, and of each one of its changes."""
    chance = random.Random(seed)
    by_line: dict[tuple[str, int], list[Mutation]] = {}
    for path in sorted(path for folder in MUTATED for path in (root / folder).rglob("*.py")):
        name = str(path.relative_to(root))
        for mutation in mutations(path.read_bytes()):
            by_line.setdefault((name, mutation.line), []).append(mutation)
    places = chance.sample(sorted(by_line), min(lines, len(by_line)))
    return [Drawn(name, chance.choice(by_line[name, line])) for name, line in places]


def digest(root: Path) -> str:
    """The first digits of the digest of what is changed and of the tests: a map holds for these alone."""
    hashed = sha256()
    for path in sorted(
        path for folder in (*MUTATED, "tests") for path in (root / folder).rglob("*.py")
    ):
        hashed.update(path.read_bytes())
    return hashed.hexdigest()[:12]


def measured(tree: Tree, file: Path) -> CoverageData:
    """Which tests run which lines: as the file says, or else measured now and kept there."""
    if not file.exists():
        (tree.root / "contexts.ini").write_text(CONTEXTS)
        print(f"measuring which tests run which lines; {file} keeps it", flush=True)
        options = ("--rcfile=contexts.ini", f"--data-file={file}")
        pytest = ("-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider")
        done = tree.run("coverage", "run", *options, *pytest, *asked(tree.root))
        if done.returncode:
            file.unlink(missing_ok=True)
            raise SystemExit(f"the tests fail before anything is changed:\n{done.stdout[-3000:]}")
    data = CoverageData(str(file))
    data.read()
    return data


def asked(root: Path) -> list[str]:
    """The folders and files of tests that are asked about mutants."""
    others = (path for folder in OTHERS for path in (root / folder).rglob("test_*.py"))
    found = [path for path in others if any(name in path.read_text() for name in NAMED)]
    return [*TESTS, *sorted(str(path.relative_to(root)) for path in found)]


def running(data: CoverageData, root: Path, one: Drawn) -> list[str]:
    """The tests that run a line, those first whose names are like its file's.

    A line that runs at import belongs to all tests of its file.
    """
    files = [name for name in data.measured_files() if name.endswith(f"/{one.path}")]
    files += [name for name in data.measured_files() if name == one.path]
    by_line = data.contexts_by_lineno(files[0]) if files else {}
    contexts = set(filter(None, by_line.get(one.mutation.line, [])))
    if not contexts and one.mutation.line in by_line:
        contexts = {name for held in by_line.values() for name in held if name}
    nodes = sorted(filter(None, (node(root, context) for context in contexts)))
    stem = Path(one.path).stem
    return sorted(nodes, key=lambda name: stem not in name)[:MOST_TESTS]


def node(root: Path, context: str) -> str | None:
    """The name that pytest gives a test, from that of its function; None if its file is gone."""
    parts = context.split(".")
    for end in range(len(parts) - 1, 0, -1):
        path = Path(*parts[:end]).with_suffix(".py")
        if (root / path).is_file():
            return "::".join((str(path), *parts[end:]))
    return None


def outcome(tree: Tree, one: Drawn, tests: list[str], seconds: float) -> str:
    """What the tests say of a mutant: killed, survived, undecided; or that none runs it.

    Undecided are those that take too long, and those whose tests pytest cannot find.
    """
    if not tests:
        return "untested"
    path = tree.root / one.path
    original = path.read_bytes()
    path.write_bytes(one.mutation.of(original))
    try:
        options = ("-x", "-q", "-p", "no:xdist", "-p", "no:cacheprovider")
        done = tree.run("pytest", *options, *tests, seconds=seconds)
    except subprocess.TimeoutExpired:
        return "undecided"
    finally:
        path.write_bytes(original)
    match done.returncode:
        case 0:
            return "survived"
        case 1 | 2:  # A test failed, or a file of tests cannot be imported any more.
            return "killed"
        case _:
            return "undecided"


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
    parser.add_argument("--seconds", type=float, default=60)
    return parser.parse_args()


def main() -> None:
    """Draw, change, test, and tell."""
    given = arguments()
    counts, began = Counter[str](), monotonic()
    with TemporaryDirectory(prefix="mutants-") as folder:
        tree = copied(given.tree.resolve(), Path(folder).resolve())
        chosen = drawn(tree.root, given.seed, given.lines)
        data = measured(tree, given.map.resolve().with_suffix(f".{digest(tree.root)}"))
        tested = monotonic()
        print(f"{len(chosen)} mutants; the map took {tested - began:.0f} s", flush=True)
        for one in chosen:
            tests, start = running(data, tree.root, one), monotonic()
            verdict = outcome(tree, one, tests, given.seconds)
            counts[verdict] += 1
            took = f"{monotonic() - start:.1f} s, {len(tests)} tests"
            print(f"{verdict:9} {one.place} {one.mutation.what} ({took})", flush=True)
            if verdict != "killed":
                print("\n".join(diff(tree.root, one)), flush=True)
    each = (monotonic() - tested) / max(1, len(chosen))
    told = ", ".join(f"{number} {verdict}" for verdict, number in counts.most_common())
    print(f"{told}; {each:.1f} s a mutant")


if __name__ == "__main__":
    main()
