"""Which elements are tools, in both flavours, and what is told of them."""

import hashlib
from pathlib import Path
from typing import Any

import pytest

from onrecord.adapters.bpmn.gateways import Gateway
from onrecord.adapters.bpmn.process_tools import Flavour, ResolvedTools, tools_of
from onrecord.domain.errors import InvalidInput, InvalidModel
from onrecord.domain.tools import ToolDefinition
from tests.adapters.bpmn.models import ad_hoc, definitions, desk, flow, gateway, node, process, task

DESK = Path(__file__).parent / "parcel_desk.bpmn"
FLAVOURS: tuple[Flavour, ...] = ("process", "task")


def names(resolved: ResolvedTools) -> list[str]:
    return [tool.name for tool in resolved.tools]


def tool(resolved: ResolvedTools, name: str) -> ToolDefinition:
    return next(tool for tool in resolved.tools if tool.name == name)


def parameters(resolved: ResolvedTools, name: str) -> dict[str, Any]:
    properties: dict[str, Any] = tool(resolved, name).input_schema["properties"]
    return properties


def test_the_engine_takes_what_nothing_leads_to_but_starts_ends_and_event_sub_processes() -> None:
    resolved = tools_of(DESK)
    assert names(resolved) == ["Track", "Today", "Complain", "Call_Courier", "Reprint"]


def test_the_connector_takes_starts_ends_and_event_sub_processes_too() -> None:
    resolved = tools_of(DESK, "Parcel_Agent", flavour="task")
    assert names(resolved) == [
        *("Track", "Today", "Complain", "Call_Courier", "Reprint"),
        *("On_Cancel", "Begin", "Finish"),
    ]


def test_a_tool_has_its_schema_from_its_mappings() -> None:
    track = tool(tools_of(DESK), "Track")
    assert track == ToolDefinition(
        name="Track",
        description="Where a parcel is now.",
        input_schema={
            "type": "object",
            "properties": {
                "number": {
                    "type": "string",
                    "description": "Number of the parcel, such as NW-20931",
                },
                "days": {
                    "minimum": 1,
                    "type": "integer",
                    "description": "How far to look back",
                },
            },
            "required": ["number"],
        },
    )


def test_outputs_declare_parameters_in_the_task_flavour_after_the_inputs() -> None:
    assert list(parameters(tools_of(DESK, flavour="task"), "Track")) == ["number", "days", "note"]


def test_outputs_declare_nothing_in_the_process_flavour_and_are_a_warning() -> None:
    resolved = tools_of(DESK)
    assert "note" not in parameters(resolved, "Track")
    assert resolved.warnings == (
        "fromAi() in output mapping 'note' of 'Track' declares nothing: move it to an input mapping",
    )
    assert tools_of(DESK, flavour="task").warnings == ()


def test_gateways_are_no_tools_but_stand_for_those_of_others() -> None:
    for flavour in FLAVOURS:
        assert tools_of(DESK, flavour=flavour).gateways == (
            Gateway("mcpClient", "Warehouse", "Tools of the warehouse"),
            Gateway("a2aClient", "Customs", "The agent of the customs"),
        )


def test_tools_and_gateways_keep_their_own_order() -> None:
    mixed = desk(
        task("A"),
        node("serviceTask", "First", extensions=gateway("mcpClient")),
        task("B"),
        node("serviceTask", "Second", extensions=gateway("own kind")),
        task("C"),
        node("serviceTask", "Blank", extensions=gateway(" ")),
    )
    resolved = tools_of(mixed)
    assert names(resolved) == ["A", "B", "C", "Blank"]
    assert [(each.type, each.name) for each in resolved.gateways] == [
        ("mcpClient", "First"),
        ("own kind", "Second"),
    ]


def test_the_source_says_which_state_of_which_process_it_was() -> None:
    source = tools_of(DESK).source
    assert source.origin == "bpmn"
    assert (source.name, source.version) == ("Parcel_Desk/Parcel_Agent", "1.4")
    assert source.sha256 == hashlib.sha256(DESK.read_bytes()).hexdigest()
    assert source.tools == ("Track", "Today", "Complain", "Call_Courier", "Reprint")


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize(
    "kind",
    [
        *("task", "userTask", "serviceTask", "sendTask", "receiveTask", "manualTask"),
        *("businessRuleTask", "scriptTask", "callActivity", "subProcess", "transaction"),
        *("adHocSubProcess", "exclusiveGateway", "parallelGateway", "inclusiveGateway"),
        *("complexGateway", "eventBasedGateway", "intermediateCatchEvent"),
        "intermediateThrowEvent",
    ],
)
def test_any_kind_of_element_that_nothing_leads_to_is_a_tool(kind: str, flavour: Flavour) -> None:
    assert names(tools_of(desk(node(kind, "It")), "Tools", flavour=flavour)) == ["It"]


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_what_is_no_flow_node_is_no_tool(flavour: Flavour) -> None:
    others = [node(kind, kind) for kind in ("dataObject", "textAnnotation", "laneSet")]
    assert names(tools_of(desk(*others, task("It")), flavour=flavour)) == ["It"]


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_a_flow_that_only_its_own_element_tells_of_leads_somewhere_too(flavour: Flavour) -> None:
    assert names(tools_of(desk(task("A"), task("B"), flow("A", "B")), flavour=flavour)) == ["A"]


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_incoming_is_enough_without_a_flow(flavour: Flavour) -> None:
    led_to = node("task", "B", "<b:incoming>From_A</b:incoming>")
    assert names(tools_of(desk(task("A"), led_to), flavour=flavour)) == ["A"]


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_boundary_events_are_no_tools(flavour: Flavour) -> None:
    event = node("boundaryEvent", "B", more='attachedToRef="A"')
    assert names(tools_of(desk(task("A"), event), flavour=flavour)) == ["A"]


def test_elements_within_elements_are_no_tools() -> None:
    inner = node("subProcess", "Outer", task("Inner", "=fromAi(toolCall.a)"))
    resolved = tools_of(desk(inner))
    assert names(resolved) == ["Outer"]
    assert parameters(resolved, "Outer") == {}


@pytest.mark.parametrize("triggered", ["true", "1"])
def test_an_event_sub_process_is_one_in_either_spelling(triggered: str) -> None:
    event = node("subProcess", "E", more=f'triggeredByEvent="{triggered}"')
    assert names(tools_of(desk(task("A"), event))) == ["A"]


DOCUMENTATION = "<b:documentation{}>{}</b:documentation>".format


@pytest.mark.parametrize(
    ("documentation", "description"),
    [
        ("", "Its name"),
        (DOCUMENTATION("", ""), "Its name"),
        (DOCUMENTATION("", " \n "), "Its name"),
        (DOCUMENTATION("", " What it does. "), "What it does."),
        (DOCUMENTATION(' textFormat="text/plain"', "Plain"), "Plain"),
        (DOCUMENTATION(' textFormat="text/html"', "Rich"), "Its name"),
        (DOCUMENTATION(' textFormat="text/html"', "Rich") + DOCUMENTATION("", "Plain"), "Plain"),
        (DOCUMENTATION("", "First") + DOCUMENTATION("", "Second"), "First"),
        (DOCUMENTATION("", " ") + DOCUMENTATION("", "Second"), "Its name"),
    ],
)
def test_the_first_plain_documentation_describes_a_tool_else_its_name(
    documentation: str, description: str
) -> None:
    resolved = tools_of(desk(node("task", "A", documentation, more='name="Its name"')))
    assert resolved.tools[0].description == description


def test_a_tool_without_documentation_and_name_has_no_description() -> None:
    assert tools_of(desk(task("A"))).tools[0].description is None


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("=fromAi(toolCall.a)", ["a"]),
        ("  = fromAi(toolCall.a) ", ["a"]),
        ("fromAi(toolCall.a)", []),
        ("", []),
        ('="fromAi(toolCall.a)"', []),
    ],
)
def test_only_sources_that_begin_with_an_equals_sign_are_expressions(
    source: str, found: list[str]
) -> None:
    assert list(parameters(tools_of(desk(task("A", source))), "A")) == found


def test_a_tool_may_declare_parameters_in_several_mappings_in_their_order() -> None:
    sources = ("=fromAi(toolCall.b)", "=[fromAi(toolCall.c), fromAi(toolCall.a)]")
    assert list(parameters(tools_of(desk(task("A", *sources))), "A")) == ["b", "c", "a"]


def test_the_engine_names_the_element_of_a_call_that_is_wrong() -> None:
    with pytest.raises(InvalidModel) as caught:
        tools_of(desk(task("A", "=fromAi(10)")))
    assert caught.value.code == "AD_HOC_TOOL_DEFINITION_INVALID"
    assert str(caught.value).startswith(
        "Failed to extract ad-hoc activity parameters for element 'A'. "
        "Expected fromAi() parameter 'value'"
    )


@pytest.mark.parametrize("direction", ["input", "output"])
def test_the_connector_names_the_mapping_of_a_call_that_is_wrong(direction: str) -> None:
    wrong = "=fromAi(toolCall.a, 10)"
    wrong_task = task("A", wrong) if direction == "input" else task("A", outputs=(wrong,))
    with pytest.raises(InvalidModel) as caught:
        tools_of(desk(wrong_task), flavour="task")
    assert caught.value.code == "AD_HOC_TOOL_DEFINITION_INVALID"
    assert str(caught.value) == (
        f"Invalid ad-hoc tool definition for element 'A' on {direction} mapping "
        f"'{direction[:-3]}0': Expected fromAi() parameter 'description' to be a string, "
        "but received '10'."
    )


def test_an_expression_that_is_none_names_its_element() -> None:
    with pytest.raises(InvalidModel) as caught:
        tools_of(desk(task("A", "=1 +")))
    assert str(caught.value) == (
        "Failed to extract ad-hoc activity parameters for element 'A'. Failed to parse FEEL "
        "expression: failed to parse expression '1 +': it ends too early"
    )


def test_an_output_that_is_no_expression_is_not_read_by_the_engine() -> None:
    assert tools_of(desk(task("A", outputs=("=1 +",)))).warnings == ()


def test_parameters_that_no_schema_takes_name_their_element() -> None:
    twice = task("A", "=fromAi(toolCall.a)", "=fromAi(toolCall.a)")
    with pytest.raises(InvalidModel, match=r"for element 'A'\. Duplicate parameter name") as caught:
        tools_of(desk(twice))
    assert caught.value.code == "AD_HOC_TOOL_SCHEMA_INVALID"


@pytest.mark.parametrize("sub_process_id", ["Missing", "Desk", "A"])
def test_an_id_that_is_no_ad_hoc_sub_process_is_not_found(sub_process_id: str) -> None:
    with pytest.raises(InvalidModel) as caught:
        tools_of(desk(task("A")), sub_process_id)
    assert caught.value.code == "AD_HOC_SUB_PROCESS_NOT_FOUND"
    assert str(caught.value) == (
        "Unable to resolve tool elements. "
        f"Ad-hoc sub-process with ID '{sub_process_id}' was not found."
    )


@pytest.mark.parametrize("sub_process_id", ["", "  "])
def test_a_blank_id_is_refused(sub_process_id: str) -> None:
    with pytest.raises(InvalidModel, match=r"^adHocSubProcessId cannot be null or empty$"):
        tools_of(desk(task("A")), sub_process_id)


def test_without_an_id_it_is_the_only_one_that_is_an_agents() -> None:
    plain = ad_hoc(task("A"), id="Plain", extensions="")
    agents = ad_hoc(task("B"), id="Agents")
    assert names(tools_of(definitions(process(plain, agents)))) == ["B"]


def test_without_an_id_the_only_one_is_meant_though_nothing_says_that_it_is_an_agents() -> None:
    assert names(tools_of(definitions(process(ad_hoc(task("A"), extensions=""))))) == ["A"]


@pytest.mark.parametrize("extensions", ["", None])
def test_without_an_id_several_are_listed(extensions: str | None) -> None:
    own = {} if extensions is None else {"extensions": extensions}
    several = definitions(
        process(ad_hoc(id="One", **own)),
        process(node("subProcess", "Around", ad_hoc(id="Two", **own)), id="Other"),
    )
    with pytest.raises(InvalidModel, match="several ad-hoc sub-processes: name one of One, Two"):
        tools_of(several)


def test_without_any_there_is_nothing_to_find() -> None:
    with pytest.raises(InvalidModel, match="no ad-hoc sub-process"):
        tools_of(definitions(process(task("A"))))


def test_tools_have_ids_and_each_its_own() -> None:
    with pytest.raises(InvalidModel, match="two elements of 'Tools' have the id 'A'"):
        tools_of(desk(task("A"), task("B"), task("A")))
    with pytest.raises(InvalidModel, match="an element of 'Tools' has no id"):
        tools_of(desk(task("")))


def test_a_gateway_whose_id_holds_the_separator_of_names_is_refused() -> None:
    for kind, refused in (("mcpClient", True), ("a2aClient", False)):
        model = desk(node("serviceTask", "a___b", extensions=gateway(kind)))
        if not refused:
            assert tools_of(model).gateways[0].name == "a___b"
            continue
        with pytest.raises(InvalidModel, match=r"activity ID\(s\) detected: \['a___b'\]"):
            tools_of(model)


def test_prefixes_are_the_models_own() -> None:
    plain = desk(task("A", "=fromAi(toolCall.a)")).decode()
    other = (
        plain.replace("<b:", "<model:")
        .replace("</b:", "</model:")
        .replace("xmlns:b", "xmlns:model")
    )
    none = plain.replace("<b:", "<").replace("</b:", "</").replace("xmlns:b", "xmlns")
    for text in (other, none):
        assert tools_of(text.encode()).tools == tools_of(plain.encode()).tools


def test_the_same_names_in_another_namespace_are_other_things() -> None:
    model = desk(task("A", "=fromAi(toolCall.a)"), '<x:serviceTask xmlns:x="urn:x" id="B"/>')
    other = model.replace(b"http://camunda.org/schema/zeebe/1.0", b"urn:other")
    assert names(tools_of(model)) == ["A"]
    assert parameters(tools_of(other), "A") == {}


def test_the_same_bytes_are_resolved_once_for_each_sub_process_and_flavour(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    two = definitions(process(ad_hoc(task("A"), id="One"), ad_hoc(task("B"), id="Two")))
    one = tools_of(two, "One")
    assert names(tools_of(two, "Two")) == ["B"]
    assert tools_of(two, "One", flavour="task") == one

    def read(data: bytes) -> object:
        raise AssertionError("read again")

    monkeypatch.setattr("onrecord.adapters.bpmn.process_tools.model_of", read)
    assert tools_of(bytes(bytearray(two)), "One") == one
    with pytest.raises(AssertionError, match="read again"):
        tools_of(two, "One", gateways=False)


def test_what_a_caller_writes_into_a_schema_is_in_no_other_callers() -> None:
    model = desk(task("A", '=fromAi(toolCall.a, "x", "array", {items: {type: "string"}})'))
    tools_of(model).tools[0].input_schema["properties"]["a"]["items"]["type"] = "number"
    assert parameters(tools_of(model), "A")["a"]["items"] == {"type": "string"}


def test_gateways_are_plain_tools_where_nobody_asks_what_they_offer() -> None:
    """The id of one may hold the separator of names then, as no name is made of it."""
    server = node("serviceTask", "a___b", extensions=gateway("mcpClient"))
    resolved = tools_of(desk(task("A"), server, task("C")), gateways=False)
    assert names(resolved) == ["A", "a___b", "C"]
    assert resolved.gateways == ()
    assert parameters(resolved, "a___b") == {}
    assert resolved.source.tools == ("A", "a___b", "C")


@pytest.mark.parametrize("flavour", ["Task", "engine", "", None])
def test_a_flavour_that_is_none_is_refused(flavour: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^a flavour is 'process' or 'task'$"):
        tools_of(desk(task("A")), flavour=flavour)


@pytest.mark.parametrize("model", ["desk.bpmn", None, 4])
def test_a_model_is_a_path_or_its_bytes(model: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^a model is a pathlib\.Path or bytes, not "):
        tools_of(model)
