"""Arguments that a program has bound with `functools.partial`: no model sees or changes them."""

import functools
import json
from collections.abc import Callable
from typing import cast

import pytest

import onrecord
from onrecord.domain.tool_context import EMPTY
from tests.adapters.tools.conversations import call_tools, recorded_results

BOUND = "canary-bound"


def look(parcel: str, token: str, limit: int = 3) -> str:
    """Look a parcel up."""
    return f"{parcel} {token} {limit}"


class Depot:
    """A depot whose token is bound."""

    def look(self, parcel: str, token: str) -> str:
        return f"{parcel} {token}"

    look_up = functools.partialmethod(look, token=BOUND)


def test_a_bound_argument_is_no_part_of_what_a_model_is_told() -> None:
    tool = onrecord.tool(functools.partial(look, token=BOUND), name="look")
    assert list(tool.definition.input_schema["properties"]) == ["parcel", "limit"]
    assert BOUND not in json.dumps(tool.definition.model_dump(mode="json"))
    assert tool.call({"parcel": "NW-1"}, EMPTY) == f"NW-1 {BOUND} 3"


def test_so_is_one_of_a_partial_of_a_partial_and_of_a_method() -> None:
    twice = functools.partial(functools.partial(look, token=BOUND), limit=1)
    assert list(onrecord.tool(twice, name="look").definition.input_schema["properties"]) == [
        "parcel"
    ]
    method = cast("Callable[..., object]", Depot().look_up)
    tool = onrecord.tool(method, name="look")
    assert list(tool.definition.input_schema["properties"]) == ["parcel"]
    assert tool.call({"parcel": "NW-1"}, EMPTY) == f"NW-1 {BOUND}"


def test_nothing_that_shows_the_tool_shows_it() -> None:
    tool = onrecord.tool(functools.partial(look, token=BOUND), name="look").once("Go on.")
    chat = onrecord.connect("memory://").conversation("support/4711")
    runner = onrecord.ToolRunner(chat, [tool])
    runner.declare()
    shown = f"{tool!r} {vars(runner)} {[recorded.event() for recorded in chat.log.read()]}"
    assert BOUND not in shown
    assert "name='look'" in shown


def test_no_model_can_give_it_another_value() -> None:
    chat = onrecord.connect("memory://").conversation("support/4711")
    call_tools(chat, ("look", {"parcel": "NW-1", "token": "another"}))
    tool = onrecord.tool(functools.partial(look, token=BOUND), name="look")
    onrecord.ToolRunner(chat, [tool]).run()
    why = "Error: the arguments of 'look' are not valid: token: there is no such argument"
    assert recorded_results(chat) == [("call_1", why, True)]


def test_a_method_that_is_bound_to_no_object_is_refused() -> None:
    with pytest.raises(onrecord.InvalidContent, match=r"onrecord\.tool\(one\.look\)"):
        onrecord.tool(Depot.look)
    assert onrecord.tool(Depot().look).call({"parcel": "NW-1", "token": "t"}, EMPTY) == "NW-1 t"


def test_an_object_with_a_func_of_its_own_is_no_partial() -> None:
    class Looks:
        def func(self, other: int) -> int:
            return other

        def __call__(self, parcel: "str") -> str:
            return parcel

    tool = onrecord.tool(Looks(), name="look")
    assert tool.definition.input_schema["properties"] == {"parcel": {"type": "string"}}
    with pytest.raises(onrecord.OnrecordError, match="parcel"):
        tool.call({"parcel": 7}, EMPTY)


def test_what_is_asynchronous_is_so_within_a_partial() -> None:
    class Looks:
        async def __call__(self, parcel: str, token: str) -> str:
            return f"{parcel} {token}"

    assert onrecord.tool(functools.partial(Looks(), token=BOUND), name="look").is_async
    assert not onrecord.tool(functools.partial(look, token=BOUND), name="look").is_async
