"""No test fails because the machine is slow, and none waits for ever: every wait has one far end."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
# Programs that pages show: their readers have no such helper.
SHOWN = {TESTS / "toy_program.py"}
FILES = sorted(set(TESTS.rglob("*.py")) - SHOWN - {Path(__file__), TESTS / "patience.py"})

ENDED_BY = {"join": 0, "result": 0, "communicate": 1}
"""Verbs that wait for something else to end, and where their limit stands among the arguments."""


def short_waits(tree: ast.AST) -> Iterator[int]:
    """Yield the lines where something is waited for without an end, or with one of its own."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=value, attr=verb)) if verb in ENDED_BY:
                if _is_wait(value, verb, node) and not _has_the_far_end(node, ENDED_BY[verb]):
                    yield node.lineno
            case ast.BinOp(
                left=ast.Call(func=ast.Attribute(attr="monotonic")),
                op=ast.Add(),
                right=ast.Constant(),
            ):
                yield node.lineno
            case _:
                pass


def _is_wait(value: ast.expr, verb: str, call: ast.Call) -> bool:
    if verb == "join":
        # Texts and paths are joined with something, threads and processes with at most a limit.
        return not call.args and not isinstance(value, ast.Constant)
    if verb == "result":
        # Stories of the tests have results too, of tools.
        return any(it.arg == "timeout" for it in call.keywords) or any(
            isinstance(it, ast.Constant) and isinstance(it.value, int | float) for it in call.args
        )
    return True


def _has_the_far_end(call: ast.Call, place: int) -> bool:
    limits = [
        *call.args[place : place + 1],
        *(it.value for it in call.keywords if it.arg == "timeout"),
    ]
    return any(isinstance(limit, ast.Name) and limit.id == "PATIENCE" for limit in limits)


def test_every_wait_has_the_same_far_end() -> None:
    waits = {
        str(file.relative_to(TESTS)): list(short_waits(ast.parse(file.read_text("utf-8"))))
        for file in FILES
    }
    assert {name: lines for name, lines in waits.items() if lines} == {}


@pytest.mark.parametrize(
    ("wait", "is_found"),
    [
        ("thread.join()", True),
        ("thread.join(timeout=30)", True),
        ("future.result(timeout=60)", True),
        ("future.result(60)", True),
        ("process.communicate(timeout=30)", True),
        ("process.communicate()", True),
        ("deadline = time.monotonic() + 60", True),
        ("thread.join(timeout=PATIENCE)", False),
        ("future.result(PATIENCE)", False),
        ("process.communicate(None, PATIENCE)", False),
        ("', '.join(names)", False),
        ("deadline = time.monotonic() + PATIENCE", False),
    ],
)
def test_a_wait_of_its_own_is_found(wait: str, is_found: bool) -> None:
    assert bool(list(short_waits(ast.parse(wait)))) is is_found
