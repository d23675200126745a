"""What may be changed on a line of Python: one operator, constant, condition or statement at a time."""

from __future__ import annotations

import ast
import re
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


_NOT_RUN: Final = ("annotation", "returns", "decorator_list", "type_params", "bases")
_type_alias: Final = re.compile(r"_?[A-Z]\w*[a-z]\w*").fullmatch
_sentence: Final = re.compile(r"\S+ \S+ \S+").search


@dataclass(frozen=True, slots=True)
class Mutation:
    """One change of a file: the text between two offsets in bytes gives way to another.

    `statement` holds the first and the last line of the statement around it, without those inside.
    """

    line: int
    what: str
    start: int
    end: int
    text: str
    statement: tuple[int, int]
    at_import: bool

    def of(self, source: bytes) -> bytes:
        """The file with the change."""
        return source[: self.start] + self.text.encode() + source[self.end :]


@dataclass(frozen=True, slots=True)
class _Place:
    """The innermost statement around a part, and whether it runs when its module is imported."""

    statement: ast.stmt
    at_import: bool

    def of(self, parent: ast.AST, field: str, node: ast.AST) -> _Place:
        """The place of a part of a part."""
        function = isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        return _Place(
            node if isinstance(node, ast.stmt) else self.statement,
            self.at_import and not (function and field == "body"),
        )

    @property
    def lines(self) -> tuple[int, int]:
        """The first and the last line of the statement, without those of the statements inside."""
        body: list[ast.stmt] = getattr(self.statement, "body", [])
        end = body[0].lineno - 1 if body else self.statement.end_lineno
        return self.statement.lineno, max(self.statement.lineno, end or 0)


def mutations(source: bytes) -> Iterator[Mutation]:
    """All changes of a file that this module knows, in the order of its lines."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    changes = [
        Mutation(
            node.lineno,
            what,
            starts[node.lineno - 1] + node.col_offset,
            starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0),
            text,
            place.lines,
            place.at_import,
        )
        for statement in ast.parse(source).body
        if not _is_passed_over(statement)
        for node, place in _running(statement, _Place(statement, at_import=True))
        for what, text in _changes(node)
    ]
    yield from sorted(changes, key=lambda one: (one.line, one.start, one.what))


def _running(node: ast.AST, place: _Place) -> Iterator[tuple[ast.expr | ast.stmt, _Place]]:
    """The parts of a part that run, itself first: no annotations and decorators."""
    match node:
        case ast.Call(func=ast.Name(id="cast"), args=[_, value]):
            yield from _running(value, place)
            return
        case ast.expr() | ast.stmt():
            yield node, place
        case _:
            pass
    for field, value in ast.iter_fields(node):
        if field in _NOT_RUN:
            continue
        for child in value if isinstance(value, list) else [value]:  # pyright: ignore[reportUnknownVariableType]
            if isinstance(child, ast.AST) and not _is_passed_over(child, place.statement):
                yield from _running(child, place.of(node, field, child))


def _is_passed_over(node: ast.AST, statement: ast.stmt | None = None) -> bool:
    """Whether a part says nothing to the program: imports, docstrings, types, texts for people."""
    match node:
        case ast.Import() | ast.ImportFrom() | ast.JoinedStr():
            return True
        case ast.Expr(value=ast.Constant()) | ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name == "__all__" or bool(_type_alias(name))
        case ast.AnnAssign(annotation=ast.Name(id=kind)):
            return kind == "TypeAlias"
        case ast.FunctionDef(body=[*_, ast.Expr(value=ast.Constant(value=last))]):
            return last is ... or len(node.body) == 1
        case ast.Constant(value=str(text)):
            return bool(_sentence(text)) and _tells_people(statement)
        case _:
            return False


def _tells_people(statement: ast.stmt | None) -> bool:
    match statement:
        case ast.Raise():
            return True
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="logger" | "warnings")))):
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
        case ast.Return(value=ast.Constant(value=None)) | ast.Delete(targets=[ast.Name()]):
            return
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
