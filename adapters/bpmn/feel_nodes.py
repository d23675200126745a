"""What a FEEL expression is made of, as far as tools are concerned: literals, names and calls.

All else is an `Operation`, named as Camunda's engine names it, with its operands in the order in
which they stand in the text. Parentheses leave no trace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias, assert_never


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
