"""FEEL for property tests: trees, and the texts that say them, with comments and strings that lie."""

from typing import assert_never

from hypothesis import strategies as st

from onrecord.adapters.bpmn.feel import (
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

WORDS = ("a", "url", "order id", "Größe", "名前", "_x1", "$ref", "iffy", "inner", "notes")
QUOTED = ("user-id", "a+b", "if", "fromAi(", "with space")
SIGNS = {
    "Disjunction": "or",
    "Conjunction": "and",
    "Equal": "=",
    "LessThan": "<",
    "GreaterOrEqual": ">=",
    "Addition": "+",
    "Subtraction": "-",
    "Multiplication": "*",
    "Division": "/",
    "Exponentiation": "**",
}

names = st.sampled_from(WORDS) | st.sampled_from(QUOTED)
texts = st.text(
    st.sampled_from('ab"\\\n\t é😀/*{}[]()=') | st.characters(codec="utf-8"), max_size=8
)
numbers = st.from_regex(r"[0-9]{1,5}(\.[0-9]{1,3})?", fullmatch=True).map(Number)
strings = st.one_of(texts, st.just("fromAi(toolCall.never)")).map(String)
references = st.lists(names, min_size=1, max_size=3).map(lambda found: Reference(tuple(found)))
keys = names | texts

json_leaves = st.one_of(st.builds(Null), st.booleans().map(Boolean), numbers, strings)
json_literals = st.recursive(
    json_leaves,
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: List(tuple(items)))
        | st.lists(st.tuples(keys, inner), max_size=3).map(lambda pairs: Context(tuple(pairs)))
    ),
    max_leaves=5,
)
contexts = st.lists(st.tuples(keys, json_literals), max_size=3).map(
    lambda pairs: Context(tuple(pairs))
)


@st.composite
def from_ai_calls(draw: st.DrawFn) -> Call:
    """A call that declares a parameter, by position or by name."""
    arguments: list[tuple[str, Node]] = [("value", draw(references))]
    for name, values in (("description", strings), ("type", strings)):
        arguments.append((name, draw(values)))
    for name in ("schema", "options"):
        arguments.append((name, draw(contexts)))
    kept = arguments[: draw(st.integers(1, 5))]
    if draw(st.booleans()):
        return Call("fromAi", named=tuple(draw(st.permutations(kept))))
    return Call("fromAi", positional=tuple(value for _, value in kept))


def _grown(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    some = st.lists(inner, max_size=3).map(tuple)
    pairs = st.lists(st.tuples(names, inner), min_size=1, max_size=3).map(tuple)
    called = st.sampled_from(("string", "get or else", "list contains", "fromai", "asFromAi"))
    return st.one_of(
        some.map(List),
        st.lists(st.tuples(keys, inner), max_size=3).map(lambda found: Context(tuple(found))),
        st.builds(Call, called, positional=some),
        st.builds(Call, called, named=pairs),
        st.builds(Operation, st.sampled_from(tuple(SIGNS)), st.tuples(inner, inner)),
        st.builds(Operation, st.just("ArithmeticNegation"), st.tuples(inner)),
        st.builds(Operation, st.just("If"), st.tuples(inner, inner, inner)),
        st.builds(Operation, st.just("Filter"), st.tuples(inner, inner)),
        st.builds(Operation, st.just("Between"), st.tuples(inner, inner, inner)),
        st.builds(Operation, st.just("ConstRange"), st.tuples(inner, inner)),
        st.builds(_loop, inner, inner),
    )


def _loop(over: Node, result: Node) -> Node:
    return Operation("For", (Operation("Iterator", (over,)), result))


trees: st.SearchStrategy[Node] = st.recursive(
    st.one_of(json_leaves, references, from_ai_calls()), _grown, max_leaves=8
)


def written(node: Node, space: str = " ") -> str:
    """Return a text that says the tree; `space` stands where space may stand."""

    def all_of(nodes: tuple[Node, ...]) -> list[str]:
        return [written(each, space) for each in nodes]

    def separated(parts: list[str]) -> str:
        return f",{space}".join(parts)

    match node:
        case List(items=items):
            return f"[{space}{separated(all_of(items))}]"
        case Context(entries=entries):
            pairs = [f"{key(each)}:{space}{written(value, space)}" for each, value in entries]
            return f"{{{space}{separated(pairs)}}}"
        case Call(name=called, positional=positional, named=()):
            return f"{called}({space}{separated(all_of(positional))})"
        case Call(name=called, named=named):
            pairs = [f"{name(each)}:{space}{written(value, space)}" for each, value in named]
            return f"{called}({space}{separated(pairs)})"
        case Operation(kind=kind, operands=operands):
            return _operation(kind, [f"({each})" for each in all_of(operands)], space)
        case leaf:
            return _leaf(leaf)


def _leaf(node: Null | Boolean | Number | String | Reference) -> str:
    match node:
        case Null():
            return "null"
        case Boolean(value=value):
            return str(value).lower()
        case Number(spelling=spelling):
            return spelling
        case String(value=value):
            return literal(value)
        case Reference(segments=segments):
            return ".".join(map(name, segments))
        case _:
            assert_never(node)


def _operation(kind: str, operands: list[str], space: str) -> str:
    first, *others = operands
    match kind, others:
        case "ArithmeticNegation", []:
            return f"-{first}"
        case "If", [then, other]:
            return f"if{space}{first}{space}then {then} else {other}"
        case "Filter", [condition]:
            return f"{first}[{condition}]"
        case "Between", [low, high]:
            return f"{first} between {low} and{space}{high}"
        case "ConstRange", [end]:
            return f"[{first}..{end}]"
        case "For", [result]:
            return f"for i in {first} return {result}"
        case "Iterator", []:
            return first
        case sign, [other]:
            return f"{first}{space}{SIGNS[sign]}{space}{other}"
        case _:
            raise AssertionError(kind)


def name(text: str) -> str:
    return f"`{text}`" if text in QUOTED else text


def key(text: str) -> str:
    return name(text) if text in WORDS + QUOTED else literal(text)


def literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
