"""What Gemini's API refuses, each rule broken once, and what it takes."""

from __future__ import annotations

from typing import Any

import pytest

from onrecord.domain.jsontext import JsonObject
from tests.projections.refused import refused

API = "gemini"
THIRD = "gemini-3-pro-preview"
SIGNED = {"thoughtSignature": "c2ln"}


def user(*parts: Any) -> JsonObject:
    return {"role": "user", "parts": [part_of(part) for part in parts]}


def model(*parts: Any) -> JsonObject:
    return {"role": "model", "parts": [part_of(part) for part in parts]}


def part_of(part: Any) -> JsonObject:
    return {"text": part} if isinstance(part, str) else part


def call(name: str = "look_up", **members: Any) -> JsonObject:
    return {"functionCall": {"name": name, "args": {}}, **members}


def response(name: str = "look_up") -> JsonObject:
    return {"functionResponse": {"name": name, "response": {"result": 1}}}


def told(*contents: JsonObject, **members: Any) -> list[tuple[str, str, str]]:
    """Each breach: where it is, its rule, and the provider's words."""
    request = {"contents": list(contents), **members}
    return [(each.where, each.rule, each.said) for each in refused(API, request)]


def rules(*contents: JsonObject, **members: Any) -> list[tuple[str, str]]:
    return [(where, rule) for where, rule, _ in told(*contents, **members)]


ACCEPTED: dict[str, list[JsonObject]] = {
    "a prompt": [user("Hello")],
    "who does not say who it is": [{"parts": [{"text": "Hello"}]}],
    "the model last": [user("Hello"), model("Hello?")],
    "the model first": [model("Hello?"), user("Hello")],
    "a round": [user("Hello"), model(call()), user(response()), model("Found.")],
    "calls at once": [
        user("Hello"),
        model("I look.", call(), call()),
        user(response(), response()),
    ],
    "round after round": [
        *(user("Hello"), model(call()), user(response())),
        *(model(call()), user(response())),
    ],
    "words beside the responses": [user("Hello"), model(call()), user(response(), "And?")],
    "an empty text that is signed": [user("Hello"), model({"text": "", **SIGNED})],
    "another spelling": [
        user("Hello"),
        model({"function_call": {"name": "look_up"}, "thought_signature": "c2ln"}),
        user({"function_response": {"name": "look_up", "response": {}}}),
    ],
    "code that ran": [
        user("Hello"),
        model(
            {"executableCode": {"language": "PYTHON", "code": "1"}},
            {"codeExecutionResult": {"outcome": "OUTCOME_OK"}},
        ),
    ],
}


@pytest.mark.parametrize("contents", ACCEPTED.values(), ids=ACCEPTED)
def test_what_the_service_takes_breaks_no_rule(contents: list[JsonObject]) -> None:
    assert told(*contents) == []


@pytest.mark.parametrize("model_name", [THIRD, "gemini-3.6-flash", None])
def test_rounds_that_another_model_began_are_taken_in_its_place(model_name: str | None) -> None:
    """As pydantic-ai's recordings of a capability that is loaded by one model and used by another.

    Its calls bear the word that Gemini's documents give for signatures that are not there, in
    base64; a result may be an empty object, and notes of the program stand between rounds.
    """
    foreign = {"thoughtSignature": "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="}
    tool: JsonObject = {
        "name": "look_up",
        "parameters_json_schema": {"type": "object", "properties": {}},
    }
    nothing: JsonObject = {"functionResponse": {"id": "call_1", "name": "load", "response": {}}}
    members: JsonObject = {} if model_name is None else {"model": model_name}
    contents = [
        user("Is there a refund?"),
        model({"functionCall": {"name": "load", "args": {}, "id": "call_1"}, **foreign}),
        user(nothing),
        user("<system>look_up is now available</system>"),
        model(call(**foreign)),
        user(response()),
        model(call(**SIGNED)),
        user(response()),
    ]
    config = {"functionCallingConfig": {"mode": "VALIDATED"}}
    tools: list[JsonObject] = [{"functionDeclarations": [tool]}]
    assert told(*contents, tools=tools, toolConfig=config, **members) == []


def test_there_is_something_to_say() -> None:
    said = "* GenerateContentRequest.contents: contents is not specified"
    assert told() == [("/contents", "messages", said)]
    assert [breach.where for breach in refused(API, {})] == [""]


def test_as_many_responses_follow_as_there_were_calls() -> None:
    said = (
        "Please ensure that the number of function response parts is equal to the number of "
        "function call parts of the function call turn."
    )
    calls = model(call(), call())
    assert told(user("Hello"), calls, user(response())) == [("/contents/1", "G1", said)]
    assert rules(user("Hello"), calls, user("Well?")) == [("/contents/1", "G1")]
    assert rules(user("Hello"), calls) == [("/contents/1", "G1")]


def test_responses_of_one_turn_stand_in_one_content() -> None:
    contents = [user("Hello"), model(call(), call()), user(response()), user(response())]
    assert rules(*contents) == [("/contents/1", "G1"), ("/contents/3", "G2")]


def test_a_response_follows_its_call() -> None:
    said = "Please ensure that function response turn comes immediately after a function call turn."
    assert told(user("Hello"), user(response())) == [("/contents/1", "G2", said)]


@pytest.mark.parametrize("before", [[], [user("Hello"), model("I look.")]], ids=["first", "after"])
def test_a_call_follows_the_user(before: list[JsonObject]) -> None:
    [(where, rule, said)] = told(*before, model(call()), user(response()))
    assert (where, rule) == (f"/contents/{len(before)}", "G3")
    assert said.startswith("Please ensure that function call turn comes immediately after a user")


def test_the_first_call_of_each_step_of_the_current_turn_is_signed() -> None:
    older = [user("Hello"), model(call()), user(response()), model("Found.")]
    now = [user("And?"), model("I look.", call(**SIGNED), call()), user(response(), response())]
    step = [model(call("find")), user(response("find"))]
    assert rules(*older, *now, model=THIRD) == []
    [(where, rule, said)] = told(*older, *now, *step, model=f"models/{THIRD}")
    assert (where, rule) == ("/contents/7/parts/0", "G4")
    assert said.startswith("Function call is missing a thought_signature in functionCall parts.")
    assert said.endswith("function call `default_api:find` , position 8.")


@pytest.mark.parametrize("name", [None, "gemini-2.5-pro", "gemini-flash-latest"])
def test_whether_calls_are_signed_is_asked_of_models_that_are_known_to_want_it(
    name: str | None,
) -> None:
    assert rules(user("Hello"), model(call()), user(response()), model=name) == []


@pytest.mark.parametrize("role", ["assistant", "system", "function", 3])
def test_only_the_user_and_the_model_speak(role: Any) -> None:
    said = "Please use a valid role: user, model."
    content = {"role": role, "parts": [{"text": "Hello"}]}
    assert told(user("Hello"), content) == [("/contents/1/role", "G7", said)]


def test_a_content_has_parts() -> None:
    said = "* GenerateContentRequest.contents[1].parts: contents.parts must not be empty."
    assert told(user("Hello"), model()) == [("/contents/1", "G6", said)]
    assert rules(user("Hello"), {"role": "model"}) == [("/contents/1", "G6")]


@pytest.mark.parametrize("part", [{}, {"thought": True}, {"text": None}])
def test_a_part_holds_something(part: JsonObject) -> None:
    [(where, rule, said)] = told(user("Hello"), model(part))
    assert (where, rule) == ("/contents/1/parts/0", "G6")
    assert said.endswith("required oneof field 'data' must have one initialized field")


def test_an_empty_text_is_none() -> None:
    [(where, rule, said)] = told(user(""))
    assert (where, rule) == ("/contents/0/parts/0/text", "G6")
    assert said.startswith("Unable to submit request because it has an empty text parameter.")


def test_a_part_holds_one_thing() -> None:
    said = (
        "Invalid value at 'contents[0].parts[0]' (oneof), oneof field 'data' is already set. "
        "Cannot set 'fileData'"
    )
    part = {"text": "Hello", "fileData": {"fileUri": "gs://a/b"}}
    assert told(user(part)) == [("/contents/0/parts/0", "G6", said)]


@pytest.mark.parametrize("name", ["", "look up", "1st", "a" * 65, "größer"])
def test_functions_have_names_of_one_form(name: str) -> None:
    tools = [{"function_declarations": [{"name": "look_up"}, {"name": name}]}]
    contents = [user("Hello"), model(call(name)), user(response(name))]
    assert rules(*contents, tools=tools) == [
        ("/tools/0/function_declarations/1/name", "G9"),
        ("/contents/1/parts/0/functionCall/name", "G9"),
        ("/contents/2/parts/0/functionResponse/name", "G9"),
    ]
    said = told(*contents, tools=tools)[0][2]
    assert said.startswith(
        "* GenerateContentRequest.tools[0].function_declarations[1].name: Invalid function name."
    )


def test_a_function_is_declared_once() -> None:
    tools = [
        {"functionDeclarations": [{"name": "a.b:c-d"}]},
        {"functionDeclarations": [{"name": "a.b:c-d"}]},
    ]
    assert told(user("Hello"), tools=tools) == [
        (
            "/tools/1/functionDeclarations/0/name",
            "names",
            "Duplicate function declaration found: a.b:c-d",
        )
    ]
