"""Tools of real MCP servers: listed page by page, called, and gone."""

import asyncio
import socket
import sys
import threading
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import mcp
import pytest
import uvicorn
from mcp.client.stdio import stdio_client

import onrecord
from onrecord.domain.errors import InvalidContent
from tests.adapters.tools import mcp_server
from tests.adapters.tools.conversations import call_tools, recorded_results
from tests.adapters.tools.mcp_server import Sent
from tests.patience import join

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def chat() -> onrecord.Conversation:
    return onrecord.connect("memory://").conversation("support/4711")


@asynccontextmanager
async def over_stdio() -> AsyncGenerator[mcp.ClientSession]:
    """A session with a server in a process of its own."""
    root = str(Path(__file__).parents[3])
    server = mcp.StdioServerParameters(
        command=sys.executable, args=[str(mcp_server.__file__)], env={"PYTHONPATH": root}
    )
    async with stdio_client(server) as (read, write), mcp.ClientSession(read, write) as session:
        await session.initialize()
        yield session


@contextmanager
def over_http(sent: Sent) -> Generator[str]:
    """The URL of a server that speaks streamable HTTP."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()  # Who comes before the server is up waits for it.
        port: int = listening.getsockname()[1]
        app = sent.server().streamable_http_app()
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", ws="none"))
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            server.should_exit = True
            join(thread)


async def test_all_pages_of_a_server_s_tools_are_listed_with_their_source(
    chat: onrecord.Conversation,
) -> None:
    async with mcp.Client(Sent().server(), mode="legacy") as client:
        tools = await onrecord.mcp_tools(client, prefix="parcels_")
        done = onrecord.ToolRunner(chat, [tools]).declare()
    names = ("parcels_echo", "parcels_fail", "parcels_sleep", "parcels_picture", "parcels_die")
    assert tuple(tool.name for tool in tools) == names
    assert tools[0].definition.title == "Echo"
    (recorded,) = chat.events(after=done.last - 1)
    event: Any = recorded.event()
    (source,) = event.sources
    assert (source.origin, source.name, source.version) == ("mcp", "parcels", "1.2.3")
    assert source.tools == names
    assert len(source.sha256) == 64


async def test_a_tool_is_called_by_the_name_that_its_server_has_for_it(
    chat: onrecord.Conversation,
) -> None:
    sent = Sent()
    call_tools(chat, ("parcels_echo", {"text": "a"}))
    async with mcp.Client(sent.server()) as client:
        tools = await onrecord.mcp_tools(client, prefix="parcels_")
        await onrecord.ToolRunner(chat, tools).run_async()
    assert [(name, arguments) for name, arguments, _ in sent.calls] == [("echo", {"text": "a"})]
    assert recorded_results(chat) == [("call_1", "{'text': 'a'}", False)]


async def test_python_s_and_a_server_s_tools_are_run_together(chat: onrecord.Conversation) -> None:
    def add(a: int, b: int) -> int:
        return a + b

    call_tools(chat, ("add", {"a": 1, "b": 2}), ("echo", {}), ("fail", {}))
    async with over_stdio() as session:
        runner = onrecord.ToolRunner(chat, [add, await onrecord.mcp_tools(session)], parallel=True)
        done = runner.declare()
        await runner.run_async()
    assert recorded_results(chat) == [
        ("call_1", "3", False),
        ("call_2", "{}", False),
        ("call_3", "no such parcel", True),
    ]
    (recorded, *_) = chat.events(after=done.last - 1)
    event: Any = recorded.event()
    assert [(source.origin, len(source.tools)) for source in event.sources] == [
        ("python", 1),
        ("mcp", 5),
    ]


async def test_a_picture_of_a_server_s_is_a_document_of_the_result(
    chat: onrecord.Conversation,
) -> None:
    call_tools(chat, ("picture", {}))
    async with mcp.Client(Sent().server()) as client:
        await onrecord.ToolRunner(chat, await onrecord.mcp_tools(client)).run_async()
    ((_, text, is_error),) = recorded_results(chat)
    assert text.endswith("<image/png>")
    assert not is_error
    (held,) = chat.documents()
    assert held.document.media_type == "image/png"


async def test_over_http_a_server_receives_exactly_the_allowed_keys(
    chat: onrecord.Conversation,
) -> None:
    sent = Sent()
    call_tools(chat, ("echo", {"text": "a"}))
    context = {"tenantId": "acme", "token": "canary-41"}
    with over_http(sent) as url:
        async with mcp.Client(url, mode="legacy") as client:
            tools = await onrecord.mcp_tools(client, meta=onrecord.allow("tenantId"))
            await onrecord.ToolRunner(chat, tools, context=context).run_async()
    assert sent.calls == [("echo", {"text": "a"}, {"tenantId": "acme"})]


async def test_a_server_that_is_gone_is_a_result(chat: onrecord.Conversation) -> None:
    call_tools(chat, ("die", {}), ("echo", {}))
    async with over_stdio() as session:
        await onrecord.ToolRunner(chat, await onrecord.mcp_tools(session)).run_async()
    assert [call for call, _, _ in recorded_results(chat)] == ["call_1", "call_2"]
    assert all(
        text.startswith("Error: ") and is_error for _, text, is_error in recorded_results(chat)
    )


async def test_a_session_that_was_closed_is_a_result(chat: onrecord.Conversation) -> None:
    call_tools(chat, ("echo", {}))
    async with over_stdio() as session:
        tools = await onrecord.mcp_tools(session)
    await onrecord.ToolRunner(chat, tools).run_async()
    ((_, text, is_error),) = recorded_results(chat)
    assert text.startswith("Error: ")
    assert is_error


async def test_a_server_that_takes_too_long_is_a_result(chat: onrecord.Conversation) -> None:
    call_tools(chat, ("sleep", {}), ("echo", {}))
    async with mcp.Client(Sent().server()) as client:
        runner = onrecord.ToolRunner(chat, await onrecord.mcp_tools(client), timeout=3)
        await runner.run_async()
    assert recorded_results(chat) == [
        ("call_1", "Error: Tool execution timed out", True),
        ("call_2", "{}", False),
    ]


async def test_a_session_is_called_from_another_thread_in_its_own_loop(
    chat: onrecord.Conversation,
) -> None:
    call_tools(chat, ("echo", {"text": "a"}))
    async with over_stdio() as session:
        runner = onrecord.ToolRunner(chat, await onrecord.mcp_tools(session))
        await asyncio.to_thread(runner.run)
    assert recorded_results(chat) == [("call_1", "{'text': 'a'}", False)]


def test_a_session_whose_loop_has_ended_is_a_result(chat: onrecord.Conversation) -> None:
    async def listed() -> tuple[onrecord.Tool, ...]:
        async with mcp.Client(Sent().server()) as client:
            return await onrecord.mcp_tools(client)

    call_tools(chat, ("echo", {}))
    onrecord.ToolRunner(chat, asyncio.run(listed())).run()
    ((_, text, is_error),) = recorded_results(chat)
    assert text.startswith("Error: the loop of the MCP session has ended")
    assert is_error


async def test_a_reserved_name_is_a_result_and_the_server_is_not_called(
    chat: onrecord.Conversation,
) -> None:
    sent = Sent()
    call_tools(chat, ("echo", {}))
    async with mcp.Client(sent.server()) as client:
        tools = await onrecord.mcp_tools(client, meta=onrecord.deny())
        await onrecord.ToolRunner(chat, tools, context={"traceparent": "canary-41"}).run_async()
    ((_, text, is_error),) = recorded_results(chat)
    assert "'traceparent' is reserved by MCP" in text
    assert "canary" not in text
    assert is_error
    assert sent.calls == []


async def test_what_is_no_session_is_refused() -> None:
    session: Any = "http://127.0.0.1/mcp"
    with pytest.raises(InvalidContent, match="ClientSession or a Client"):
        await onrecord.mcp_tools(session)
