"""`chat.tools.in_force`: the tools in force at any version, and where they come from."""

from collections.abc import Iterator
from pathlib import Path

import anthropic
import pytest

import onrecord
from onrecord.adapters.conversation.conversation import stream_of
from onrecord.adapters.conversation.history_queries import declarations
from onrecord.adapters.demo.services.scenes import Answer
from onrecord.adapters.demo.services.server import DemoServer
from onrecord.adapters.store import backend_of
from onrecord.domain.content import Native
from onrecord.domain.errors import InvalidContent
from onrecord.domain.tools import ToolDefinition, ToolSource, tools_digest
from tests.factories import BECAUSE

READ = {"name": "read", "description": "Reads.", "input_schema": {"type": "object"}}
WRITE = {**READ, "name": "write"}
LISTED = onrecord.mcp_listing(
    [{"name": "list", "inputSchema": {"type": "object"}}], server={"name": "files", "version": "2"}
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[onrecord.Store]:
    with onrecord.connect(f"sqlite:///{tmp_path / 'talks.db'}") as store:
        yield store


def names(chat: onrecord.Conversation, at: int | None = None) -> list[str]:
    return [
        tool.name for tool in chat.tools.in_force(at=at).tools if isinstance(tool, ToolDefinition)
    ]


def test_no_tools_are_in_force_where_none_were_declared(store: onrecord.Store) -> None:
    chat = store.conversation("k")
    assert (chat.tools.in_force().version, chat.tools.in_force().tools) == (0, ())
    chat.user("Hello")
    assert (chat.tools.in_force().version, chat.tools.in_force().sha256) == (0, None)


def test_the_last_declaration_is_in_force_and_the_ones_before_were(store: onrecord.Store) -> None:
    chat = store.conversation("k")
    chat.tools.declare([READ])
    chat.user("Hello")
    chat.tools.declare([WRITE, LISTED])
    assert names(chat) == ["write", "list"]
    assert names(chat, at=3) == ["read"]
    assert names(chat, at=1) == []
    declared = chat.tools.in_force()
    assert (declared.version, declared.conversation_id) == (4, chat.conversation_id)
    assert declared.sources == (LISTED.source,)
    assert declared.sha256 == tools_digest(declared.tools)


def test_what_is_in_force_already_is_not_declared_again(store: onrecord.Store) -> None:
    chat = store.conversation("k")
    done = chat.tools.declare([READ, LISTED])
    assert chat.tools.declare([READ, LISTED]) == onrecord.Duplicate(done.last, done.last)
    assert store.conversation("k").tools.declare([READ, LISTED]) == onrecord.Duplicate(
        done.last, done.last
    )
    assert chat.head().version == done.last


def test_another_source_or_order_or_what_was_in_force_before_is_declared(
    store: onrecord.Store,
) -> None:
    chat = store.conversation("k")
    for version, tools in enumerate(([READ], [READ, WRITE], [WRITE, READ], [READ]), 2):
        chat.tools.declare(tools)
        assert chat.tools.in_force().version == version
    chat.tools.declare([READ], sources=[ToolSource(origin="python", tools=("read",))])
    assert chat.tools.in_force().version == 6


def test_what_was_redacted_or_is_another_conversation_s_is_declared_again(
    store: onrecord.Store,
) -> None:
    chat = store.conversation("k")
    first = chat.tools.declare([READ]).last
    fork = chat.fork("f")
    fork.tools.declare([READ])
    assert fork.tools.in_force().conversation_id == fork.conversation_id
    chat.redact(first)
    chat.tools.declare([READ])
    assert chat.tools.in_force().version == first + 2


def test_no_tools_at_all_is_a_declaration_too(store: onrecord.Store) -> None:
    chat = store.conversation("k")
    chat.tools.declare([READ])
    chat.tools.declare([])
    assert (chat.tools.in_force().version, names(chat)) == (3, [])


def test_there_is_no_version_that_is_not_there(store: onrecord.Store) -> None:
    chat = store.conversation("k")
    chat.tools.declare([READ])
    with pytest.raises(InvalidContent, match="there is no version 9"):
        chat.tools.in_force(at=9)


def test_a_declaration_that_was_redacted_is_not_in_force(store: onrecord.Store) -> None:
    chat = store.conversation("k")
    chat.tools.declare([READ])
    chat.tools.declare([WRITE])
    chat.redact(3)
    assert names(chat) == ["read"]


def test_a_fork_has_the_tools_of_what_it_was_forked_from(store: onrecord.Store) -> None:
    chat = store.conversation("k")
    chat.tools.declare([READ])
    chat.user("Hello")
    fork = chat.fork("k/other")
    chat.tools.declare([WRITE])
    assert names(fork) == ["read"]
    assert fork.tools.in_force().conversation_id == chat.conversation_id
    fork.tools.declare([WRITE])
    assert names(fork) == ["write"]
    assert fork.tools.in_force().conversation_id == fork.conversation_id


def test_declarations_are_told_without_reading_what_lies_between(store: onrecord.Store) -> None:
    chat = store.conversation("k")
    chat.tools.declare([READ])
    for _ in range(20):
        chat.user("Hello")
    chat.tools.declare([WRITE])
    fork = chat.fork("k/other")
    fork.tools.declare([])
    told = list(declarations(backend_of(store), stream_of(fork).lineage(fork.head().version)))
    assert [event.version for event in told] == [fork.head().version, 23, 2]


def test_tools_that_a_program_sends_are_declared_with_their_digest(store: onrecord.Store) -> None:
    chat = store.conversation("k")
    with (
        DemoServer((Answer(({"type": "text", "text": "Hello."},)),)) as server,
        anthropic.Anthropic(api_key="demo", base_url=server.url) as client,
    ):
        chat.record(client).messages.create(
            model="claude-sonnet-5",
            max_tokens=100,
            messages=[{"role": "user", "content": "Hello"}],
            tools=[{"name": "read", "input_schema": {"type": "object"}}],
        )
    declared = chat.tools.in_force()
    assert isinstance(declared.tools[0], Native)
    assert declared.sha256 == tools_digest(declared.tools)


def test_a_tool_with_a_string_that_was_moved_aside_is_whole(store: onrecord.Store) -> None:
    chat, long = store.conversation("k"), "It reads. " * 200_000
    with (
        DemoServer((Answer(({"type": "text", "text": "Hello."},)),)) as server,
        anthropic.Anthropic(api_key="demo", base_url=server.url) as client,
    ):
        chat.record(client).messages.create(
            model="claude-sonnet-5",
            max_tokens=100,
            messages=[{"role": "user", "content": "Hello"}],
            tools=[{"name": "read", "description": long, "input_schema": {"type": "object"}}],
        )
    (tool,) = chat.tools.in_force().tools
    assert isinstance(tool, Native)
    assert tool.value["description"] == long


def test_what_was_forgotten_had_no_tools(store: onrecord.Store) -> None:
    chat = store.conversation("k")
    chat.tools.declare([READ])
    last = chat.fork("k/other")
    store.forget("k", **BECAUSE)
    assert last.tools.in_force().tools == ()
