"""FEEL, the expression language of DMN and of BPMN engines: from a text to its tree.

The grammar is in feel.lark. Nothing is evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Final, TypeAlias, assert_never, cast

from onrecord.domain.errors import InvalidModel, NotInstalled

# What an expression is made of, as far as tools are concerned: literals, names and calls.
#
# All else is an `Operation`, named as Camunda's engine names it, with its operands in the order in
# which they stand in the text. Parentheses leave no trace.


@dataclass(frozen=True, slots=True)
class Null:
    """The literal `null`."""


@dataclass(frozen=True, slots=True)
class Boolean:
    """The literal `true` or `false`."""

    value: bool


@dataclass(frozen=True, slots=True)
class Number:
    """A number as it is spelled, without a sign."""

    spelling: str


@dataclass(frozen=True, slots=True)
class String:
    """A string literal, its escapes resolved."""

    value: str


@dataclass(frozen=True, slots=True)
class Reference:
    """A variable, or a path that begins with one: `toolCall.url` has two segments."""

    segments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class List:
    """A list literal."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Context:
    """A context literal: its entries, in order."""

    entries: tuple[tuple[str, Node], ...]


@dataclass(frozen=True, slots=True)
class Call:
    """A function called by its plain name, its arguments by position or else by name."""

    name: str
    positional: tuple[Node, ...] = ()
    named: tuple[tuple[str, Node], ...] = ()


@dataclass(frozen=True, slots=True)
class Operation:
    """Whatever else has operands: `Addition`, `If`, `Filter`, `PathExpression`..."""

    kind: str
    operands: tuple[Node, ...]


Node: TypeAlias = Null | Boolean | Number | String | Reference | List | Context | Call | Operation

_DEEPEST_SPELLED: Final = 4


def walk(node: Node, *, is_entered: Callable[[Node], bool]) -> Iterator[Node]:
    """Give the node and all below it in the order of the text; what is not entered has none below.

    Depth costs no stack.
    """
    waiting = [node]
    while waiting:
        current = waiting.pop()
        yield current
        if is_entered(current):
            waiting.extend(reversed(_below(current)))


def _below(node: Node) -> tuple[Node, ...]:
    match node:
        case List(items=nodes) | Operation(operands=nodes):
            return nodes
        case Context(entries=entries):
            return tuple(value for _, value in entries)
        case Call(positional=positional, named=named):
            return positional + tuple(value for _, value in named)
        case Null() | Boolean() | Number() | String() | Reference():
            return ()
        case _:
            assert_never(node)


def kind_of(node: Node) -> str:
    """Return the engine's word for a node: `ConstNumber`, `Ref`, `FunctionInvocation`, `Addition`."""
    match node:
        case Reference():
            return "Ref"
        case Call():
            return "FunctionInvocation"
        case Operation(kind=kind):
            return kind
        case Boolean():
            return "ConstBool"
        case Null() | Number() | String() | List() | Context():
            return f"Const{type(node).__name__}"
        case _:
            assert_never(node)


def spelled(node: Node, depth: int = 0) -> str:
    """Return the node as the engine's errors show it: `ConstList(List())`; `...` for what is deep."""
    if depth > _DEEPEST_SPELLED:
        return "..."
    match node:
        case Null():
            return kind_of(node)
        case Boolean() | Number() | String():
            return f"{kind_of(node)}({plain(node)})"
        case Reference(segments=segments):
            return f"Ref({_listed(segments)})"
        case List(items=items):
            return f"ConstList({_listed(spelled(item, depth + 1) for item in items)})"
        case Context(entries=entries):
            return f"ConstContext({_listed(_pairs(entries, depth))})"
        case Call(name=name):
            return f"FunctionInvocation({name},{_arguments(node, depth + 1)})"
        case Operation(kind=kind, operands=operands):
            return f"{kind}({','.join(spelled(each, depth + 1) for each in operands)})"
        case _:
            assert_never(node)


def plain(literal: Boolean | Number | String) -> str:
    """Return what a literal says, as text."""
    match literal:
        case Boolean(value=value):
            return str(value).lower()
        case Number(spelling=text) | String(value=text):
            return text


def _arguments(call: Call, depth: int) -> str:
    if call.named:
        given = ", ".join(f"{name} -> {spelled(value, depth)}" for name, value in call.named)
        return f"NamedFunctionParameters(Map({given}))"
    return (
        f"PositionalFunctionParameters({_listed(spelled(each, depth) for each in call.positional)})"
    )


def _pairs(entries: Iterable[tuple[str, Node]], depth: int) -> Iterator[str]:
    return (f"({key},{spelled(value, depth + 1)})" for key, value in entries)


def _listed(items: Iterable[str]) -> str:
    return f"List({', '.join(items)})"


# From a text to its tree.

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
