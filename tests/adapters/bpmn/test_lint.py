"""The contract of `fromAi`: what a model may say with it, and where."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from onrecord.adapters.bpmn.lint import Finding, lint
from tests.adapters.bpmn.models import (
    AGENT,
    ad_hoc,
    definitions,
    desk,
    flow,
    node,
    process,
    properties,
    task,
)

ROOT = Path(__file__).parents[3]
DESK = Path(__file__).parent / "parcel_desk.bpmn"
FOLDER = Path(os.environ.get("ONRECORD_BPMN_CASES") or ROOT.parent / "shared" / "bpmn")
CASES = FOLDER / "bpmnlint-agent-fromai-contract.json"
MISSING = f"no lint cases in {FOLDER}: set ONRECORD_BPMN_CASES to the folder that holds them"

WHERE = "agentFeelWrongContext"
GOOD = "=fromAi(toolCall.a)"


def faults(model: bytes, **options: Any) -> list[tuple[str, str]]:
    return [(each.element, each.rule) for each in lint(model, **options)]


def cases(verdict: str) -> list[Any]:
    held: dict[str, list[Any]] = json.loads(CASES.read_text("utf-8")) if CASES.exists() else {}
    found = held.get(verdict, [])
    return [pytest.param(case, id=case["name"]) for case in found] or [
        pytest.param({}, marks=pytest.mark.skip(reason=MISSING))
    ]


@pytest.mark.parametrize("case", cases("valid"))
def test_nothing_is_found_where_bpmnlint_finds_nothing(case: dict[str, Any]) -> None:
    assert lint(case["xml"].encode()) == ()


@pytest.mark.parametrize("case", cases("invalid"))
def test_what_bpmnlint_finds_is_found_once_at_the_same_element(case: dict[str, Any]) -> None:
    report = case["report"]
    rule = report["data"]["type"].removeprefix("camunda.")
    assert faults(case["xml"].encode()) == [(report["id"], rule)]


@pytest.mark.parametrize(
    "source",
    [
        '=fromAi(toolCall.a, "What")',
        "plain text with fromAi(1)",
        "=someVariable",
        '=fromAi(toolCall.a, "What", "string", {type: "string"}, {})',
        '={q: fromAi(toolCall.a, "What")}',
        '="https://parcels.example/" + fromAi(toolCall.a)',
        "=fromAi(toolCall.a)",
        '=fromAi(type: "number", value: toolCall.a)',
        "=fromAi(toolCall.`a-b`)",
        '="fromAi(1)"',
    ],
)
def test_what_keeps_the_contract_is_not_found(source: str) -> None:
    assert faults(desk(task("A", source))) == []


@pytest.mark.parametrize(
    "agent",
    [
        {"extensions": AGENT},
        {
            "extensions": "",
            "more": 'z:modelerTemplate="io.camunda.connectors.agenticai.aiagent.jobworker.v1"',
        },
        {"extensions": '<z:taskDefinition type="io.camunda.agenticai:aiagent-job-worker:1"/>'},
        {"extensions": '<z:taskDefinition type="io.camunda.agenticai:aiagent-job-worker:27"/>'},
    ],
)
def test_a_sub_process_is_an_agents_by_property_template_or_job(agent: dict[str, str]) -> None:
    assert faults(definitions(process(ad_hoc(task("A", GOOD), **agent)))) == []


@pytest.mark.parametrize(
    "extensions",
    [
        "",
        properties(**{"io.camunda.agenticai.toolContainer": "false"}),
        properties(toolContainer="true"),
        '<z:taskDefinition type="another-worker:1"/>',
    ],
)
def test_in_any_other_sub_process_nothing_is_declared(extensions: str) -> None:
    model = definitions(process(ad_hoc(task("A", GOOD), id="Plain", extensions=extensions)))
    (finding,) = lint(model)
    assert (finding.element, finding.rule) == ("A", WHERE)
    assert "'Plain'" in finding.message


def test_a_sub_process_is_named_as_people_name_it() -> None:
    named = ad_hoc(task("A", GOOD), extensions="", more='name="The desk"')
    assert "'The desk'" in lint(definitions(process(named)))[0].message


@pytest.mark.parametrize(
    ("call", "rule"),
    [
        ('fromAi("toolCall.a")', "agentFeelKeyTypeInvalid"),
        ("fromAi(null)", "agentFeelKeyTypeInvalid"),
        ("fromAi(-42)", "agentFeelKeyTypeInvalid"),
        ("fromAi(toolCall.a + toolCall.b)", "agentFeelKeyTypeInvalid"),
        ("fromAi(toolCall.user-id)", "agentFeelKeyTypeInvalid"),
        ('fromAi(toolCall["a"])', "agentFeelKeyTypeInvalid"),
        ("fromAi(if x then toolCall.a else toolCall.b)", "agentFeelKeyTypeInvalid"),
        ("fromAi([])", "agentFeelKeyTypeInvalid"),
        ("fromAi(a)", "agentFeelKeyPrefixMissing"),
        ("fromAi(toolCall)", "agentFeelKeyPrefixMissing"),
        ("fromAi(context.a)", "agentFeelKeyPrefixMissing"),
        ("fromAi(toolcall.a)", "agentFeelKeyPrefixMissing"),
        ("fromAi(toolCall.a.b)", "agentFeelKeySegmentsInvalid"),
        ("fromAi(toolCall._meta)", "agentFeelKeyRestricted"),
        ("fromAi(toolCall.` `)", "agentFeelArgumentInvalid"),
        ("fromAi(toolCall.a, type: 4)", "agentFeelExpressionInvalid"),
        ('fromAi(toolCall.a, "", 4)', "agentFeelArgumentInvalid"),
        ('fromAi(toolCall.a, "", "", [])', "agentFeelArgumentInvalid"),
        ("fromAi(value: toolCall.a, schema: {enum: [x]})", "agentFeelArgumentInvalid"),
        ("fromAi(value: toolCall.a, options: {required: 1})", "agentFeelArgumentInvalid"),
        ("fromAi()", "agentFeelKeyMissing"),
        ('fromAi(description: "What")', "agentFeelKeyMissing"),
        ("fromAi(toolCall.a, 42)", "agentFeelDescriptionTypeInvalid"),
        ("fromAi(toolCall.a, null)", "agentFeelDescriptionTypeInvalid"),
        ("fromAi(toolCall.a, a)", "agentFeelDescriptionTypeInvalid"),
        ("fromAi(value: toolCall.a, description: 1)", "agentFeelDescriptionTypeInvalid"),
        ("fromai(toolCall.a)", "agentFeelFunctionNameInvalid"),
        ("FromAI(toolCall.a)", "agentFeelFunctionNameInvalid"),
        ("not fromAi(toolCall.a)", "agentFeelFunctionNameInvalid"),
        ("[fromAi(toolCall.a), fromAi(toolCall.a)]", "agentFeelKeyDuplicate"),
        ("fromAi(toolCall.a", "agentFeelExpressionInvalid"),
    ],
)
def test_a_call_that_breaks_the_contract_is_found_once(call: str, rule: str) -> None:
    assert faults(desk(task("A", f"= f(x: {call})"))) == [("A", rule)]


def test_a_key_is_declared_once_in_a_tool_and_again_in_another() -> None:
    twice = desk(task("A", GOOD, GOOD), task("B", GOOD))
    assert faults(twice) == [("A", "agentFeelKeyDuplicate")]


def test_all_that_is_wrong_is_found_in_the_order_of_the_model() -> None:
    model = desk(
        task("A", "=fromAi(1, 2)", outputs=(GOOD,)), task("B", "=1 +"), task("C", "=fromAi()")
    )
    assert faults(model) == [
        ("A", "agentFeelKeyTypeInvalid"),
        ("A", "agentFeelDescriptionTypeInvalid"),
        ("A", WHERE),
        ("B", "agentFeelExpressionInvalid"),
        ("C", "agentFeelKeyMissing"),
    ]


def test_outside_of_any_ad_hoc_sub_process_nothing_is_declared() -> None:
    around = node("subProcess", "S", task("B", GOOD))
    assert faults(definitions(process(task("A", GOOD), around))) == [("A", WHERE), ("B", WHERE)]


def test_what_follows_a_tool_or_stands_in_it_declares_nothing() -> None:
    model = desk(
        task("A", GOOD),
        task("B", GOOD),
        flow("A", "B"),
        node("subProcess", "S", task("Inner", GOOD)),
        node("boundaryEvent", "E", more='attachedToRef="A"'),
    )
    rule = "agentFeelNonEntryElement"
    assert faults(model) == [("B", rule), ("Inner", rule)]


def test_outputs_and_conditions_declare_nothing() -> None:
    model = desk(task("A", outputs=(GOOD,)), task("B"), flow("A", "B", GOOD))
    assert faults(model) == [("A", WHERE), ("A_B", WHERE)]


def test_in_the_task_flavour_outputs_declare_and_no_sub_process_says_whose_it_is() -> None:
    model = definitions(process(ad_hoc(task("A", outputs=(GOOD,)), extensions="")))
    assert faults(model, flavour="task") == []
    assert faults(definitions(process(task("A", GOOD))), flavour="task") == [("A", WHERE)]


def test_a_finding_says_what_to_do() -> None:
    assert lint(DESK) == (
        Finding(
            "Track",
            "agentFeelWrongContext",
            "fromAi() declares nothing in an output mapping: move it to an input mapping",
        ),
    )
