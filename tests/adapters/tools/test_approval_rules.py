"""A rule of approval decides about what the tool will get, and no error of it lets a call be made."""

import logging
from collections.abc import Callable
from datetime import date
from typing import Annotated, Any

import pytest
from pydantic import Field

import onrecord
from onrecord.domain.errors import InvalidContent
from onrecord.domain.tools import ToolDefinition
from tests.adapters.tools.conversations import call_tools, recorded_results

Rule = Callable[[dict[str, Any]], bool]


@pytest.fixture
def chat() -> onrecord.Conversation:
    return onrecord.connect("memory://", actor="ana").conversation("support/4711")


class Order:
    """A tool, and what it was called with."""

    def __init__(self) -> None:
        self.made: list[tuple[object, ...]] = []

    def ship(self, express: bool = False, euros: int = 500, day: date = date(2026, 1, 1)) -> str:
        """Ship it."""
        self.made.append((express, euros, day))
        return "shipped"

    def run(self, chat: onrecord.Conversation, rule: Rule | bool) -> onrecord.ToolRunner:
        """Run what is open, with a tool that has another name and other results."""
        tool = onrecord.tool(self.ship, needs_approval=rule)
        wrapped = tool.renamed("order").transformed(lambda value: value).once()
        runner = onrecord.ToolRunner(chat, [wrapped])
        runner.run()
        return runner


@pytest.mark.parametrize("spelling", ["true", "yes", 1, True])
def test_a_rule_gets_a_value_as_the_tool_gets_it_however_the_model_spells_it(
    chat: onrecord.Conversation, spelling: object
) -> None:
    order = Order()
    call_tools(chat, ("order", {"express": spelling}))
    runner = order.run(chat, lambda arguments: arguments["express"] is True)
    assert ([call.id for call in runner.waiting], order.made) == (["call_1"], [])


@pytest.mark.parametrize("arguments", [{}, None, ""])
def test_a_rule_gets_the_defaults_of_what_the_model_left_out(
    chat: onrecord.Conversation, arguments: object
) -> None:
    order = Order()
    call_tools(chat, ("order", arguments))
    runner = order.run(chat, lambda arguments: arguments.get("euros", 0) > 100)
    assert ([call.id for call in runner.waiting], order.made) == (["call_1"], [])


def test_a_rule_gets_the_objects_that_the_tool_gets(chat: onrecord.Conversation) -> None:
    order, seen = Order(), list[object]()

    def rule(arguments: dict[str, Any]) -> bool:
        seen.append(tuple(arguments.values()))
        return False

    call_tools(chat, ("order", {"euros": "7", "day": "2026-11-23"}))
    order.run(chat, rule)
    assert seen == order.made == [(False, 7, date(2026, 11, 23))]


def test_a_rule_gets_values_by_the_names_that_the_function_has_for_them(
    chat: onrecord.Conversation,
) -> None:
    def pay(euros: Annotated[int, Field(alias="amount")]) -> str:
        return f"paid {euros}"

    call_tools(chat, ("pay", {"amount": 7}), ("pay", {"amount": 700}))
    tool = onrecord.tool(pay, needs_approval=lambda arguments: arguments["euros"] > 100)
    runner = onrecord.ToolRunner(chat, [tool])
    assert [run.output for run in runner.run()] == ["paid 7"]
    assert [call.id for call in runner.waiting] == ["call_2"]


def test_what_a_rule_changes_changes_no_call(chat: onrecord.Conversation) -> None:
    made = list[object]()

    def empties(arguments: dict[str, Any]) -> bool:
        arguments["parcels"].clear()
        return False

    def send(parcels: list[str]) -> None:
        made.append(parcels)

    def call(arguments: dict[str, Any], _context: object) -> None:
        made.append(arguments["parcels"])

    given = onrecord.Tool(ToolDefinition(name="given", input_schema={"type": "object"}), call)
    tools = [each.with_options(needs_approval=empties) for each in (onrecord.tool(send), given)]
    call_tools(chat, ("send", {"parcels": ["a"]}), ("given", {"parcels": ["b"]}))
    onrecord.ToolRunner(chat, tools).run()
    assert made == [["a"], ["b"]]


def test_a_rule_of_a_tool_without_a_signature_gets_what_the_model_wrote(
    chat: onrecord.Conversation,
) -> None:
    seen = list[object]()

    def rule(arguments: dict[str, Any]) -> bool:
        seen.append(arguments)
        return False

    definition = ToolDefinition(name="given", input_schema={"type": "object"})
    given = onrecord.Tool(definition, lambda _arguments, _context: "done")
    tool = given.with_options(needs_approval=rule)
    call_tools(chat, ("given", {"express": "true"}), ("given", "no object"))
    onrecord.ToolRunner(chat, [tool]).run()
    assert seen == [{"express": "true"}]
    assert [text for _, text, _ in recorded_results(chat)] == [
        "done",
        "Error: the arguments are no JSON object but str",
    ]


def always(_arguments: object) -> bool:
    return True


@pytest.mark.parametrize("rule", [True, always])
def test_nobody_is_asked_about_arguments_that_the_tool_does_not_take(
    chat: onrecord.Conversation, rule: Rule | bool
) -> None:
    order = Order()
    call_tools(chat, ("order", {"euros": "many"}), ("order", {"cents": 7}), ("order", [7]))
    runner = order.run(chat, rule)
    assert (runner.waiting, chat.approvals(), order.made) == ((), (), [])
    assert [text.partition("not valid: ")[2] for _, text, _ in recorded_results(chat)[:2]] == [
        "euros: Input should be a valid integer, unable to parse string as an integer",
        "cents: there is no such argument",
    ]
    assert recorded_results(chat)[2] == (
        "call_3",
        "Error: the arguments are no JSON object but list",
        True,
    )


def raises(arguments: dict[str, Any]) -> bool:
    return bool(arguments["euros"] > "100")


class Vague:
    """A truth value that is none, as an array of numpy."""

    def __bool__(self) -> bool:
        raise ValueError("canary-4711")


def vague(_arguments: object) -> object:
    return Vague()


@pytest.mark.parametrize("rule", [raises, vague])
def test_where_a_rule_fails_a_person_is_asked_and_the_log_names_the_tool(
    chat: onrecord.Conversation, rule: Rule, caplog: pytest.LogCaptureFixture
) -> None:
    order = Order()
    call_tools(chat, ("order", {"euros": 4711}))
    with caplog.at_level(logging.WARNING, logger="onrecord"):
        runner = order.run(chat, rule)
    assert (recorded_results(chat), order.made) == ([], [])
    assert [call.id for call in runner.waiting] == ["call_1"]
    assert [each.call.id for each in chat.approvals()] == ["call_1"]
    assert "needs_approval of the tool 'order' failed" in caplog.text
    assert "4711" not in caplog.text

    chat.approve("call_1")
    assert [run.output for run in runner.run()] == ["shipped"]


async def later(_arguments: object) -> bool:
    return False


def hidden(arguments: object) -> object:
    """It is no coroutine function, and returns a coroutine."""
    return later(arguments)


@pytest.mark.parametrize("rule", [hidden])
def test_a_rule_that_returns_a_coroutine_asks_a_person(
    chat: onrecord.Conversation, rule: Rule, caplog: pytest.LogCaptureFixture
) -> None:
    order = Order()
    call_tools(chat, ("order", {}))
    runner = order.run(chat, rule)
    assert ([call.id for call in runner.waiting], order.made) == (["call_1"], [])
    assert "is asynchronous" in caplog.text


class Later:
    """An object that is asynchronous when it is called."""

    async def __call__(self, _arguments: object) -> bool:
        return False


@pytest.mark.parametrize("rule", [later, Later(), Later().__call__])
def test_an_asynchronous_rule_is_refused_in_words_that_say_so(rule: Rule) -> None:
    with pytest.raises(InvalidContent, match="needs_approval is asynchronous"):
        onrecord.tool(Order().ship, needs_approval=rule)
