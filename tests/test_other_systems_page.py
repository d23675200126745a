"""What Onrecord follows of other systems is true: each rule names tests that exist, or why it is not followed."""

import ast
import re
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path
from typing import TypedDict, cast

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "other-systems.md"
_LINK = re.compile(r"\]\(([^)#]+)")


class Rule(TypedDict):
    """A rule of another system: what is done here, and the tests that hold it as `file::test`."""

    subject: str
    rule: str
    here: str
    held_by: list[str]


def read() -> list[Rule]:
    text = (ROOT / "tests" / "other_systems.toml").read_text("utf-8")
    return cast("list[Rule]", tomllib.loads(text)["rules"])


RULES = read()


@cache
def known_tests() -> frozenset[str]:
    return frozenset(
        f"{path.name}::{node.name}"
        for path in (ROOT / "tests").rglob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )


def test_the_page_says_how_many_rules_there_are() -> None:
    assert f"The {len(RULES)} single rules" in PAGE.read_text("utf-8")


def test_a_rule_is_held_by_tests_or_has_a_reason_not_to_be_followed() -> None:
    gone = {
        rule["rule"]: [test for test in rule["held_by"] if test not in known_tests()]
        for rule in RULES
    }
    assert {rule: tests for rule, tests in gone.items() if tests} == {}
    told = [rule for rule in RULES if rule["held_by"] or rule["here"].startswith("Not ours: ")]
    assert [rule["rule"] for rule in RULES if rule not in told] == []
    assert [rule for rule in RULES if not (rule["rule"] and rule["here"])] == []


def test_the_page_speaks_of_every_subject() -> None:
    page = " ".join(PAGE.read_text("utf-8").split())
    assert [subject for subject in {rule["subject"] for rule in RULES} if subject not in page] == []


def test_the_pages_that_explain_a_difference_exist() -> None:
    links = {link for rule in RULES for link in _LINK.findall(rule["here"])}
    assert links
    assert [link for link in links if not (PAGE.parent / link).is_file()] == []


def test_no_rule_stands_twice() -> None:
    assert [
        rule for rule, uses in Counter(rule["rule"] for rule in RULES).items() if uses > 1
    ] == []
