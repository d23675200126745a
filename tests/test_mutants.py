"""What `python -m tests.mutants` changes, which tests it asks, and what it makes of their answers."""

import ast
import json
import sys
from pathlib import Path

import pytest
from coverage import CoverageData

from tests.mutants import ROOT, Runner, Trial, asked, changed, diff, drawn
from tests.mutations import Mutation, mutations
from tests.tests_by_line import Drawn, LineMap

SOURCE = b'''"""A module."""
from os import sep


def f(a: "int", b=1):
    """Tell it."""
    if not a and b < 2:
        raise ValueError(f"{a}" + sep)
    c = "x" if a == b else None
    print(c)
    return [c, True]
'''


UNSAID = b'''__all__ = ("A",)
Kind = Literal["a", "b"]
Other: TypeAlias = "A | B"


class P(Protocol):
    def f(self, a=1) -> int: ...

    def g(self, a=1) -> int:
        """Tell it."""


def h(a):
    logger.warning("no one reads this", a)
    cast("Kind", a).b(None)
    del a
    return None
'''


def lines_changed(line: int) -> set[str]:
    """The line, in each of its changes."""
    found = (one.of(SOURCE) for one in mutations(SOURCE) if one.line == line)
    return {text.splitlines()[line - 1].decode().strip() for text in found}


def test_operators_constants_conditions_and_statements_are_changed() -> None:
    assert lines_changed(5) == {'def f(a: "int", b=2):'}
    assert lines_changed(7) == {
        "if (not a or b < 2):",
        "if (a) and b < 2:",
        "if not a and (b <= 2):",
        "if not a and b < 3:",
    }
    assert lines_changed(8) == {"pass", "raise ValueError((f'{a}' - sep))"}
    assert lines_changed(9) == {
        "pass",
        "c = (None if a == b else 'x')",
        "c = 'x-mutant' if a == b else None",
        'c = "x" if (a != b) else None',
    }
    assert lines_changed(10) == {"pass"}
    assert lines_changed(11) == {"return None", "return [c, False]"}


def test_what_does_not_run_is_left_alone() -> None:
    assert {one.line for one in mutations(SOURCE)} == {5, 7, 8, 9, 10, 11}


def test_types_names_for_importers_and_texts_for_people_are_left_alone() -> None:
    assert {(one.line, one.what) for one in mutations(UNSAID)} == {
        (14, "dropped statement"),
        (15, "dropped statement"),
    }
    raised = b"def f(a):\n    raise Refused('code', 'it was not taken')\n"
    assert [one.text for one in mutations(raised)] == ["pass", "'code-mutant'"]


def test_a_change_knows_its_statement_and_whether_that_runs_at_import() -> None:
    source = b"a = [\n    1,\n    lambda: 2,\n]\nif (\n    a == b\n):\n    b = 3\n"
    known = {one.text: (one.statement, one.at_import) for one in mutations(source)}
    assert known["2"] == ((1, 4), True)
    assert known["3"] == ((1, 4), False)
    assert known["(a != b)"] == ((5, 7), True)
    assert known["4"] == ((8, 8), True)


def test_a_seed_draws_the_same_lines_each_time_and_each_mutant_is_python() -> None:
    chosen = drawn(ROOT, 7, 40)
    assert chosen == drawn(ROOT, 7, 40)
    assert chosen != drawn(ROOT, 8, 40)
    assert len({one.place for one in chosen}) == 40
    for one in chosen:
        ast.parse(one.mutation.of((ROOT / one.path).read_bytes()))


def test_the_tests_of_the_recorder_are_asked_too() -> None:
    files = asked(ROOT)
    assert [path for path in files if path.startswith("tests/domain/")]
    assert [path for path in files if "test_recording_requests" in path]
    assert not [path for path in files if "test_recorded_erasures" in path]


def test_a_diff_shows_the_change(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"a = 1\n")
    lines = list(
        diff(tmp_path, Drawn("a.py", Mutation(1, "constant", 4, 5, "2", (1, 1), at_import=True)))
    )
    assert lines[-2:] == ["-a = 1", "+a = 2"]


@pytest.fixture
def lines(tmp_path: Path) -> LineMap:
    """What was measured in a tree of a few files."""
    data = CoverageData(str(tmp_path / "map"))
    for test, runs in {
        "tests/test_b.py::one": {"domain/a.py": [2, 3]},
        "tests/test_b.py::two": {"domain/a.py": [2]},
        "tests/test_a.py::slow": {"domain/a.py": [2]},
        "tests/test_a.py::last": {"domain/a.py": [2]},
        "tests/test_c.py::far": {"domain/importer.py": [4]},
        "": {"domain/a.py": [1, 12], "domain/names.py": [1]},
    }.items():
        data.set_context(test)
        data.add_lines({str(tmp_path / path): numbers for path, numbers in runs.items()})
    data.write()
    seconds = {"one": 0.5, "two": 0.2, "slow": 9.0, "last": 2.0, "far": 1.0}
    tests = {"one": "b", "two": "b", "slow": "a", "last": "a", "far": "c"}
    named = {f"tests/test_{file}.py::{name}": seconds[name] for name, file in tests.items()}
    (tmp_path / "map.seconds").write_text(json.dumps(named))
    (tmp_path / "domain").mkdir()
    (tmp_path / "domain" / "importer.py").write_text("from onrecord.domain import names\n")
    return LineMap.of(tmp_path, tmp_path / "map")


def at(
    path: str, line: int, statement: tuple[int, int] = (0, 0), *, at_import: bool = False
) -> Drawn:
    """A mutation of a line."""
    return Drawn(path, Mutation(line, "constant", 0, 1, "2", statement, at_import))


def test_the_tests_that_run_a_line_are_asked_those_of_its_file_first_and_then_the_quick(
    lines: LineMap,
) -> None:
    assert lines.tests(at("domain/a.py", 3)) == {"tests/test_b.py::one"}
    assert lines.chosen(at("domain/a.py", 2), seconds=9, slow=3) == [
        "tests/test_a.py::last",
        "tests/test_b.py::two",
        "tests/test_b.py::one",
    ]
    assert lines.chosen(at("domain/a.py", 2), seconds=2.3, slow=3) == [
        "tests/test_a.py::last",
        "tests/test_b.py::two",
    ]


def test_a_line_that_has_no_step_of_its_own_is_run_with_its_statement(lines: LineMap) -> None:
    assert lines.tests(at("domain/a.py", 4, (3, 5))) == {"tests/test_b.py::one"}
    assert lines.tests(at("domain/a.py", 9, (9, 9))) == set()
    assert lines.tests(at("domain/unknown.py", 1, (1, 1))) == set()


def test_what_runs_at_import_belongs_to_all_tests_of_its_file_or_of_its_importers(
    lines: LineMap,
) -> None:
    assert len(lines.tests(at("domain/a.py", 1, at_import=True))) == 4
    assert len(lines.tests(at("domain/a.py", 12, (12, 12)))) == 4
    assert lines.tests(at("domain/names.py", 1, at_import=True)) == {"tests/test_c.py::far"}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree of one module and its tests."""
    tree = tmp_path_factory.mktemp("tree")
    (tree / "domain").mkdir()
    (tree / "tests").mkdir()
    (tree / "src" / "onrecord").mkdir(parents=True)
    (tree / "src" / "onrecord" / "domain").symlink_to(tree / "domain")
    (tree / "domain" / "sums.py").write_text(
        "def total(a, b):\n    return a + b\n\n\ndef unlooked(a):\n    return a + 1\n"
    )
    (tree / "tests" / "test_sums.py").write_text(
        "import pytest\n"
        "from onrecord.domain.sums import total, unlooked\n"
        "class TestTotal:\n"
        "    @pytest.mark.parametrize('b', ['1 [one]', '2 :: two'])\n"
        "    def test_it(self, b): assert total(3, int(b[0])) > 3\n"
        "def test_nothing(): unlooked(1)\n"
    )
    return tree


def test_a_mutant_is_killed_by_a_test_that_runs_its_line_and_then_fails(root: Path) -> None:
    source = (root / "domain" / "sums.py").read_bytes()
    minus, unlooked = (
        Drawn("domain/sums.py", one) for one in mutations(source) if one.what == "operator"
    )
    files, file = ["tests/test_sums.py"], root / "map"
    with Runner.of(root, sys.executable) as tests:
        measured = tests.ask(files=files, measured=["domain"], map=str(file), left_out=[])
        assert measured == (0, [])
        tests.ask(files=files)
        trial = Trial(root, tests, LineMap.of(root, file), seconds=60)
        outcome, killer = trial.outcome(minus)
        assert (outcome, killer.partition("[")[0]) == (
            "killed",
            "tests/test_sums.py::TestTotal::test_it",
        )
        assert trial.outcome(unlooked) == ("survived", "1 tests")
        assert trial.outcome(at("domain/sums.py", 3)) == ("untested", "")
    assert (root / "domain" / "sums.py").read_bytes() == source


def test_a_changed_file_is_as_it_was_afterwards(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"1 = a\n")
    was = path.stat().st_mtime_ns
    with changed(tmp_path, at("a.py", 1)):
        assert path.read_bytes() == b"2 = a\n"
    assert (path.read_bytes(), path.stat().st_mtime_ns) == (b"1 = a\n", was)
