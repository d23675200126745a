"""The page on other systems is true: each rule names tests that are there, or why it is not followed."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "other-systems.md"
HEADING = ["rule", "here", "held by"]
_NAMED = re.compile(r"`(test_\w+\.py)::(test_\w+)`")
_LINK = re.compile(r"\]\(([^)#]+)")


def rows() -> list[list[str]]:
    """The rows of the tables of rules: what is the rule, what Onrecord does, which tests hold it."""
    found: list[list[str]] = []
    in_table = False
    for line in PAGE.read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if cells == HEADING:
            in_table = True
        elif not cells:
            in_table = False
        elif in_table and set("".join(cells)) != {"-"}:
            found.append(cells)
    return found


ROWS = rows()


@cache
def the_tests() -> frozenset[tuple[str, str]]:
    return frozenset(
        (path.name, node.name)
        for path in (ROOT / "tests").rglob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )


def test_there_are_as_many_rules_as_were_found() -> None:
    assert len(ROWS) >= 150


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_a_rule_is_held_by_tests_or_is_said_not_to_be_followed(row: list[str]) -> None:
    rule, here, held = row
    assert rule
    assert here
    named = _NAMED.findall(held)
    assert named or here.startswith("Not ours: "), "it names no test"
    assert not re.sub(r"[,\s]", "", _NAMED.sub("", held)), "it names something that is no test"
    assert [each for each in named if each not in the_tests()] == []


def test_what_explains_a_difference_is_there() -> None:
    linked = {link for row in ROWS for link in _LINK.findall(row[1])}
    assert linked
    assert [link for link in linked if not (PAGE.parent / link).is_file()] == []


def test_no_rule_stands_twice() -> None:
    told = [row[0] for row in ROWS]
    assert sorted(set(told)) == sorted(told)
