"""`onrecord tools`: which tools are in force, where they come from, what an API is told of them."""

import json
import re
from pathlib import Path

import pytest

import onrecord
from onrecord.domain.content import Native
from onrecord.domain.tools import BuiltinTool
from onrecord.projections.history.tool_names import OPENAI, name_for
from tests.adapters.cli.command import Command, in_process, on_a_terminal, url_of

KEY = "support/4711"
TRACK = {
    "name": "track.parcel",
    "description": "The last scans of a parcel.\nNewest first.",
    "input_schema": {
        "type": "object",
        "properties": {
            "parcel": {"type": "string", "description": "Its number."},
            "since": {"type": ["string", "null"]},
        },
        "required": ["parcel"],
    },
}
STYLES = re.compile(r"\x1b\[[0-9;]*m")
FILES = onrecord.mcp_listing(
    [{"name": "read_file", "inputSchema": {"type": "object"}}],
    server={"name": "files", "version": "2.1.0"},
)


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return in_process(monkeypatch, capsys)


@pytest.fixture(autouse=True)
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A conversation with two declarations of tools."""
    monkeypatch.setenv("ONRECORD_URL", url_of(tmp_path))
    with onrecord.connect() as store:
        chat = store.conversation(KEY)
        chat.tools.declare([{"name": "look", "input_schema": {"type": "object"}}])
        chat.user("Hello")
        own = Native(api="gemini", value={"codeExecution": {}})
        chat.tools.declare([TRACK, FILES, BuiltinTool(name="web_search"), own])


def test_each_tool_is_a_line_with_where_it_comes_from(command: Command) -> None:
    assert FILES.source.sha256 is not None
    assert command("tools", KEY).columns == [
        [
            "track.parcel",
            "parcel: string, since?: string | null",
            r"The last scans of a parcel.\nNewest first.",
            *[""] * 4,
            "4",
        ],
        ["read_file", "", "", "mcp", "files", "2.1.0", FILES.source.sha256[:8], "4"],
        ["web_search", "", "", "provider", "", "", "", "4"],
        ["codeExecution", "", "", "provider", "gemini", "", "", "4"],
    ]


def test_tools_of_before_are_told_as_they_were(command: Command) -> None:
    assert [row[0] for row in command("tools", KEY, "--at", "3").columns] == ["look"]
    assert command("tools", KEY, "--at", "1").out == ""


def test_json_has_the_tools_as_they_were_declared(command: Command) -> None:
    document = command("tools", KEY, "--json").document
    assert list(document) == ["version", "conversation", "sha256", "tools", "sources"]
    assert document["version"] == 4
    assert [tool["name"] for tool in document["tools"]] == [
        "track.parcel",
        "read_file",
        "web_search",
        "codeExecution",
    ]
    assert document["tools"][0]["input_schema"] == TRACK["input_schema"]
    assert document["tools"][0]["source"] is None
    assert document["tools"][1]["source"] == document["sources"][0]
    assert document["sources"][0]["name"] == "files"
    assert [tool["kind"] for tool in document["tools"]] == ["tool", "tool", "builtin", "native"]


def test_json_of_no_tools_says_so(command: Command) -> None:
    document = command("tools", KEY, "--json", "--at", "1").document
    assert (document["version"], document["tools"], document["conversation"]) == (0, [], None)


@pytest.mark.parametrize("api", ["anthropic-messages", "openai-responses"])
def test_an_api_is_told_of_them_in_its_own_json(command: Command, api: str) -> None:
    done = command("tools", KEY, "--api", api)
    assert [tool["name"] for tool in done.document["tools"][:2]] == [
        name_for("track.parcel", OPENAI),
        "read_file",
    ]
    assert "onrecord: translated, the service does not take the name 'track.parcel'" in done.err
    document = command("tools", KEY, "--api", api, "--json").document
    assert document["tools"] == done.document["tools"]
    assert document["api"] == api
    assert {"deed", "rule", "why"} <= set(document["report"][0])


def test_an_api_that_has_not_one_of_them_is_an_error_that_says_who_has(command: Command) -> None:
    done = command("tools", KEY, "--api", "ollama")
    assert done.code == 1
    assert "ollama cannot run 'web_search'" in done.err


def test_every_declaration_is_told_the_first_one_first(command: Command) -> None:
    first, second = command("tools", KEY, "--all").columns
    assert (first[0], first[3:]) == ("2", ["", "look"])
    assert second[0] == "4"
    assert second[3:] == [
        "mcp files, provider",
        "track.parcel, read_file, web_search, codeExecution",
    ]
    told = command("tools", KEY, "--all", "--json").documents
    assert [document["version"] for document in told] == [2, 4]
    assert told[0]["recorded_at"] == first[1]
    assert all(
        document["sha256"].startswith(row[2])
        for document, row in zip(told, [first, second], strict=True)
    )


SERVERS = (
    Native(api="openai-responses", value={"type": "mcp", "server_label": "parcels"}),
    Native(api="openai-responses", value={"type": "mcp", "server_label": "depots"}),
    Native(api="anthropic-messages", value={"type": "mcp_toolset", "mcp_server_name": "parcels"}),
    Native(api="gemini", value={"mcpServers": [{"name": "parcels"}, {"name": "depots"}]}),
    BuiltinTool(name="mcp", options={"openai-responses": {"server_label": "customs"}}),
)
TITLES = [
    "mcp (parcels)",
    "mcp (depots)",
    "mcp_toolset (parcels)",
    "mcpServers (parcels, depots)",
    "mcp (customs)",
]


def test_the_servers_of_a_provider_are_told_apart(command: Command) -> None:
    with onrecord.connect() as store:
        chat = store.conversation("servers")
        chat.tools.declare(SERVERS[:1])
        chat.tools.declare(SERVERS)
    assert [row[0] for row in command("tools", "servers").columns] == TITLES
    assert command("show", "servers").columns[2][6] == ", ".join(TITLES)
    document = command("tools", "servers", "--json").document
    assert [tool["name"] for tool in document["tools"][:2]] == ["mcp", "mcp"]
    assert command("tools", "servers", "--all").columns[1][4] == ", ".join(TITLES)
    assert "mcp (depots)" in on_a_terminal("tools", "servers")


def test_they_are_drawn_on_a_terminal() -> None:
    drawn = on_a_terminal("tools", KEY, NO_COLOR="", columns=100)
    assert "4 tools since version 4" in drawn
    assert "The last scans of a parcel. Newest first." in drawn
    assert "parcel: string" in drawn
    assert "Its number." in drawn
    assert "from mcp files 2.1.0" in drawn
    assert "from provider gemini" in drawn
    history = on_a_terminal("tools", KEY, "--all", columns=100)
    assert "track.parcel" in history
    assert "mcp files" in history
    assert re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ", history)
    assert "functionDeclarations" in on_a_terminal("tools", KEY, "--api", "gemini")
    assert "no tools were declared" in on_a_terminal("tools", KEY, "--at", "1")


def test_what_an_api_is_told_can_be_read_as_json_on_a_terminal() -> None:
    about = "The last scans of a parcel, with depot, time and what the driver wrote.\nNewest first."
    with onrecord.connect() as store:
        store.conversation(KEY).tools.declare([{**TRACK, "description": about}])
    drawn = on_a_terminal("tools", KEY, "--api", "anthropic-messages", columns=80)
    written, _ = json.JSONDecoder().raw_decode(STYLES.sub("", drawn))
    assert [tool["description"] for tool in written["tools"]] == [about]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("support/47",), 1, "did you mean 'support/4711'?"),
        ((KEY, "--at", "9"), 1, "there is no version 9"),
        ((KEY, "--at", "0"), 2, "--at"),
        ((KEY, "--api", "latin"), 2, "is not one of"),
        ((KEY, "--api", "gemini", "--all"), 2, "leave --all out"),
    ],
)
def test_what_cannot_be_told_is_an_error(
    command: Command, arguments: tuple[str, ...], code: int, said: str
) -> None:
    done = command("tools", *arguments)
    assert done.code == code
    assert said in done.err
