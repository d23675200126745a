"""What of a context an MCP server is told, seen by real servers and on the wire."""

import json
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import mcp
import pytest
from mcp.client.stdio import stdio_client

import onrecord
from onrecord.adapters.tools.mcp import MetaFilter, allow, deny, meta_of
from onrecord.domain.errors import InvalidContent
from tests.adapters.tools import mcp_server
from tests.adapters.tools.conversations import call_tools, recorded_results
from tests.adapters.tools.mcp_server import Sent

CONTEXT = {
    "authToken": "canary-token-41",
    "tenantId": "acme",
    "correlationId": "c-17",
    "apiKey": "canary-key-41",
}
ALLOWED = {"tenantId": "acme", "correlationId": "c-17"}

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def chat() -> onrecord.Conversation:
    return onrecord.connect("memory://").conversation("support/4711")


@asynccontextmanager
async def over_stdio(wire: Path) -> AsyncGenerator[mcp.ClientSession]:
    """A session with a server in a process of its own; each line that it is sent stands in a file."""
    program = f"tee {wire} | {sys.executable} {mcp_server.__file__}"
    root = str(Path(__file__).parents[3])
    server = mcp.StdioServerParameters(command="sh", args=["-c", program], env={"PYTHONPATH": root})
    async with stdio_client(server) as (read, write), mcp.ClientSession(read, write) as session:
        await session.initialize()
        yield session


def calls_on(wire: Path) -> list[dict[str, Any]]:
    """The parameters of each call on the wire."""
    sent = [json.loads(line) for line in wire.read_text("utf-8").splitlines()]
    return [message["params"] for message in sent if message.get("method") == "tools/call"]


async def test_a_server_receives_meta_with_exactly_the_allowed_keys(
    chat: onrecord.Conversation, tmp_path: Path
) -> None:
    call_tools(chat, ("echo", {"text": "NW-1"}))
    wire = tmp_path / "wire"
    async with over_stdio(wire) as session:
        tools = await onrecord.mcp_tools(session, meta=onrecord.allow("tenantId", "correlationId"))
        await onrecord.ToolRunner(chat, tools, context=CONTEXT).run_async()
    assert calls_on(wire) == [{"name": "echo", "arguments": {"text": "NW-1"}, "_meta": ALLOWED}]
    assert recorded_results(chat) == [("call_1", "{'text': 'NW-1'}", False)]


async def test_a_value_of_null_does_not_reach_a_server(
    chat: onrecord.Conversation, tmp_path: Path
) -> None:
    """The SDK leaves it out of `_meta`, though not of the arguments that a model gave."""
    call_tools(chat, ("echo", {"text": "NW-1", "more": None}))
    wire = tmp_path / "wire"
    async with over_stdio(wire) as session:
        tools = await onrecord.mcp_tools(session, meta=onrecord.allow("tenantId", "correlationId"))
        context = {**CONTEXT, "tenantId": None}
        await onrecord.ToolRunner(chat, tools, context=context).run_async()
    (sent,) = calls_on(wire)
    assert sent["_meta"] == {"correlationId": "c-17"}
    assert sent["arguments"] == {"text": "NW-1", "more": None}


async def test_a_server_is_told_nothing_by_default(
    chat: onrecord.Conversation, tmp_path: Path
) -> None:
    call_tools(chat, ("echo", {}))
    wire = tmp_path / "wire"
    async with over_stdio(wire) as session:
        tools = await onrecord.mcp_tools(session)
        await onrecord.ToolRunner(chat, tools, context=CONTEXT).run_async()
    (call,) = calls_on(wire)
    assert not call.get("_meta")
    assert "canary" not in wire.read_text("utf-8")


async def test_an_empty_context_has_no_meta_on_the_wire(
    chat: onrecord.Conversation, tmp_path: Path
) -> None:
    call_tools(chat, ("echo", {}))
    wire = tmp_path / "wire"
    async with over_stdio(wire) as session:
        tools = await onrecord.mcp_tools(session, meta=onrecord.deny())
        await onrecord.ToolRunner(chat, tools).run_async()
    (call,) = calls_on(wire)
    assert "_meta" not in call


FILTERS: dict[str, Callable[[], MetaFilter]] = {
    "allow": lambda: allow("tenantId", "correlationId"),
    "deny": lambda: deny("authToken", "apiKey"),
    "custom": lambda: lambda context: {name: context[name] for name in ALLOWED},
}


@pytest.mark.parametrize("filtering", FILTERS)
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_allowing_some_is_denying_the_others(
    filtering: str, mode: str, chat: onrecord.Conversation
) -> None:
    """Of 2026-07-28 (`auto`) the SDK itself adds names of the protocol's."""
    sent = Sent()
    call_tools(chat, ("echo", {}))
    async with mcp.Client(sent.server(), mode=mode) as client:
        tools = await onrecord.mcp_tools(client, meta=FILTERS[filtering]())
        await onrecord.ToolRunner(chat, tools, context=CONTEXT).run_async()
    ((_, _, meta),) = sent.calls
    assert meta is not None
    theirs = {name: value for name, value in meta.items() if "modelcontextprotocol/" not in name}
    assert theirs == ALLOWED
    assert (theirs == meta) is (mode == "legacy")


async def test_a_call_s_own_context_wins_over_that_of_the_conversation(
    chat: onrecord.Conversation,
) -> None:
    sent = Sent()
    chat.set_tool_context({"tenantId": "acme", "channel": "mail"}, persist=("tenantId", "channel"))
    call_tools(chat, ("echo", {}))
    async with mcp.Client(sent.server(), mode="legacy") as client:
        tools = await onrecord.mcp_tools(client, meta=onrecord.allow("tenantId", "channel"))
        await onrecord.ToolRunner(chat, tools).run_async({"tenantId": "other"})
    assert sent.calls == [("echo", {}, {"tenantId": "other", "channel": "mail"})]


def test_of_an_empty_context_there_is_no_meta_whatever_the_filter() -> None:
    filters: list[MetaFilter] = [allow("a"), deny(), lambda _context: {"a": 1}]
    for filtering in filters:
        assert meta_of(onrecord.ToolCallContext(), filtering) is None


def test_a_filter_that_leaves_nothing_leaves_an_empty_object() -> None:
    """Absent and empty are not the same; the `mcp` SDK (2.3) sends neither."""
    assert meta_of(onrecord.ToolCallContext(token="x"), allow("tenantId")) == {}


def test_denying_nothing_tells_all() -> None:
    assert meta_of(onrecord.ToolCallContext.of(CONTEXT), deny()) == CONTEXT


RESERVED = (
    *("progressToken", "progress_token", "traceparent", "tracestate", "baggage"),
    *("io.modelcontextprotocol/related", "dev.mcp/x", "com.mcp.tools/x"),
    "org.modelcontextprotocol.api/x",
)
FREE = (
    "com.example.mcp/x",
    "tenantId",
    "mcp",
    "mcp/x",
    "com.example/tenant",
    "modelcontextprotocol",
)


@pytest.mark.parametrize("name", RESERVED)
def test_a_name_that_the_protocol_reserves_is_refused(name: str) -> None:
    with pytest.raises(InvalidContent, match="reserved by MCP"):
        allow(name)
    with pytest.raises(InvalidContent, match="reserved by MCP") as refused:
        meta_of(onrecord.ToolCallContext.of({name: "canary-41"}), deny())
    assert "canary-41" not in str(refused.value)


@pytest.mark.parametrize("name", FREE)
def test_a_name_that_it_does_not_reserve_is_taken(name: str) -> None:
    assert meta_of(onrecord.ToolCallContext.of({name: 1}), allow(name)) == {name: 1}


@pytest.mark.parametrize("value", [object(), {1: 2}.keys(), float("nan"), {"a": {1, 2}}, b"canary"])
def test_a_value_that_is_no_json_is_refused_by_its_name(value: object) -> None:
    with pytest.raises(InvalidContent, match="'tenantId' is no JSON") as refused:
        meta_of(onrecord.ToolCallContext(tenantId=value), allow("tenantId"))
    assert "canary" not in str(refused.value)


def test_a_filter_that_gives_no_mapping_is_refused() -> None:
    wrong: Any = onrecord.ToolCallContext.keys
    with pytest.raises(InvalidContent, match="gives a mapping"):
        meta_of(onrecord.ToolCallContext(tenantId="acme"), wrong)


def test_what_is_told_is_a_copy() -> None:
    roles = ["clerk"]
    meta = meta_of(onrecord.ToolCallContext(roles=roles), allow("roles"))
    roles.append("boss")
    assert meta == {"roles": ["clerk"]}
