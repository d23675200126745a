"""What `talk.tools.declare` takes, and what it records of where tools come from."""

from collections.abc import Iterator

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
def talk() -> Iterator[onrecord.Talk]:
    with onrecord.connect("memory://") as store:
        yield store.conversation("support/4711")


def declared(talk: onrecord.Talk) -> ToolsDeclared:
    event = list(talk.log.read())[-1].event()
    assert isinstance(event, ToolsDeclared)
    return event


def test_a_toolset_declares_its_tools_and_where_they_come_from(talk: onrecord.Talk) -> None:
    talk.tools.declare([OWN, LISTED], sources=[PYTHON])
    event = declared(talk)
    assert [tool.name for tool in event.tools if not isinstance(tool, Native)] == [
        "track_parcel",
        "read",
    ]
    assert event.sources == (LISTED.source, PYTHON)


def test_a_declaration_has_the_digest_of_its_tools(talk: onrecord.Talk) -> None:
    talk.tools.declare([OWN, LISTED])
    assert declared(talk).sha256 == tools_digest(declared(talk).tools)


def test_tools_that_a_provider_runs_come_from_the_provider(talk: onrecord.Talk) -> None:
    talk.tools.declare([OWN, SEARCH, BuiltinTool(name="code_execution")])
    (source,) = declared(talk).sources
    assert source == ToolSource(origin="provider", tools=("web_search", "code_execution"))


def test_a_tool_that_can_be_called_is_declared_with_where_it_comes_from(
    talk: onrecord.Talk,
) -> None:
    def track_parcel(parcel: str) -> str:
        """Tell where a parcel is."""
        return parcel

    def depot_status(depot: str) -> str:
        """Tell how a depot works."""
        return depot

    tools = [onrecord.tool(track_parcel), onrecord.tool(depot_status)]
    talk.tools.declare([*tools, LISTED])
    event = declared(talk)
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


def test_a_source_that_was_told_is_not_told_twice(talk: onrecord.Talk) -> None:
    told = ToolSource(origin="provider", name="anthropic", tools=("web_search",))
    talk.tools.declare([SEARCH], sources=[told])
    assert declared(talk).sources == (told,)


def test_tools_without_a_source_have_none(talk: onrecord.Talk) -> None:
    talk.tools.declare([OWN])
    assert declared(talk).sources == ()


def test_the_very_same_tools_of_two_servers_need_other_names(talk: onrecord.Talk) -> None:
    with pytest.raises(InvalidContent, match="two tools are named 'read'"):
        talk.tools.declare([LISTED, LISTED])
    again = onrecord.mcp_listing(
        [{"name": "read", "inputSchema": {"type": "object"}}], prefix="backup_"
    )
    talk.tools.declare([LISTED, again])
    assert [tool.name for tool in declared(talk).tools if not isinstance(tool, Native)] == [
        "read",
        "backup_read",
    ]


@pytest.mark.parametrize("sources", [["mcp"], [{"origin": "mcp"}], [LISTED]])
def test_a_source_is_a_tool_source(talk: onrecord.Talk, sources: list[ToolSource]) -> None:
    with pytest.raises(InvalidContent, match=r"a source of tools is an onrecord\.ToolSource"):
        talk.tools.declare([OWN], sources=sources)


def test_nothing_is_recorded_of_what_is_refused(talk: onrecord.Talk) -> None:
    with pytest.raises(InvalidContent):
        talk.tools.declare([OWN, OWN])
    assert talk.head().version == 0
