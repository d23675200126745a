"""What expressions declare with `fromAi`, and which calls of it are refused."""

import pytest
from hypothesis import given

from onrecord.adapters.bpmn.feel import Call, Node, Reference, String, walk
from onrecord.adapters.bpmn.from_ai import Parameter, arguments_of, parameters_of
from onrecord.domain.errors import InvalidModel
from tests.adapters.bpmn.feel_texts import trees, written

VALUE = "Expected fromAi() parameter 'value' to be a reference (e.g. 'toolCall.customParameter'), but received"


def names(expression: str) -> list[str]:
    return [parameter.name for parameter in parameters_of(expression)]


@given(trees)
def test_an_expression_gives_back_the_calls_that_it_was_made_of(tree: Node) -> None:
    calls = [
        each
        for each in walk(tree, is_entered=lambda it: not is_call(it))
        if isinstance(each, Call) and is_call(each)
    ]
    found = parameters_of(written(tree))
    assert [said.name for said in found] == [reference_in(call) for call in calls]
    assert [said.description for said in found] == [description_in(call) for call in calls]


def is_call(node: Node) -> bool:
    return isinstance(node, Call) and node.name == "fromAi"


def reference_in(call: Call) -> str:
    value = arguments_of(call)["value"]
    assert isinstance(value, Reference)
    return ".".join(value.segments)


def description_in(call: Call) -> str | None:
    said = arguments_of(call).get("description")
    return said.value if isinstance(said, String) else None


@pytest.mark.parametrize(
    ("expression", "parameter"),
    [
        ("fromAi(toolCall.a)", Parameter("toolCall.a")),
        ("fromAi(a)", Parameter("a")),
        ("fromAi(other.place.a)", Parameter("other.place.a")),
        ("fromAi(toolCall.`my-name`)", Parameter("toolCall.my-name")),
        ('fromAi(toolCall.a, "What")', Parameter("toolCall.a", "What")),
        ('fromAi(toolCall.a, "What", "number")', Parameter("toolCall.a", "What", "number")),
        (
            'fromAi(toolCall.a, "", "string", {enum: ["x", "y"]}, {required: false}, "more", 7)',
            Parameter("toolCall.a", "", "string", {"enum": ["x", "y"]}, {"required": False}),
        ),
        (
            'fromAi(options: {}, unknown: 1, type: "array", value: toolCall.a)',
            Parameter("toolCall.a", type="array", options={}),
        ),
        (
            'fromAi(toolCall.a, "", "", {n: 1, f: 1.5, t: true, l: [{"k k": []}], s: "\\""})',
            Parameter(
                "toolCall.a",
                "",
                "",
                {"n": 1, "f": 1.5, "t": True, "l": [{"k k": []}], "s": '"'},
            ),
        ),
    ],
)
def test_a_call_is_read_by_position_and_by_name(expression: str, parameter: Parameter) -> None:
    assert parameters_of(expression) == (parameter,)


def test_null_and_negative_numbers_are_literals_too() -> None:
    (parameter,) = parameters_of(
        'fromAi(toolCall.a, "", "", {minimum: -5, default: null, x: -1.5})'
    )
    assert parameter.schema == {"minimum": -5, "default": None, "x": -1.5}


@pytest.mark.parametrize(
    "expression",
    [
        '{x: fromAi(toolCall.a), "y": [1, fromAi(toolCall.b)]}',
        "fromAi(toolCall.a) + 2 * fromAi(toolCall.b)",
        "fromAi(toolCall.a) > fromAi(toolCall.b)",
        "if fromAi(toolCall.a) then 1 else fromAi(toolCall.b)",
        "xs[item = fromAi(toolCall.a)].y + fromAi(toolCall.b).z",
        'string(fromAi(toolCall.a)) + "/" + string(fromAi(toolCall.b))',
        "f(x: fromAi(toolCall.a), y: g(z: fromAi(toolCall.b)))",
        "a.f(fromAi(toolCall.a)) or fromAi(toolCall.b) between 1 and 2",
        "for x in fromAi(toolCall.a) return x + fromAi(toolCall.b)",
        "some x in [fromAi(toolCall.a)..3] satisfies x in (1, fromAi(toolCall.b))",
    ],
)
def test_calls_are_found_wherever_they_stand_in_the_order_of_the_text(expression: str) -> None:
    assert names(expression) == ["toolCall.a", "toolCall.b"]


@pytest.mark.parametrize(
    "expression",
    [
        '"fromAi(toolCall.a)"',
        '"\\"fromAi(toolCall.a)\\""',
        "1 // fromAi(toolCall.a)",
        "1 /* fromAi(toolCall.a) */",
        "fromAI(toolCall.a)",
        "fromai(toolCall.a)",
        "agent.fromAi(toolCall.a)",
        "fromAi + toolCall.a",
        "{fromAi: toolCall.a}",
    ],
)
def test_what_only_looks_like_a_call_is_none(expression: str) -> None:
    assert names(expression) == []


def test_arguments_of_a_call_are_not_searched() -> None:
    with pytest.raises(InvalidModel, match="to be a string, but received 'FunctionInvocation"):
        parameters_of("fromAi(toolCall.a, fromAi(toolCall.b))")
    assert names('fromAi(toolCall.a, "", "", {}, {}, fromAi(toolCall.b))') == ["toolCall.a"]
    assert names("fromAi(value: toolCall.a, unknown: fromAi(toolCall.b))") == ["toolCall.a"]


@pytest.mark.parametrize(
    ("value", "received"),
    [
        ('"toolCall.a"', "string 'toolCall.a'."),
        ("10", "10."),
        ("true", "true."),
        ("null", "ConstNull."),
        ("[]", "ConstList(List())."),
        ("toolCall.user-id", "Subtraction(Ref(List(toolCall, user)),Ref(List(id)))."),
        (
            "fromAi(toolCall.a)",
            "FunctionInvocation(fromAi,PositionalFunctionParameters(List(Ref(List(toolCall, a))))).",
        ),
        (
            "fromAi(value: a)",
            "FunctionInvocation(fromAi,NamedFunctionParameters(Map(value -> Ref(List(a))))).",
        ),
        ("[[[[[[1]]]]]]", f"{'ConstList(List(' * 5}...{'))' * 5}."),
        ("", "nothing."),
    ],
)
def test_the_value_must_be_a_reference(value: str, received: str) -> None:
    with pytest.raises(InvalidModel) as caught:
        parameters_of(f"fromAi({value})")
    assert str(caught.value) == f"{VALUE} {received}"


def test_a_call_by_name_without_a_value_is_said_too() -> None:
    with pytest.raises(InvalidModel) as caught:
        parameters_of('fromAi(description: "What")')
    assert str(caught.value) == f"{VALUE} nothing."


@pytest.mark.parametrize("parameter", ["description", "type"])
@pytest.mark.parametrize(
    ("given_value", "received"),
    [
        ("10", "10"),
        ("true", "true"),
        ("null", "ConstNull"),
        ("a.b", "Ref(List(a, b))"),
        ('"a" + "b"', "Addition(ConstString(a),ConstString(b))"),
        ("{x: 1}", "ConstContext(List((x,ConstNumber(1))))"),
    ],
)
def test_description_and_type_must_be_string_literals(
    parameter: str, given_value: str, received: str
) -> None:
    with pytest.raises(InvalidModel) as caught:
        parameters_of(f"fromAi(value: toolCall.a, {parameter}: {given_value})")
    expected = (
        f"Expected fromAi() parameter '{parameter}' to be a string, but received '{received}'."
    )
    assert str(caught.value) == expected


@pytest.mark.parametrize("parameter", ["schema", "options"])
@pytest.mark.parametrize(
    ("given_value", "received"),
    [('"dummy"', "dummy"), ("10", "10"), ("null", "ConstNull"), ("[]", "ConstList(List())")],
)
def test_schema_and_options_must_be_context_literals(
    parameter: str, given_value: str, received: str
) -> None:
    with pytest.raises(InvalidModel) as caught:
        parameters_of(f"fromAi(value: toolCall.a, {parameter}: {given_value})")
    assert str(caught.value) == (
        f"Expected fromAi() parameter '{parameter}' to be a context (map), "
        f"but received '{received}'."
    )


@pytest.mark.parametrize(
    ("held", "kind"), [("a", "Ref"), ("f()", "FunctionInvocation"), ("1 + 1", "Addition")]
)
def test_a_schema_holds_literals_only(held: str, kind: str) -> None:
    with pytest.raises(InvalidModel) as caught:
        parameters_of(f'fromAi(toolCall.a, "", "", {{enum: [{held}]}})')
    assert str(caught.value) == (
        f"Unsupported expression value in fromAi() function invocation: {kind}"
    )


def test_mixing_arguments_by_position_and_by_name_is_no_expression() -> None:
    with pytest.raises(InvalidModel, match="Failed to parse FEEL expression"):
        parameters_of('fromAi(toolCall.a, description: "What")')


def test_a_schema_that_no_json_could_hold_is_refused() -> None:
    deep = "[" * 60 + "]" * 60
    with pytest.raises(InvalidModel, match="nested more than 50 deep"):
        parameters_of(f'fromAi(toolCall.a, "", "", {{x: {deep}}})')
    for number in ("9" * 5_000, "1e999"):
        with pytest.raises(InvalidModel, match="too large"):
            parameters_of(f'fromAi(toolCall.a, "", "", {{maximum: {number}}})')
