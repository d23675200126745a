"""What tools of agents leave unsaid: bpmnlint's rules on their documentation and their results."""

from __future__ import annotations

from pathlib import Path

import pytest

from onrecord.bpmn import lint_tools
from tests.adapters.bpmn.models import ad_hoc, extended, flow, mapping, node

BPMN = "http://www.omg.org/spec/BPMN/20100524/MODEL"
ZEEBE = "http://camunda.org/schema/zeebe/1.0"
SAID = "<b:documentation>What it is for.</b:documentation>"
RESULT = "toolCallResult"


def desk(*elements: str, executable: str = "true", more: str = "") -> bytes:
    tools = ad_hoc(*elements) + more
    process = f'<b:process id="Desk" isExecutable="{executable}">{tools}</b:process>'
    return f'<b:definitions xmlns:b="{BPMN}" xmlns:z="{ZEEBE}">{process}</b:definitions>'.encode()


def writing(target: str, source: str = "=response") -> str:
    return f"<z:ioMapping>{mapping('output', source, target)}</z:ioMapping>"


def header(key: str, value: str) -> str:
    return f'<z:taskHeaders><z:header key="{key}" value="{value}"/></z:taskHeaders>'


def tool(id: str, *inner: str, gives: str = writing(RESULT), kind: str = "serviceTask") -> str:
    return node(kind, id, SAID, *inner, extensions=gives)


def step(id: str, gives: str = "", kind: str = "serviceTask", more: str = "") -> str:
    return node(kind, id, extensions=gives, more=more)


def found(model: bytes) -> list[tuple[str, str]]:
    return [(each.element, each.rule.removeprefix("agentTool")) for each in lint_tools(model)]


@pytest.mark.parametrize(
    "gives",
    [
        *(writing(RESULT), writing(f"{RESULT}.body"), header("resultVariable", RESULT)),
        header("resultExpression", f"={{{RESULT}: response.body}}"),
        *(header("resultExpression", f"={{x: {RESULT}}}"), header("resultVariable", f"{RESULT}.x")),
        f'<z:script expression="=1" resultVariable="{RESULT}"/>',
        f'<z:calledDecision decisionId="d" resultVariable="{RESULT}"/>',
    ],
)
def test_a_tool_that_says_what_it_is_for_and_gives_a_result_has_no_finding(gives: str) -> None:
    assert found(desk(tool("A", gives=gives))) == []


@pytest.mark.parametrize("documentation", ["", "<b:documentation> \n</b:documentation>"])
@pytest.mark.parametrize("kind", ["serviceTask", "callActivity", "subProcess"])
def test_a_tool_says_what_it_is_for(documentation: str, kind: str) -> None:
    model = desk(node(kind, "A", documentation, extensions=writing(RESULT)))
    assert found(model) == [("A", "DocumentationMissing")]


@pytest.mark.parametrize(
    "element",
    [
        *(node("exclusiveGateway", "A"), node("intermediateThrowEvent", "A")),
        node("subProcess", "A", more='triggeredByEvent="true"'),
        tool("A", step("B"), flow("B", "C"), step("C"), kind="subProcess"),
    ],
    ids=["gateway", "event", "event sub-process", "steps within a tool"],
)
def test_what_is_no_activity_and_no_tool_by_itself_needs_to_say_nothing(element: str) -> None:
    assert found(desk(element)) == []


def test_only_agents_of_processes_that_are_executed_are_looked_at() -> None:
    assert found(desk(step("A"), executable="false")) == []
    plain = ad_hoc(step("B"), id="Plain", extensions="")
    assert found(desk(tool("A"), more=plain)) == []


@pytest.mark.parametrize(
    ("gives", "rule"),
    [
        ("", "ResultMissing"),
        (writing("answer"), "OutputKeyInvalid"),
        (header("resultExpression", "={answer: 1}"), "OutputKeyInvalid"),
        (header("resultVariable", "toolcallresult"), "OutputKeyCasingInvalid"),
        (writing("ToolCallResult.body"), "OutputKeyCasingInvalid"),
        (header("resultExpression", "={toolCallresult: 1}"), "OutputKeyCasingInvalid"),
    ],
)
def test_a_tool_gives_its_result(gives: str, rule: str) -> None:
    assert found(desk(tool("A", gives=gives))) == [("A", rule)]


def test_a_step_behind_a_tool_or_within_it_may_give_the_result() -> None:
    chain = (tool("A", gives=""), flow("A", "B"), step("B", writing(RESULT)))
    assert found(desk(*chain)) == []
    assert found(desk(tool("A", step("B", writing(RESULT)), gives="", kind="subProcess"))) == []
    boundary = step("C", kind="boundaryEvent", more='attachedToRef="A"')
    caught = (tool("A", gives=""), boundary, flow("C", "B"), step("B", writing(RESULT)))
    assert found(desk(*caught)) == []


def test_what_is_written_elsewhere_is_found_where_it_is_written() -> None:
    chain = (tool("A", gives=""), flow("A", "B"), step("B", writing("answer")))
    assert found(desk(*chain)) == [("B", "OutputKeyInvalid")]


def test_each_tool_is_looked_at_by_itself() -> None:
    assert found(desk(tool("A"), tool("B", gives=""))) == [("B", "ResultMissing")]


def test_a_result_is_overwritten_only_in_a_chain() -> None:
    first, second = tool("A"), step("B", writing(RESULT))
    assert found(desk(first, flow("A", "B"), second)) == [("B", "OutputKeyOverwrite")]
    third = (flow("B", "C"), step("C", header("resultVariable", RESULT)))
    assert found(desk(first, flow("A", "B"), second, *third)) == [
        *(("B", "OutputKeyOverwrite"), ("C", "OutputKeyOverwrite"))
    ]
    ways = (flow("A", "B"), flow("A", "C"), second, step("C", writing(RESULT)))
    assert found(desk(first, *ways)) == []
    boundary = (step("E", kind="boundaryEvent", more='attachedToRef="A"'), flow("E", "B"))
    assert found(desk(first, *boundary, second)) == []


def test_what_follows_a_tool_overwrites_the_result_of_a_step_within_it() -> None:
    outer = tool("A", step("Inner", writing(RESULT)), gives="", kind="subProcess")
    model = desk(outer, flow("A", "B"), step("B", writing(RESULT)))
    assert found(model) == [("B", "OutputKeyOverwrite")]


def test_a_choice_within_a_tool_is_no_chain() -> None:
    inner = (step("X", writing(RESULT)), step("Y", writing(RESULT)))
    ways = tool("A", *inner, gives="", kind="subProcess")
    assert found(desk(ways)) == []
    chain = tool("A", *inner, flow("X", "Y"), gives="", kind="subProcess")
    assert found(desk(chain)) == [("Y", "OutputKeyOverwrite")]


@pytest.mark.parametrize(
    "gives",
    [
        writing(f"{RESULT}.more"),
        writing(RESULT, '=context put(toolCallResult, "b", 1)'),
    ],
    ids=["a part", "put into what is there"],
)
def test_what_adds_to_a_result_overwrites_nothing(gives: str) -> None:
    assert found(desk(tool("A"), flow("A", "B"), step("B", gives))) == []


def test_a_loop_of_steps_has_an_end() -> None:
    steps = (tool("A", gives=""), flow("A", "B"), step("B"), flow("B", "C"), step("C"))
    assert found(desk(*steps, flow("C", "B"))) == [("A", "ResultMissing")]


def test_a_finding_says_what_to_do(tmp_path: Path) -> None:
    model = tmp_path / "desk.bpmn"
    model.write_bytes(desk(tool("A", extended(""), gives="")))
    (finding,) = lint_tools(model)
    assert finding.message == "it gives nothing back: write toolCallResult, if only that it is done"
