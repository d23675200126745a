"""FEEL, the expression language of DMN and of BPMN engines: from a text to its tree.

The grammar is in feel.lark, the tree in feel_nodes.py. Nothing is evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from importlib import resources
from typing import Any, Final, TypeAlias, cast

from onrecord.adapters.bpmn.feel_nodes import (
    Boolean,
    Call,
    Context,
    List,
    Node,
    Null,
    Number,
    Operation,
    Reference,
    String,
)
from onrecord.domain.errors import InvalidModel, NotInstalled

try:
    from lark import Lark, Token, Transformer, UnexpectedInput
    from lark import v_args as _with_arguments  # pyright: ignore[reportUnknownVariableType]  # lark's
except ModuleNotFoundError as exc:
    raise NotInstalled("FEEL, the language of expressions in BPMN,", "lark", "bpmn") from exc

LONGEST: Final = 100_000
"""Characters: no expression that is longer is read."""

_SHOWN: Final = 500

_Pair: TypeAlias = tuple[str, Node]
_Arguments: TypeAlias = tuple[tuple[Node, ...], tuple[_Pair, ...]]

_OPERATIONS: Final = {
    "or": "Disjunction",
    "and": "Conjunction",
    "=": "Equal",
    "!=": "NotEqual",
    "<": "LessThan",
    "<=": "LessOrEqual",
    ">": "GreaterThan",
    ">=": "GreaterOrEqual",
    "+": "Addition",
    "-": "Subtraction",
    "*": "Multiplication",
    "/": "Division",
    "**": "Exponentiation",
}
_ESCAPE: Final = re.compile(r"""\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{5,6})|([nrt"'\\]))""")
_ESCAPED: Final = {"n": "\n", "r": "\r", "t": "\t"}


def parse(expression: str) -> Node:
    """Return the tree of an expression, without the `=` that stands before it in a model.

    InvalidModel for what is none. Names may hold spaces; what is a function is not looked up.
    """
    if len(expression) > LONGEST:
        raise _failed(expression, f"it has more than {LONGEST:,} characters")
    try:
        return _parser()(expression)
    except UnexpectedInput as exc:
        raise _failed(expression, _reason(expression, exc)) from exc


@cache
def _parser() -> Callable[[str], Node]:
    """Return what parses, made once: that takes a tenth of a second."""
    grammar = resources.files("onrecord.adapters.bpmn").joinpath("feel.lark").read_text("utf-8")
    parser = Lark(grammar, parser="lalr", transformer=_Reading(), maybe_placeholders=False)
    # With a transformer, what comes out is what that makes; lark's types know trees only.
    return cast("Callable[[str], Node]", parser.parse)  # pyright: ignore[reportUnknownMemberType]  # lark's


def _reason(expression: str, exc: UnexpectedInput) -> str:
    token = re.compile(r"\w{1,40}|\S").match(expression, _place(expression, exc))
    if token is None:
        return "it ends too early"
    return f"unexpected {token[0]!r} at line {exc.line}, column {exc.column}"


def _place(expression: str, exc: UnexpectedInput) -> int:
    """Return where it was found: the end has no place of its own."""
    is_end = isinstance(token := getattr(exc, "token", None), Token) and token.type == "$END"
    return len(expression) if is_end or exc.pos_in_stream is None else exc.pos_in_stream


def _failed(expression: str, why: str) -> InvalidModel:
    shown = expression if len(expression) <= _SHOWN else f"{expression[:_SHOWN]}..."
    return InvalidModel(
        f"Failed to parse FEEL expression: failed to parse expression '{shown}': {why}"
    )


def _text(literal: str) -> str:
    """Return what a string literal says; a pair of surrogates is one character, half of one is none.

    No request can carry a half: U+FFFD stands in its place.
    """
    text = _ESCAPE.sub(_character, literal[1:-1])
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _character(escape: re.Match[str]) -> str:
    short, long, plain = escape.groups()
    if plain:
        return _ESCAPED.get(plain, plain)
    code = int(short or long, 16)
    return chr(code) if code <= 0x10FFFF else escape[0]


def _word(token: Token) -> str:
    return token[1:-1] if token.type == "QUOTED" else str(token)


def _operation(kind: str) -> Callable[..., Node]:
    """Return what makes an operation of a rule's children.

    The words of the language, names and types are left out: all of them are texts.
    """

    def make(_: object, *children: object) -> Node:
        nodes = tuple(cast("Node", child) for child in children if not isinstance(child, str))
        return Operation(kind, nodes)

    return make


@_with_arguments(inline=True)
class _Reading(Transformer[Token, Any]):
    """From what the grammar finds to nodes, while it is found: one method a rule of feel.lark."""

    between = _operation("Between")
    membership = _operation("In")
    instance = _operation("InstanceOf")
    tests = _operation("AtLeastOne")
    conditional = _operation("If")
    loop = _operation("For")
    some = _operation("SomeItem")
    every = _operation("EveryItem")
    iterator = _operation("Iterator")
    function = _operation("FunctionDefinition")
    range = _operation("ConstRange")

    def start(self, node: Node) -> Node:
        return node

    def operation(self, left: Node, sign: Token, right: Node) -> Node:
        return Operation(_OPERATIONS[sign], (left, right))

    def unary_test(self, sign: Token, operand: Node) -> Node:
        return Operation(f"Input{_OPERATIONS[sign]}", (operand,))

    def negation(self, _sign: Token, operand: Node) -> Node:
        return Operation("ArithmeticNegation", (operand,))

    def temporal(self, *children: object) -> Node:
        return Operation("Temporal", (String(_text(cast("Token", children[-1]))),))

    def filter(self, base: Node, condition: Node) -> Node:
        return Operation("Filter", (base, condition))

    def path(self, base: Node, name: str) -> Node:
        if isinstance(base, Reference):
            return Reference((*base.segments, name))
        return Operation("PathExpression", (base,))

    def call(self, called: Node, arguments: _Arguments = ((), ())) -> Node:
        if isinstance(called, Reference) and len(called.segments) == 1:
            return Call(called.segments[0], *arguments)
        positional, named = arguments
        operands = (called, *positional, *(value for _, value in named))
        return Operation("QualifiedFunctionInvocation", operands)

    def arguments(self, *values: Node) -> _Arguments:
        return values, ()

    def named_arguments(self, *pairs: _Pair) -> _Arguments:
        return (), pairs

    def named(self, name: str, value: Node) -> _Pair:
        return name, value

    def reference(self, name: str) -> Node:
        return Reference((name,))

    def keyworded(self, name: Token) -> Node:
        return Reference((" ".join(name.split()),))

    def number(self, spelling: Token) -> Node:
        return Number(str(spelling))

    def string(self, literal: Token) -> Node:
        return String(_text(literal))

    def true(self, _word: Token) -> Node:
        return Boolean(True)

    def false(self, _word: Token) -> Node:
        return Boolean(False)

    def null(self, _word: Token) -> Node:
        return Null()

    def list(self, *items: Node) -> Node:
        return List(items)

    def context(self, *entries: _Pair) -> Node:
        return Context(entries)

    def entry(self, key: str, value: Node) -> _Pair:
        return key, value

    def key(self, *words: Token) -> str:
        if words[0].type == "STRING":
            return _text(words[0])
        return " ".join(map(_word, words))

    def name(self, *words: Token) -> str:
        return " ".join(map(_word, words))

    def type(self, *_children: object) -> str:
        return ""

    formal = field = type_name = type
