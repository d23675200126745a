"""Expressions as they occur in process models, and what is none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onrecord.adapters.bpmn.feel import (
    LONGEST,
    Boolean,
    Call,
    Context,
    List,
    Null,
    Number,
    Operation,
    Reference,
    String,
    parse,
    spelled,
    walk,
)
from onrecord.domain.errors import InvalidModel
from tests.adapters.bpmn.feel_texts import trees, written

A, B, C = (Reference((name,)) for name in "abc")
ONE, TWO = Number("1"), Number("2")


@given(trees, st.sampled_from((" ", "\n\t", " /* fromAi(toolCall.x) */ ", " // fromAi()\n")))
def test_what_a_tree_says_is_read_as_that_tree(tree: Operation, space: str) -> None:
    # An iterator is written bare, and parentheses leave no trace.
    assert parse(written(tree, space)) == tree


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("null", Null()),
        ("true", Boolean(True)),
        ("1.50", Number("1.50")),
        (".5", Number(".5")),
        ('"a \\"b\\" \\n\\t\\\\ \\u00e9 \\uD83D\\uDE00 \\d"', String('a "b" \n\t\\ é 😀 \\d')),
        ('"\\uD83D, \\uDE00"', String("\ufffd, \ufffd")),
        ('"two\nlines"', String("two\nlines")),
        ("toolCall.url", Reference(("toolCall", "url"))),
        ("toolCall.`user-id`", Reference(("toolCall", "user-id"))),
        ("order total.sum", Reference(("order total", "sum"))),
        ("toolCall.in", Reference(("toolCall", "in"))),
        ('{type: "x", if: 1, "a b": 2, date and time: 3}', None),
        ("date and time (a)", Call("date and time", (A,))),
        ("get or else(a, b)", Call("get or else", (A, B))),
        ("f(start position: 1)", Call("f", named=(("start position", ONE),))),
        ("x.f(1)", Operation("QualifiedFunctionInvocation", (Reference(("x", "f")), ONE))),
        ("f(1).y", Operation("PathExpression", (Call("f", (ONE,)),))),
        ('@"2026-01-01"', Operation("Temporal", (String("2026-01-01"),))),
        ("a + b * c", Operation("Addition", (A, Operation("Multiplication", (B, C))))),
        ("a - b - c", Operation("Subtraction", (Operation("Subtraction", (A, B)), C))),
        ("-1", Operation("ArithmeticNegation", (ONE,))),
        ("a or b and c", Operation("Disjunction", (A, Operation("Conjunction", (B, C))))),
        (
            "a between 1 and 2 and b",
            Operation("Conjunction", (Operation("Between", (A, ONE, TWO)), B)),
        ),
        ("a in (1, 2)", Operation("In", (A, Operation("AtLeastOne", (ONE, TWO))))),
        ("a in < 2", Operation("In", (A, Operation("InputLessThan", (TWO,))))),
        ("a[> 1]", Operation("Filter", (A, Operation("InputGreaterThan", (ONE,))))),
        ("a instance of list<number>", Operation("InstanceOf", (A,))),
        ("a instance of context<b: string, c d: number>", Operation("InstanceOf", (A,))),
        ("a instance of function<number> -> days and time duration", None),
        ("function(a: number, b) a", Operation("FunctionDefinition", (A,))),
        ('function(a) external {java: {class: "x"}}', None),
        (
            "some x in a, y in 1..2 satisfies b",
            Operation(
                "SomeItem",
                (Operation("Iterator", (A,)), Operation("Iterator", (ONE, TWO)), B),
            ),
        ),
        ("every x in a satisfies b", Operation("EveryItem", (Operation("Iterator", (A,)), B))),
        ("if a then b else c", Operation("If", (A, B, C))),
        ("a // b\n + b /* c */ ", Operation("Addition", (A, B))),
    ],
)
def test_an_expression_is_read_as_it_is_meant(text: str, node: object) -> None:
    read = parse(text)
    if node is not None:
        assert read == node


@pytest.mark.parametrize("text", ["[1..2]", "(1..2)", "]1..2]", "[1..2[", "]1..2["])
def test_a_range_may_leave_out_either_end(text: str) -> None:
    assert parse(text) == Operation("ConstRange", (ONE, TWO))
    assert parse(f"a in {text} and b") == Operation(
        "Conjunction", (Operation("In", (A, Operation("ConstRange", (ONE, TWO)))), B)
    )


def test_an_empty_list_in_a_range_is_no_range() -> None:
    assert parse("[([])..1]") == Operation("ConstRange", (List(()), ONE))
    assert parse("[[]..1]") == parse("[([])..1]")


def test_any_word_is_a_key() -> None:
    read = parse('{type: 1, if: 2, "a b": 3, date and time: 4, `x-y`: 5}')
    assert isinstance(read, Context)
    assert [key for key, _ in read.entries] == ["type", "if", "a b", "date and time", "x-y"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it ends too early"),
        ("1 +", "it ends too early"),
        ("(a", "it ends too early"),
        ("a b(", "it ends too early"),
        ("a ! b", "unexpected '!' at line 1, column 3"),
        ("a\n+ )", "unexpected ')' at line 2, column 3"),
        ("if a then b", "it ends too early"),
        ("f(a, b: 1)", "unexpected ':' at line 1, column 7"),
        ("f(b: 1, a)", "unexpected ')' at line 1, column 10"),
        ("a == b", "unexpected '=' at line 1, column 4"),
        ("a \0 b", "unexpected '\\x00' at line 1, column 3"),
        ('"open', "unexpected '\"' at line 1, column 1"),
    ],
)
def test_what_is_no_expression_is_said_in_the_engines_words(text: str, why: str) -> None:
    with pytest.raises(InvalidModel) as caught:
        parse(text)
    beginning = "Failed to parse FEEL expression: failed to parse expression"
    assert str(caught.value) == f"{beginning} '{text}': {why}"


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ("(" * 10_000 + "1" + ")" * 10_000, 1),
        ("[" * 10_000 + "1" + "]" * 10_000, 10_001),
        ("-" * 10_000 + "1", 10_001),
        ("if a then " * 5_000 + "b" + " else c" * 5_000, 15_001),
        ("a" + ".b" * 10_000, 1),
        ("f(" * 10_000 + ")" * 10_000, 10_000),
    ],
)
def test_depth_costs_no_stack(text: str, nodes: int) -> None:
    read = parse(text)
    assert sum(1 for _ in walk(read, is_entered=lambda _: True)) == nodes
    assert len(spelled(read)) < 100_000


def test_what_is_too_deep_to_be_closed_is_an_error() -> None:
    with pytest.raises(InvalidModel, match="it ends too early"):
        parse("(" * 10_000)


def test_what_is_too_long_is_not_read_nor_said_in_full() -> None:
    with pytest.raises(InvalidModel, match="more than 100,000 characters") as caught:
        parse("a" * (LONGEST + 1))
    assert len(str(caught.value)) < 1_000
