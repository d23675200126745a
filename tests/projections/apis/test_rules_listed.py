"""docs/rendering.md lists every rule that a report can name."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[3]
# Where the functions that note a deed take its rule.
PLACES = {"Note": 1, "note": 1, "leave_out": 0, "_leave_out": 0, "take_back": 1}


def listed() -> set[str]:
    page = (ROOT / "docs" / "rendering.md").read_text()
    return set(re.findall(r"^\| `?([A-Z]\d+|[a-z ]+)`? \|", page, re.MULTILINE)) - {"rule"}


def noted() -> set[str]:
    places = [ROOT / "projections", ROOT / "adapters" / "conversation"]
    sources = [path for place in places for path in place.rglob("*.py")]
    return {rule for path in sources for rule in rules_in(ast.parse(path.read_text()))}


def rules_in(tree: ast.AST) -> Iterator[str]:
    """The rules that calls name outright, and all that look like a provider's."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and re.fullmatch(r"[RCOGB]\d+", str(node.value)):
            yield str(node.value)
        if isinstance(node, ast.Call):
            place = PLACES.get(name_of(node.func))
            named = node.args[place] if place is not None and place < len(node.args) else None
            if isinstance(named, ast.Constant):
                yield str(named.value)


def name_of(function: ast.expr) -> str:
    match function:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case _:
            return ""


def test_every_rule_that_a_report_can_name_is_listed() -> None:
    assert noted() - listed() == set()


def test_every_rule_of_the_service_is_listed() -> None:
    assert {rule for rule in listed() if rule[0] == "R"} == {f"R{n}" for n in range(1, 25)}


def test_every_word_that_is_listed_is_a_rule_of_the_code() -> None:
    words = {rule for rule in listed() if rule.islower()}
    assert words - noted() == set()


def test_every_rule_of_compatible_servers_is_listed() -> None:
    assert {rule for rule in listed() if rule[0] == "C"} == {f"C{n}" for n in range(1, 16)}


def test_every_rule_of_the_responses_api_is_listed() -> None:
    assert {rule for rule in listed() if rule[0] == "O"} == {f"O{n}" for n in range(1, 19)}


def test_every_rule_of_gemini_is_listed() -> None:
    assert {rule for rule in listed() if rule[0] == "G"} == {f"G{n}" for n in range(1, 19)}


def test_every_rule_of_bedrock_is_listed() -> None:
    assert {rule for rule in listed() if rule[0] == "B"} == {f"B{n}" for n in range(1, 20)}
