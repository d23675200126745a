"""What Ollama's chat API refuses, each rule broken once, and what it takes."""

from __future__ import annotations

from typing import Any

import pytest

from onrecord.domain.jsontext import JsonObject
from tests.projections.refused import refused

API = "ollama"
HELLO: JsonObject = {"role": "user", "content": "Hello"}


def calls(*arguments: Any) -> JsonObject:
    told = [{"function": {"name": "look_up", "arguments": each}} for each in arguments]
    return {"role": "assistant", "content": "", "tool_calls": told}


def told(*messages: JsonObject) -> list[tuple[str, str, str]]:
    """Each breach: where it is, its rule, and the server's words."""
    found = refused(API, {"messages": list(messages)})
    return [(each.where, each.rule, each.said) for each in found]


ACCEPTED: dict[str, list[JsonObject]] = {
    "a prompt": [HELLO],
    "an answer first": [{"role": "assistant", "content": "Hello?"}],
    "a round": [
        HELLO,
        calls({}, {"q": 1}),
        {"role": "tool", "content": "x", "tool_name": "look_up"},
    ],
    "calls without a result": [HELLO, calls({})],
    "a result without a call": [{"role": "tool", "content": "x"}],
    "a call without arguments": [HELLO, calls(None)],
    "a picture": [{**HELLO, "images": ["iVBORw0KGgo="]}],
    "members that nobody knows": [{**HELLO, "colour": "blue"}],
}


@pytest.mark.parametrize("messages", ACCEPTED.values(), ids=ACCEPTED)
def test_what_the_server_takes_breaks_no_rule(messages: list[JsonObject]) -> None:
    assert told(*messages) == []


def test_there_is_something_to_say() -> None:
    assert [rule for _, rule, _ in told()] == ["messages"]


def test_a_role_is_one_that_templates_tell() -> None:
    said = "invalid role: developer"
    message = {"role": "developer", "content": "Be kind."}
    assert told(message) == [("/messages/0/role", "roles", said)]


@pytest.mark.parametrize(
    ("given", "kind"), [("{}", "string"), ([], "array"), (5, "number"), (True, "bool")]
)
def test_arguments_are_an_object(given: Any, kind: str) -> None:
    said = (
        f"json: cannot unmarshal {kind} into Go struct field "
        "ChatRequest.messages.tool_calls.function.arguments of type api.ToolCallFunctionArguments"
    )
    assert told(HELLO, calls({}, given)) == [
        ("/messages/1/tool_calls/1/function/arguments", "L5", said)
    ]


@pytest.mark.parametrize("image", ["https://example.com/a.png", "data:image/png;base64,YQ==", 5])
def test_a_picture_is_base64(image: Any) -> None:
    assert [(where, rule) for where, rule, _ in told({**HELLO, "images": ["YQ==", image]})] == [
        ("/messages/0/images/1", "L3")
    ]
