"""What may be changed on a line of Python: one operator, constant, condition or statement at a time."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Final

_OPPOSITES: Final[tuple[tuple[type[ast.cmpop], type[ast.cmpop]], ...]] = (
    (ast.Eq, ast.NotEq),
    (ast.Is, ast.IsNot),
    (ast.In, ast.NotIn),
    (ast.Lt, ast.LtE),
    (ast.Gt, ast.GtE),
)
_COMPARED: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = dict(
    [*_OPPOSITES, *((other, one) for one, other in _OPPOSITES)]
)
_COUNTED: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}


@dataclass(frozen=True, slots=True)
class Mutation:
    """One change of a file: the text between two offsets in bytes gives way to another."""

    line: int
    what: str
    start: int
    end: int
    text: str

    def of(self, source: bytes) -> bytes:
        """The file with the change."""
        return source[: self.start] + self.text.encode() + source[self.end :]


def mutations(source: bytes) -> Iterator[Mutation]:
    """All changes of a file that this module knows, in the order of its lines."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = [
        Mutation(
            node.lineno,
            what,
            starts[node.lineno - 1] + node.col_offset,
            starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0),
            text,
        )
        for node in _running(ast.parse(source))
        for what, text in _changes(node)
    ]
    yield from sorted(found, key=lambda one: (one.line, one.start, one.what))


def _running(node: ast.AST) -> Iterator[ast.expr | ast.stmt]:
    """The parts of a tree that run: no annotations, imports, docstrings and texts in f-strings."""
    if isinstance(node, ast.expr | ast.stmt):
        yield node
    for name, held in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params", "bases"):
            continue
        for child in held if isinstance(held, list) else [held]:  # pyright: ignore[reportUnknownVariableType]
            if isinstance(child, ast.AST) and not _is_passed_over(child):
                yield from _running(child)


def _is_passed_over(node: ast.AST) -> bool:
    match node:
        case ast.Import() | ast.ImportFrom() | ast.JoinedStr():
            return True
        case ast.Expr(value=ast.Constant()) | ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case _:
            return False


def _changes(node: ast.expr | ast.stmt) -> Iterator[tuple[str, str]]:
    """What stands in the place of a part, each with what it is called."""
    match node:
        case ast.Compare() | ast.BoolOp() | ast.BinOp():
            yield from (("operator", f"({ast.unparse(other)})") for other in _operated(node))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "condition", f"({ast.unparse(operand)})"
        case ast.IfExp(test=test, body=body, orelse=orelse):
            yield "condition", f"({ast.unparse(ast.IfExp(test, orelse, body))})"
        case ast.Constant(value=value):
            yield from (("constant", repr(other)) for other in _valued(value))
        case ast.Return(value=ast.expr()):
            yield "result", "return None"
        case ast.Expr(value=ast.Call() | ast.Await()) | ast.Assign() | ast.AugAssign():
            yield "dropped statement", "pass"
        case ast.Raise() | ast.Continue() | ast.Break() | ast.Delete():
            yield "dropped statement", "pass"
        case _:
            return


def _operated(node: ast.Compare | ast.BoolOp | ast.BinOp) -> Iterator[ast.expr]:
    """An operation with another operator."""
    changed = deepcopy(node)
    match changed:
        case ast.Compare(ops=[first, *others]) if type(first) in _COMPARED:
            changed.ops = [_COMPARED[type(first)](), *others]
            yield changed
        case ast.BoolOp(op=joined):
            changed.op = ast.Or() if isinstance(joined, ast.And) else ast.And()
            yield changed
        case ast.BinOp(op=counted) if type(counted) in _COUNTED:
            changed.op = _COUNTED[type(counted)]()
            yield changed
        case _:
            return


def _valued(value: object) -> Iterator[object]:
    """A constant of the same kind."""
    match value:
        case bool():
            yield not value
        case int():
            yield value + 1
        case str():
            yield f"{value}-mutant"
        case _:
            return
