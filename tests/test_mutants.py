"""What `python -m tests.mutants` changes, and how it tells which tests run a line."""

import ast
from pathlib import Path

from tests.mutants import ROOT, Drawn, asked, diff, drawn, node
from tests.mutations import Mutation, mutations

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


def changed(line: int) -> set[str]:
    """The line, in each of its changes."""
    found = (one.of(SOURCE) for one in mutations(SOURCE) if one.line == line)
    return {text.splitlines()[line - 1].decode().strip() for text in found}


def test_operators_constants_conditions_and_statements_are_changed() -> None:
    assert changed(5) == {'def f(a: "int", b=2):'}
    assert changed(7) == {
        "if (not a or b < 2):",
        "if (a) and b < 2:",
        "if not a and (b <= 2):",
        "if not a and b < 3:",
    }
    assert changed(8) == {"pass", "raise ValueError((f'{a}' - sep))"}
    assert changed(9) == {
        "pass",
        "c = (None if a == b else 'x')",
        "c = 'x-mutant' if a == b else None",
        'c = "x" if (a != b) else None',
    }
    assert changed(10) == {"pass"}
    assert changed(11) == {"return None", "return [c, False]"}


def test_what_does_not_run_is_left_alone() -> None:
    assert {one.line for one in mutations(SOURCE)} == {5, 7, 8, 9, 10, 11}


def test_a_seed_draws_the_same_lines_each_time_and_each_mutant_is_python() -> None:
    chosen = drawn(ROOT, 7, 40)
    assert chosen == drawn(ROOT, 7, 40)
    assert chosen != drawn(ROOT, 8, 40)
    assert len({one.place for one in chosen}) == 40
    for one in chosen:
        ast.parse(one.mutation.of((ROOT / one.path).read_bytes()))


def test_a_context_is_a_test_that_pytest_can_run(tmp_path: Path) -> None:
    (tmp_path / "tests" / "domain").mkdir(parents=True)
    (tmp_path / "tests" / "domain" / "test_a.py").touch()
    assert node(tmp_path, "tests.domain.test_a.test_b") == "tests/domain/test_a.py::test_b"
    assert node(tmp_path, "tests.domain.test_a.TestB.test_c") == (
        "tests/domain/test_a.py::TestB::test_c"
    )
    assert node(tmp_path, "tests.domain.test_gone.test_b") is None


def test_the_tests_of_the_recorder_are_asked_too() -> None:
    found = asked(ROOT)
    assert "tests/domain" in found
    assert [path for path in found if "test_recording_requests" in path]


def test_a_diff_shows_the_change(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"a = 1\n")
    lines = list(diff(tmp_path, Drawn("a.py", Mutation(1, "constant", 4, 5, "2"))))
    assert lines[-2:] == ["-a = 1", "+a = 2"]
