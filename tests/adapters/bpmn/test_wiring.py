"""Who writes the result of a tool, and into what results are gathered."""

from pathlib import Path

import pytest

from onrecord.adapters.bpmn.model import Collecting
from onrecord.adapters.bpmn.wiring import Writing, wiring_of
from tests.adapters.bpmn.models import (
    AGENT,
    ad_hoc,
    definitions,
    desk,
    flow,
    mapping,
    node,
    process,
    task,
)

DESK = Path(__file__).parent / "parcel_desk.bpmn"
ELEMENT = "={ id: toolCall._meta.id, name: toolCall._meta.name, content: toolCallResult }"


def writings(*elements: str) -> tuple[Writing, ...]:
    """Who writes the result of the first tool."""
    return wiring_of(desk(*elements)).writings[0][1]


def headers(**named: str) -> str:
    held = "".join(f'<z:header key="{name}" value="{said}"/>' for name, said in named.items())
    return f"<z:taskHeaders>{held}</z:taskHeaders>"


def test_a_model_says_how_results_are_gathered() -> None:
    assert wiring_of(DESK).collecting == Collecting("toolCallResults", ELEMENT)


def test_a_loop_over_calls_gathers_them_too() -> None:
    loop = (
        "<b:multiInstanceLoopCharacteristics><b:extensionElements>"
        '<z:loopCharacteristics outputCollection="results" outputElement="={}"/>'
        "</b:extensionElements></b:multiInstanceLoopCharacteristics>"
    )
    active = '<z:adHoc activeElementsCollection="=[toolCall._meta.name]"/>'
    model = definitions(process(ad_hoc(task("A"), loop, extensions=AGENT + active)))
    assert wiring_of(model).collecting == Collecting("results", "={}", "=[toolCall._meta.name]")


def test_each_tool_has_its_own_way() -> None:
    assert wiring_of(DESK).writings == (
        ("Track", (Writing("Track", "expression"),)),
        ("Today", (Writing("Today", "variable"),)),
        ("Complain", (Writing("Complain", "mapping"),)),
        ("Call_Courier", ()),
        ("Reprint", ()),
        ("Warehouse", ()),
        ("Customs", ()),
    )


@pytest.mark.parametrize(
    ("extensions", "way"),
    [
        ('<z:script expression="=1" resultVariable="toolCallResult"/>', "variable"),
        ('<z:calledDecision decisionId="d" resultVariable="toolCallResult"/>', "variable"),
        (headers(resultVariable="toolCallResult"), "variable"),
        (headers(resultExpression="={toolCallResult: response}"), "expression"),
        (headers(resultExpression="= if a then {toolCallResult: 1} else {b: 2}"), "expression"),
        ('<z:ioMapping><z:output source="=x" target="toolCallResult"/></z:ioMapping>', "mapping"),
        (
            '<z:ioMapping><z:output source="=x" target="toolCallResult.part"/></z:ioMapping>',
            "mapping",
        ),
        ('<z:script expression="=1" resultVariable="toolcallresult"/>', None),
        (headers(resultExpression="{toolCallResult: 1}"), None),
        (headers(resultExpression="={other: {toolCallResult: 1}}"), None),
        (headers(resultExpression="={toolCallResult: "), None),
        ('<z:ioMapping><z:input source="=x" target="toolCallResult"/></z:ioMapping>', None),
    ],
)
def test_a_result_is_written_by_variable_expression_or_mapping(
    extensions: str, way: str | None
) -> None:
    found = [writing.way for writing in writings(node("serviceTask", "A", extensions=extensions))]
    assert found == ([way] if way else [])


def written(id: str) -> str:
    script = '<z:script expression="=1" resultVariable="toolCallResult"/>'
    return node("scriptTask", id, extensions=script)


def test_what_follows_a_tool_may_write_its_result() -> None:
    found = writings(task("A"), written("B"), written("C"), flow("A", "B"), flow("B", "C"))
    assert found == (Writing("B", "variable"), Writing("C", "variable"))


def test_what_stands_within_a_tool_or_follows_its_boundary_event_may_too() -> None:
    outer = node("subProcess", "Outer", written("Inner"))
    event = node("boundaryEvent", "Failed", more='attachedToRef="Outer"')
    assert writings(outer, event, written("After"), flow("Failed", "After")) == (
        Writing("Inner", "variable"),
        Writing("After", "variable"),
    )


def test_what_stands_within_a_tool_comes_before_what_follows_it() -> None:
    outer = node("subProcess", "Outer", written("Inner"))
    assert writings(outer, written("After"), flow("Outer", "After")) == (
        Writing("Inner", "variable"),
        Writing("After", "variable"),
    )


def test_each_way_of_an_element_is_told_once() -> None:
    twice = "".join(
        f"<z:ioMapping>{mapping('output', '=x', f'toolCallResult.{part}')}</z:ioMapping>"
        for part in ("a", "b")
    )
    both = headers(resultExpression="={toolCallResult: 1}") + twice
    assert writings(node("serviceTask", "A", extensions=both)) == (
        Writing("A", "expression"),
        Writing("A", "mapping"),
    )


def test_flows_in_a_circle_or_into_nothing_end() -> None:
    circle = (task("A"), written("B"), written("C"), flow("A", "B"), flow("B", "C"), flow("C", "B"))
    assert writings(*circle, flow("A", "Nowhere")) == (
        Writing("B", "variable"),
        Writing("C", "variable"),
    )


def test_what_several_tools_lead_to_writes_the_result_of_each() -> None:
    shared = (written("End"), flow("A", "End"), flow("B", "End"))
    assert wiring_of(desk(task("A"), task("B"), *shared)).writings == (
        ("A", (Writing("End", "variable"),)),
        ("B", (Writing("End", "variable"),)),
    )


def test_an_element_without_an_id_is_led_to_by_its_own_flows_only() -> None:
    assert wiring_of(desk(task(""), written("B"))).writings[0] == ("", ())
