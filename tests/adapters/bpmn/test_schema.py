"""The schema of a tool's input: names, types, what is required, and the words of what is refused."""

from typing import Any

import pytest

from onrecord.adapters.bpmn.from_ai import CODE, Parameter, schema_of
from onrecord.domain.errors import InvalidModel


def schema(*parameters: Parameter) -> dict[str, Any]:
    return schema_of("Track", parameters)


def refused(*parameters: Parameter) -> str:
    with pytest.raises(InvalidModel) as caught:
        schema(*parameters)
    assert caught.value.code == CODE == "AD_HOC_TOOL_SCHEMA_INVALID"
    prefix = "Failed to generate ad-hoc tool schema for element 'Track'. "
    assert str(caught.value).startswith(prefix)
    return str(caught.value).removeprefix(prefix)


def test_a_tool_without_parameters_takes_an_empty_object() -> None:
    assert schema() == {"type": "object", "properties": {}, "required": []}


def test_parameters_stay_in_order_and_are_required_strings_unless_they_say_otherwise() -> None:
    made = schema(Parameter("toolCall.b", "The b"), Parameter("toolCall.a", type="number"))
    assert list(made["properties"].items()) == [
        ("b", {"type": "string", "description": "The b"}),
        ("a", {"type": "number"}),
    ]
    assert made["required"] == ["b", "a"]


def test_type_and_description_beside_a_schema_win_over_those_in_it() -> None:
    own = {"description": "in it", "type": "array", "items": {"type": "string"}}
    made = schema(Parameter("toolCall.a", "beside it", "list", own))
    assert made["properties"]["a"] == {
        "description": "beside it",
        "type": "list",
        "items": {"type": "string"},
    }
    assert own["type"] == "array"


@pytest.mark.parametrize("blank", [None, "", "  "])
def test_a_blank_type_or_description_says_nothing(blank: str | None) -> None:
    made = schema(Parameter("toolCall.a", blank, blank, {"enum": ["x"]}))
    assert made["properties"]["a"] == {"enum": ["x"], "type": "string"}
    kept = schema(Parameter("toolCall.a", blank, blank, {"type": "number", "description": "It"}))
    assert kept["properties"]["a"] == {"type": "number", "description": "It"}


def test_a_type_of_null_is_none() -> None:
    made = schema(Parameter("toolCall.a", schema={"type": None, "enum": ["x", None]}))
    assert made["properties"]["a"] == {"type": "string", "enum": ["x", None]}


@pytest.mark.parametrize(
    ("options", "required"),
    [
        (None, True),
        ({}, True),
        ({"required": None}, True),
        ({"required": True}, True),
        ({"required": False}, False),
    ],
)
def test_a_parameter_is_required_unless_its_option_is_false(
    options: dict[str, Any] | None, required: bool
) -> None:
    assert schema(Parameter("toolCall.a", options=options))["required"] == ["a"] * required


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("true", "String"),
        (1, "Integer"),
        (0, "Integer"),
        (2**40, "Long"),
        (1.0, "Double"),
        ([], "ArrayList"),
        ({}, "LinkedHashMap"),
    ],
)
def test_the_option_must_be_boolean_and_one_is_not_true(value: object, kind: str) -> None:
    assert refused(Parameter("toolCall.a", options={"required": value})) == (
        f"Parameter 'toolCall.a' 'required' option must be a boolean value, but was: {kind}"
    )


@pytest.mark.parametrize(
    ("names", "why"),
    [
        (
            ["toolCall._meta"],
            "Parameter name 'toolCall._meta' is restricted and cannot be used.",
        ),
        (["toolCall.a", "toolCall.a"], "Duplicate parameter name 'toolCall.a'."),
        (["a"], "Parameter name 'a' is not part of expected namespace 'toolCall.'."),
        (
            ["toolcall.a"],
            "Parameter name 'toolcall.a' is not part of expected namespace 'toolCall.'.",
        ),
        (
            ["toolCall."],
            "Parameter name 'toolCall.' is empty after removing the expected namespace 'toolCall.'.",
        ),
        (
            ["toolCall.a.b"],
            (
                "Parameter name 'a.b' with removed namespace 'toolCall.' is not a leaf reference "
                "(must not contain dots)."
            ),
        ),
    ],
)
def test_a_name_is_one_segment_below_the_namespace_and_its_own(names: list[str], why: str) -> None:
    assert refused(*map(Parameter, names)) == why


def test_only_the_restricted_name_itself_is_restricted() -> None:
    made = schema(Parameter("toolCall._metadata"), Parameter("toolCall.meta"))
    assert made["required"] == ["_metadata", "meta"]
