"""What an MCP server lists as its tools, as it comes from the SDK or from the wire."""

from collections.abc import Sequence
from typing import Any

import pytest
from mcp import types

import onrecord
from onrecord.domain.errors import InvalidContent
from onrecord.domain.events import ToolsDeclared
from onrecord.domain.tools import ToolDefinition

ENTRY: dict[str, Any] = {
    "name": "read_file",
    "title": "Read a file",
    "description": "The text of a file.",
    "inputSchema": {
        "type": "object",
        "properties": {"path": {"type": "string", "default": None}},
        "required": ["path"],
    },
    "outputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
    "annotations": {"readOnlyHint": True},
    "icons": [{"src": "https://files.example/icon.png"}],
}
SERVER = {"name": "files", "version": "2.1.0", "title": "Files"}


def definition(name: str = "read_file") -> ToolDefinition:
    return ToolDefinition(
        name=name,
        title="Read a file",
        description="The text of a file.",
        input_schema=ENTRY["inputSchema"],
        output_schema=ENTRY["outputSchema"],
        annotations={"readOnlyHint": True},
    )


class TestAnEntry:
    def test_becomes_a_definition_for_any_model(self) -> None:
        listed = onrecord.mcp_listing({"tools": [ENTRY]})
        assert listed.tools == (definition(),)

    def test_of_the_sdk_is_the_same_as_its_json(self) -> None:
        page = types.ListToolsResult.model_validate({"tools": [ENTRY]})
        assert onrecord.mcp_listing(page) == onrecord.mcp_listing({"tools": [ENTRY]})

    def test_keeps_the_nulls_of_its_schema(self) -> None:
        page = types.ListToolsResult.model_validate({"tools": [ENTRY]})
        (tool,) = onrecord.mcp_listing(page).tools
        assert tool.input_schema["properties"]["path"] == {"type": "string", "default": None}

    def test_with_no_more_than_it_must_have_says_no_more(self) -> None:
        (tool,) = onrecord.mcp_listing(
            [types.Tool(name="ping", input_schema={"type": "object"})]
        ).tools
        assert tool == ToolDefinition(name="ping", input_schema={"type": "object"})

    @pytest.mark.parametrize(
        ("entry", "why"),
        [
            ("read_file", "entry 0 of the list is no tool but str"),
            ({"inputSchema": {"type": "object"}}, "it has no name"),
            ({"name": "", "inputSchema": {"type": "object"}}, "it has no name"),
            ({"name": 7, "inputSchema": {"type": "object"}}, "it has no name"),
            ({"name": "ping"}, "input_schema is not as the protocol has it"),
            ({"name": "ping", "inputSchema": True}, "input_schema is not as the protocol has it"),
            (
                {"name": "ping", "inputSchema": {}, "title": 1},
                "title is not as the protocol has it",
            ),
        ],
    )
    def test_that_is_no_tool_is_refused_by_its_place(self, entry: object, why: str) -> None:
        with pytest.raises(InvalidContent, match=why):
            onrecord.mcp_listing([entry])

    def test_that_is_refused_is_not_shown(self) -> None:
        with pytest.raises(InvalidContent) as refused:
            onrecord.mcp_listing([{"name": "ping", "inputSchema": "hunter2"}])
        assert "hunter2" not in str(refused.value)
        assert refused.value.__context__ is None


class TestAList:
    def test_has_the_tools_of_all_its_pages_in_order(self) -> None:
        pages = [
            types.ListToolsResult.model_validate({"tools": [{**ENTRY, "name": name}]})
            for name in ("a", "b")
        ]
        listed = onrecord.mcp_listing([tool for page in pages for tool in page.tools])
        assert [tool.name for tool in listed.tools] == ["a", "b"]

    def test_that_repeats_an_entry_has_it_once(self) -> None:
        assert onrecord.mcp_listing([ENTRY, dict(ENTRY)]).tools == (definition(),)

    def test_with_two_tools_of_one_name_is_refused(self) -> None:
        with pytest.raises(InvalidContent, match="two tools named 'read_file'"):
            onrecord.mcp_listing([ENTRY, {**ENTRY, "description": "Something else."}])

    def test_goes_under_a_prefix_so_that_two_servers_can_list_the_same_names(self) -> None:
        listed = onrecord.mcp_listing([ENTRY], prefix="MCP_Files___")
        assert listed.tools == (definition("MCP_Files___read_file"),)
        assert listed.source.tools == ("MCP_Files___read_file",)

    def test_of_no_tools_is_a_list_too(self) -> None:
        assert onrecord.mcp_listing({"tools": []}).tools == ()

    @pytest.mark.parametrize(
        "listing", [None, "tools", b"tools", 7, {"resources": []}, {"tools": "a"}]
    )
    def test_is_nothing_else(self, listing: object) -> None:
        with pytest.raises(InvalidContent, match="an MCP server's list is"):
            onrecord.mcp_listing(listing)


class TestItsSource:
    @pytest.mark.parametrize(
        "server",
        [
            SERVER,
            {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": SERVER},
            types.Implementation.model_validate(SERVER),
            types.InitializeResult.model_validate(
                {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": SERVER}
            ),
        ],
        ids=["its JSON", "JSON of the handshake", "server_info", "the handshake"],
    )
    def test_names_the_server_and_its_version(self, server: object) -> None:
        source = onrecord.mcp_listing([ENTRY], server=server).source
        assert (source.origin, source.name, source.version) == ("mcp", "files", "2.1.0")
        assert source.tools == ("read_file",)

    def test_names_nobody_where_nobody_is_told(self) -> None:
        source = onrecord.mcp_listing([ENTRY]).source
        assert (source.name, source.version) == (None, None)

    def test_is_told_by_a_server_and_nothing_else(self) -> None:
        with pytest.raises(InvalidContent, match="not str"):
            onrecord.mcp_listing([ENTRY], server="files")

    def test_has_the_same_digest_whatever_the_order_of_keys(self) -> None:
        assert digest([ENTRY]) == digest([dict(reversed(ENTRY.items()))])

    @pytest.mark.parametrize(
        "other",
        [
            [{**ENTRY, "description": "Other words."}],
            # What a model is never told of is part of what the server listed.
            [{**ENTRY, "icons": []}],
            [ENTRY, {**ENTRY, "name": "write_file"}],
        ],
    )
    def test_has_another_digest_for_another_list(self, other: Sequence[object]) -> None:
        assert digest([ENTRY]) != digest(other)

    def test_has_a_digest_that_no_prefix_changes(self) -> None:
        assert digest([ENTRY]) == onrecord.mcp_listing([ENTRY], prefix="files_").source.sha256


def test_a_source_stands_beside_its_tools_in_the_record() -> None:
    with onrecord.connect("memory://") as store:
        chat = store.conversation("k")
        listed = onrecord.mcp_listing([ENTRY], server=SERVER)
        chat.tools.declare([listed])
        declared = list(chat.log.read())[-1].event()
    assert isinstance(declared, ToolsDeclared)
    assert declared.tools == listed.tools
    assert declared.sources == (listed.source,)


def digest(listing: object) -> str | None:
    return onrecord.mcp_listing(listing).source.sha256
