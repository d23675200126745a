"""What wraps a tool cannot drop its context, whatever wrapper there is or will be."""

import ast
import importlib
import inspect
import logging
import pkgutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import onrecord
from onrecord.adapters import tools as package
from onrecord.adapters.tools.tool import Tool
from onrecord.domain.errors import InvalidContent
from onrecord.domain.tool_context import EMPTY, ToolCallContext
from tests.adapters.tools.conversations import call_tools, recorded_results

CONTEXT = ToolCallContext(tenant_id="acme", token="canary-token-41")
FOLDER = Path(next(iter(package.__path__)))


@onrecord.tool
def who(context: ToolCallContext, greeting: str = "Hello") -> str:
    """Say whose tool it is."""
    return f"{greeting} {context.get('tenant_id')}"


@onrecord.tool
async def who_later(context: ToolCallContext, greeting: str = "Hello") -> str:
    """Say whose tool it is, later."""
    return f"{greeting} {context.get('tenant_id')}"


def loud(text: str) -> str:
    return text.upper()


def unseen(_arguments: object, _given: object) -> None: ...


# What each wrapper is given beside the tool. A wrapper that is not listed fails the test.
WRAPPERS: dict[str, tuple[Any, ...]] = {
    "Tool.renamed": ("whoever",),
    "Tool.described": ("Say it.",),
    "Tool.transformed": (loud,),
    "Tool.truncated": (),
    "Tool.once": ("Go on.",),
    "Tool.answering": (),
    "Tool.observed": (unseen,),
    "Tool.with_options": (),
    "unless_given": (frozenset[str](),),
}


def wrappers() -> dict[str, Callable[..., Tool]]:
    """Whatever in the package takes a tool and gives one: methods of `Tool`, functions, classes."""
    found: dict[str, Callable[..., Tool]] = {}
    for name, method in inspect.getmembers(Tool, inspect.isfunction):
        if not name.startswith("_") and method.__annotations__.get("return") == "Tool":
            found[f"Tool.{name}"] = method
    for listed in pkgutil.walk_packages(package.__path__, "onrecord.adapters.tools."):
        module = importlib.import_module(listed.name)
        members: dict[str, Any] = dict(vars(module))
        for name, member in members.items():
            if getattr(member, "__module__", None) == module.__name__ and wraps(member):
                found[name] = member
    return found


def wraps(member: Any) -> bool:
    """Whether it takes a `Tool` and gives one, or is a class that holds one and can be called."""
    hints = dict[str, object](getattr(member, "__annotations__", {}))
    given = hints.pop("return", None)
    if inspect.isclass(member):
        return "Tool" in hints.values() and "__call__" in vars(member)
    return callable(member) and given == "Tool" and "Tool" in hints.values()


def test_each_wrapper_is_tested() -> None:
    assert set(wrappers()) == set(WRAPPERS)


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_a_wrapper_hands_on_the_context_and_the_arguments(wrapper: str) -> None:
    seen: list[tuple[object, object]] = []

    def probe(arguments: Any, context: ToolCallContext) -> str:
        seen.append((arguments, context))
        return "given"

    arguments = {"greeting": "Moin"}
    wrapped = wrappers()[wrapper](Tool(who.definition, probe), *WRAPPERS[wrapper])
    wrapped.call(arguments, CONTEXT)
    ((got, context),) = seen
    assert got is arguments
    assert context is CONTEXT


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("wrapper", WRAPPERS)
async def test_a_wrapper_of_an_asynchronous_tool_does_so_too(wrapper: str) -> None:
    wrapped = wrappers()[wrapper](who_later, *WRAPPERS[wrapper])
    assert wrapped.is_async
    given: Any = wrapped.call({}, CONTEXT)
    assert str(await given).lower() == "hello acme"


def test_wrappers_around_wrappers_hand_it_on() -> None:
    wrapped = who
    for wrapper, given in WRAPPERS.items():
        wrapped = wrappers()[wrapper](wrapped, *given)
    assert wrapped.call({"greeting": "Moin"}, CONTEXT) == "MOIN ACME"
    assert wrapped.name == "whoever"
    assert wrapped.definition.description == "Say it."
    assert wrapped.definition.input_schema == who.definition.input_schema


def calls() -> Iterator[tuple[str, ast.Call]]:
    """Each place of the package where a tool is called."""
    for path in sorted(FOLDER.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            match node:
                case ast.Call(func=ast.Attribute(attr="call")):
                    yield f"{path.name}:{node.lineno}", node
                case _:
                    continue


def test_a_tool_is_called_with_two_arguments_everywhere() -> None:
    """There is no other way to call one, and so none that forgets the context."""
    made = list(calls())
    assert made
    odd = [place for place, call in made if len(call.args) != 2 or call.keywords]
    assert odd == []


def test_no_call_of_a_tool_is_given_another_context_than_its_own() -> None:
    """The second argument is what came in: never an empty context, or one made on the spot."""
    second = {ast.unparse(call.args[1]) for _, call in calls()}
    assert second == {"context", "work.context"}


def test_what_renames_changes_neither_the_tool_nor_its_source() -> None:
    renamed = who.renamed("other")
    assert (who.name, renamed.name) == ("who", "other")
    assert renamed.source is who.source
    with pytest.raises(InvalidContent):
        who.renamed(" ")


def test_what_transforms_changes_results_and_no_errors() -> None:
    def fail() -> object:
        return onrecord.Failed("no")

    assert who.transformed(loud).call({}, CONTEXT) == "HELLO ACME"
    failing = onrecord.tool(fail).transformed(loud)
    assert failing.call({}, CONTEXT) == onrecord.Failed("no")


def test_a_text_of_too_many_characters_is_cut_and_says_so() -> None:
    @onrecord.tool
    def read(length: int) -> str:
        return "x" * length

    assert read.truncated().call({"length": 10_000}, CONTEXT) == "x" * 10_000
    assert (
        read.truncated().call({"length": 10_001}, CONTEXT)
        == "x" * 10_000 + "\n... [truncated, 10000 chars shown]"
    )
    assert read.truncated(1).call({"length": 2}, CONTEXT) == "x\n... [truncated, 1 chars shown]"


def test_a_cut_is_marked_in_the_callers_own_words() -> None:
    @onrecord.tool
    def read() -> str:
        return "abc"

    assert read.truncated(2, marker=" {cut} after {characters}").call({}, CONTEXT) == (
        "ab {cut} after 2"
    )
    assert read.truncated(2, marker="").call({}, CONTEXT) == "ab"


def test_nothing_is_cut_to_less_than_nothing() -> None:
    with pytest.raises(InvalidContent, match="0 or more"):
        who.truncated(-1)


def test_what_is_no_text_is_not_cut() -> None:
    @onrecord.tool
    def read() -> list[str]:
        return ["x" * 20_000]

    assert read.truncated().call({}, CONTEXT) == ["x" * 20_000]


def test_what_observes_is_told_of_results_and_of_exceptions() -> None:
    seen: list[object] = []

    def fail() -> None:
        raise LookupError("lost")

    who.observed(lambda arguments, given: seen.append((arguments, given))).call({}, CONTEXT)
    failing = onrecord.tool(fail).observed(lambda _arguments, given: seen.append(given))
    with pytest.raises(LookupError) as raised:
        failing.call({}, CONTEXT)
    assert seen == [({}, "Hello acme"), raised.value]


def test_what_an_observer_raises_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def watch(_arguments: object, _given: object) -> None:
        raise ValueError("canary-41")

    with caplog.at_level(logging.DEBUG):
        assert who.observed(watch).call({}, CONTEXT) == "Hello acme"
    assert "an observer of the tool 'who' failed: ValueError" in caplog.text
    assert "canary" not in caplog.text


def test_a_wrapped_tool_is_run_as_any_other() -> None:
    chat = onrecord.connect("memory://").conversation("support/4711")
    call_tools(chat, ("hail", {"greeting": "Moin"}), ("hail_later", {}))
    wrapped = who.renamed("hail").transformed(loud)
    later = who_later.renamed("hail_later").transformed(loud)
    onrecord.ToolRunner(chat, [wrapped, later], context=CONTEXT).run()
    assert recorded_results(chat) == [
        ("call_1", "MOIN ACME", False),
        ("call_2", "HELLO ACME", False),
    ]


def test_without_a_context_it_is_the_empty_one() -> None:
    assert who.renamed("x").call({}, EMPTY) == "Hello None"
