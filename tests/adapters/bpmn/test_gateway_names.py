"""Names of what stands behind gateways, and what their elements are asked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onrecord.adapters.bpmn.gateways import (
    INVALID_IDS,
    Activation,
    Discovery,
    McpName,
    a2a_call,
    a2a_discovery,
    check_mcp_elements,
    discovery_of,
    mcp_call,
    mcp_discovery,
    mcp_name,
    parse_mcp_name,
)
from onrecord.adapters.tools.a2a import a2a_name, agent_card, parse_a2a_name
from onrecord.domain.errors import InvalidContent, InvalidModel

element_ids = st.from_regex(r"[A-Za-z][A-Za-z0-9_-]{0,9}[A-Za-z0-9]", fullmatch=True).filter(
    lambda found: "___" not in found
)
tool_names = st.from_regex(r"[A-Za-z0-9_./-]{1,12}", fullmatch=True)


@given(element_ids, tool_names)
def test_a_name_says_its_element_and_its_tool(element: str, tool: str) -> None:
    check_mcp_elements([element])
    assert parse_mcp_name(mcp_name(element, tool)) == McpName(element, tool)


@pytest.mark.parametrize(
    ("name", "parsed"),
    [
        ("MCP_Files___read", McpName("Files", "read")),
        ("MCP_Files___read___all", McpName("Files", "read___all")),
        ("MCP_My_Files___read_all", McpName("My_Files", "read_all")),
        ("MCP_MCP_a___b", McpName("MCP_a", "b")),
    ],
)
def test_the_element_ends_at_the_first_separator(name: str, parsed: McpName) -> None:
    assert parse_mcp_name(name) == parsed


@pytest.mark.parametrize(
    "name",
    [
        *("", "MCP_", "MCP____", "MCP____read", "MCP_Files___", "MCP_Files__read", "Files___read"),
        *("mcp_Files___read", "xMCP_Files___read", "MCP_Fi les___read", "MCP_Files___re ad"),
        *("MCP_Files___read\n", "\nMCP_Files___read"),
    ],
)
def test_what_is_no_name_is_said_a_trailing_newline_included(name: str) -> None:
    with pytest.raises(InvalidContent) as caught:
        parse_mcp_name(name)
    assert str(caught.value) == f"Failed to parse MCP tool call identifier from '{name}'"


def test_ids_of_elements_must_not_hold_the_separator() -> None:
    check_mcp_elements(["Files", "My__Files"])
    with pytest.raises(InvalidModel) as caught:
        check_mcp_elements(["a___b", "Files", "c_"])
    assert caught.value.code == INVALID_IDS == "MCP_GATEWAY_INVALID_TOOL_DEFINITIONS"
    assert str(caught.value) == (
        "Invalid MCP client activity ID(s) detected: ['a___b', 'c_']. Activity IDs must not "
        "contain the reserved separator '___'. Please rename the affected activities in the BPMN "
        "model."
    )


def test_a_server_is_asked_for_its_tools_under_an_id_that_names_its_element() -> None:
    asked = mcp_discovery("Files")
    assert asked == Activation("MCP_toolsList_Files", "Files", {"method": "tools/list"})
    assert discovery_of(asked.id) == Discovery("mcpClient", "Files")


def test_a_call_goes_through_the_element_and_keeps_its_id() -> None:
    assert mcp_call("call_1", "MCP_Files___read", {"path": "a"}) == Activation(
        "call_1",
        "Files",
        {"method": "tools/call", "params": {"name": "read", "arguments": {"path": "a"}}},
    )


def test_an_agent_is_asked_for_its_card_under_an_id_that_names_its_element() -> None:
    asked = a2a_discovery("Travel")
    assert asked == Activation(
        "A2A_fetchAgentCard_Travel", "Travel", {"operation": "fetchAgentCard"}
    )
    assert discovery_of(asked.id) == Discovery("a2aClient", "Travel")


def test_an_agents_card_is_its_description_and_a_message_its_input() -> None:
    told = agent_card({"name": "Reisebüro", "skills": []}, element="Travel").tools[0]
    assert told.name == "A2A_Travel"
    assert told.description == (
        "This tool allows interaction with the remote A2A agent represented by the following agent "
        'card:\n{"name":"Reisebüro","skills":[]}'
    )
    assert list(told.input_schema["properties"]) == [
        "text",
        "taskId",
        "contextId",
        "referenceTaskIds",
    ]
    assert told.input_schema["required"] == ["text"]


def test_a_message_goes_through_the_element_and_keeps_its_id() -> None:
    assert a2a_call("call_1", "A2A_Travel", {"text": "Go"}) == Activation(
        "call_1", "Travel", {"operation": "sendMessage", "params": {"text": "Go"}}
    )
    assert parse_a2a_name(a2a_name("A2A_x")) == "A2A_x"


@pytest.mark.parametrize("name", ["", "A2A_", "Travel", "a2a_Travel", "MCP_Files___read"])
def test_what_is_no_agents_name_is_said(name: str) -> None:
    with pytest.raises(InvalidContent) as caught:
        parse_a2a_name(name)
    assert str(caught.value) == f"Invalid A2A tool call name: '{name}'"


@pytest.mark.parametrize(
    "call_id", ["", "call_1", "MCP_toolsList_", "A2A_fetchAgentCard_", "A2A_Travel"]
)
def test_ids_of_other_calls_answer_no_discovery(call_id: str) -> None:
    assert discovery_of(call_id) is None


def test_an_element_gets_the_arguments_beside_what_names_the_call() -> None:
    variable = Activation("call_1", "Track", {"number": "NW-1", "_meta": "mine"}).variable()
    assert variable == {"_meta": {"id": "call_1", "name": "Track"}, "number": "NW-1"}
