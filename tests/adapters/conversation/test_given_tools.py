"""What `chat.tools.declare` takes, and what it records of where tools come from."""

from collections.abc import Iterator
from typing import Any

import pytest

import onrecord
from onrecord.domain.content import Native
from onrecord.domain.errors import InvalidContent
from onrecord.domain.events import ToolsDeclared
from onrecord.domain.tools import BuiltinTool, ToolSource, tools_digest

OWN = {"name": "track_parcel", "input_schema": {"type": "object"}}
LISTED = onrecord.mcp_listing([{"name": "read", "inputSchema": {"type": "object"}}])
PYTHON = ToolSource(origin="python", name="parcels", tools=("track_parcel",))
SEARCH = BuiltinTool(name="web_search")


@pytest.fixture
def chat() -> Iterator[onrecord.Conversation]:
    with onrecord.connect("memory://") as store:
        yield store.conversation("support/4711")


def declared(chat: onrecord.Conversation) -> ToolsDeclared:
    event = list(chat.log.read())[-1].event()
    assert isinstance(event, ToolsDeclared)
    return event


def test_a_toolset_declares_its_tools_and_where_they_come_from(chat: onrecord.Conversation) -> None:
    chat.tools.declare([OWN, LISTED], sources=[PYTHON])
    event = declared(chat)
    assert [tool.name for tool in event.tools if not isinstance(tool, Native)] == [
        "track_parcel",
        "read",
    ]
    assert event.sources == (LISTED.source, PYTHON)


def test_a_declaration_has_the_digest_of_its_tools(chat: onrecord.Conversation) -> None:
    chat.tools.declare([OWN, LISTED])
    assert declared(chat).sha256 == tools_digest(declared(chat).tools)


def test_tools_that_a_provider_runs_come_from_the_provider(chat: onrecord.Conversation) -> None:
    chat.tools.declare([OWN, SEARCH, BuiltinTool(name="code_execution")])
    (source,) = declared(chat).sources
    assert source == ToolSource(origin="provider", tools=("web_search", "code_execution"))


def test_a_tool_that_can_be_called_is_declared_with_where_it_comes_from(
    chat: onrecord.Conversation,
) -> None:
    def track_parcel(parcel: str) -> str:
        """Tell where a parcel is."""
        return parcel

    def depot_status(depot: str) -> str:
        """Tell how a depot works."""
        return depot

    tools = [onrecord.tool(track_parcel), onrecord.tool(depot_status)]
    chat.tools.declare([*tools, LISTED])
    event = declared(chat)
    definitions = [tool.definition for tool in tools]
    assert event.tools == (*definitions, *LISTED.tools)
    assert event.sources == (
        ToolSource(
            origin="python",
            sha256=tools_digest(definitions),
            tools=("track_parcel", "depot_status"),
        ),
        LISTED.source,
    )


def test_a_source_that_was_told_is_not_told_twice(chat: onrecord.Conversation) -> None:
    told = ToolSource(origin="provider", name="anthropic", tools=("web_search",))
    chat.tools.declare([SEARCH], sources=[told])
    assert declared(chat).sources == (told,)


def test_tools_without_a_source_have_none(chat: onrecord.Conversation) -> None:
    chat.tools.declare([OWN])
    assert declared(chat).sources == ()


def test_the_very_same_tools_of_two_servers_need_other_names(chat: onrecord.Conversation) -> None:
    with pytest.raises(InvalidContent, match="two tools are named 'read'"):
        chat.tools.declare([LISTED, LISTED])
    again = onrecord.mcp_listing(
        [{"name": "read", "inputSchema": {"type": "object"}}], prefix="backup_"
    )
    chat.tools.declare([LISTED, again])
    assert [tool.name for tool in declared(chat).tools if not isinstance(tool, Native)] == [
        "read",
        "backup_read",
    ]


@pytest.mark.parametrize("sources", [["mcp"], [{"origin": "mcp"}], [LISTED]])
def test_a_source_is_a_tool_source(chat: onrecord.Conversation, sources: list[ToolSource]) -> None:
    with pytest.raises(InvalidContent, match=r"a source of tools is an onrecord\.ToolSource"):
        chat.tools.declare([OWN], sources=sources)


HALF = "a\ud800"


@pytest.mark.parametrize(
    "tool",
    [
        {"name": HALF, "input_schema": {}},
        {"name": "search", "description": HALF, "input_schema": {}},
        {"name": "search", "input_schema": {"properties": {HALF: {}}}},
        {"name": "search", "input_schema": {"enum": ["b", HALF]}},
        onrecord.Native(api="anthropic-messages", value={"name": HALF}),
        onrecord.BuiltinTool(name="web_search", options={"anthropic-messages": {HALF: 3}}),
    ],
)
def test_a_tool_holds_no_half_of_a_character(chat: onrecord.Conversation, tool: Any) -> None:
    with pytest.raises(onrecord.InvalidContent, match="a tool holds half a surrogate pair"):
        chat.tools.declare([tool])


@pytest.mark.parametrize(
    ("tool", "why"),
    [
        ({"name": "track"}, r"tools\[1\] \('track'\): `input_schema` is missing;"),
        ({"name": "track", "input_schema": 3}, "`input_schema` is of a wrong type;"),
        ({"name": 4, "input_schema": {}}, r"tools\[1\]: `name` is of a wrong type;"),
        (
            {"name": "track", "parameters": {}},
            "`input_schema` is missing, `parameters` is no member of a tool;",
        ),
        (len, r"tools\[1\]: it is no tool but of the type builtin_function_or_method;"),
    ],
)
def test_the_tool_and_its_wrong_members_are_named(
    chat: onrecord.Conversation, tool: Any, why: str
) -> None:
    with pytest.raises(InvalidContent, match=why):
        chat.tools.declare([OWN, tool])


def test_a_tool_nested_too_deeply_is_refused(chat: onrecord.Conversation) -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(90):
        schema = {"type": "object", "properties": {"inner": schema}}
    chat.tools.declare([{"name": "search", "input_schema": schema}])
    for _ in range(3000):
        schema = {"type": "object", "properties": {"inner": schema}}
    endless: list[Any] = []
    endless.extend([endless, endless])
    for deep in (schema, {"enum": endless}):
        with pytest.raises(onrecord.InvalidContent, match="a tool is nested more than 200 levels"):
            chat.tools.declare([{"name": "search", "input_schema": deep}])


def test_nothing_is_recorded_of_what_is_refused(chat: onrecord.Conversation) -> None:
    with pytest.raises(InvalidContent):
        chat.tools.declare([OWN, OWN])
    assert chat.head().version == 0
