"""A request that needs secrets which were cut takes them from the caller, and none is stored."""

import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import openai
import pytest

import onrecord
from onrecord.adapters.conversation import request_secrets
from onrecord.adapters.conversation.rendering import replays
from onrecord.adapters.conversation.request_secrets import with_secrets
from onrecord.adapters.wire.secrets import PLACEHOLDER
from onrecord.adapters.wire.wires import wire_of
from onrecord.projections.api import FOLDERS, known_api
from onrecord.projections.apis.request import Options, Request, report_of
from tests.adapters.cli.command import Command, in_process
from tests.adapters.replaying_server import Replaying, replaying, whole

API = "openai-responses"
JsonObject = dict[str, Any]
SECRET = "canary-1234567890"
ANOTHER = "canary-abcdefghij"
URL = f"https://mcp.example/sse?key={SECRET}"
MCP: JsonObject = {
    "type": "mcp",
    "server_label": "orders",
    "server_url": URL,
    "authorization": SECRET,
    "headers": {"X.Team": SECRET},
    "require_approval": "never",
}
GIVEN = {
    "/tools/0/server_url": URL,
    "/tools/0/authorization": SECRET,
    "/tools/0/headers/X.Team": SECRET,
}


def DIGEST(text: str) -> bytes:
    return text.encode()[::-1]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return in_process(monkeypatch, capsys)


def answer(number: int) -> JsonObject:
    text: JsonObject = {"type": "output_text", "text": "It is on its way.", "annotations": []}
    message: JsonObject = {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "content": [text],
    }
    return {
        "id": f"resp_{number}",
        "object": "response",
        "status": "completed",
        "model": "gpt-5",
        "output": [message | {"status": "completed"}],
    }


@contextmanager
def talk(folder: Path) -> Generator[tuple[onrecord.Conversation, Any, Replaying]]:
    """A conversation whose program sent a tool with secrets itself, and that goes on."""
    with (
        onrecord.connect(f"sqlite:///{folder / 'talks.db'}") as store,
        replaying(*(whole(answer(number)) for number in range(5))) as server,
        openai.OpenAI(api_key="key", base_url=server.url, max_retries=0) as plain,
    ):
        chat = store.conversation("support/4711")
        client: Any = chat.record(plain)
        client.responses.create(model="gpt-5", input="Where is it?", tools=[MCP])
        chat.user("And the other one?")
        yield chat, client, server


def ask(client: Any, chat: onrecord.Conversation, secrets: Mapping[str, object]) -> None:
    client.responses.create(model="gpt-5", **chat.request(API, secrets=secrets))


def test_a_request_names_the_members_whose_secrets_were_cut(tmp_path: Path) -> None:
    with talk(tmp_path) as (chat, _, _):
        with pytest.raises(onrecord.SecretMissing, match="/tools/0/authorization") as refused:
            chat.request(API)
        assert list(refused.value.members) == list(GIVEN)
        assert isinstance(refused.value, onrecord.InvalidInput)
        some = {"/tools/0/authorization": SECRET}
        with pytest.raises(onrecord.SecretMissing) as refused:
            chat.request(API, secrets=some)
        assert list(refused.value.members) == [name for name in GIVEN if name not in some]


def test_what_stands_for_a_secret_can_be_looked_at_and_is_noted(tmp_path: Path) -> None:
    with talk(tmp_path) as (chat, _, _):
        with pytest.raises(onrecord.SecretMissing) as refused:
            chat.request(API)
        request = chat.request(API, secrets=refused.value.members)
        assert request["tools"][0]["authorization"].startswith(PLACEHOLDER)
        notes = request.report.of("secret")
        assert [note.why.split(" ")[0] for note in notes] == list(GIVEN)
        check = onrecord.check_request(API, request)
        assert [it.where for it in check.violations if it.rule == "secret"] == list(GIVEN)


def test_secrets_that_are_given_are_sent_and_never_stored(tmp_path: Path) -> None:
    with talk(tmp_path) as (chat, client, server):
        before = len(chat.events())
        request = chat.request(API, secrets=GIVEN)
        assert request["tools"] == [MCP]
        assert not request.report.of("secret")
        assert not onrecord.check_request(API, request).violations
        client.responses.create(model="gpt-5", **request)
        assert server.requests[1].body.count(SECRET.encode()) == 3
        types = [event.type for event in chat.events(after=before)]
        assert "tools.declared" not in types
        outcomes = list(replays(chat))
        assert [(it.is_whole, it.is_rendered) for it in outcomes] == [(True, None), (True, True)]
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert SECRET.encode() not in kept


def test_a_secret_that_was_renewed_is_sent_and_the_request_proven(tmp_path: Path) -> None:
    renewed = {**GIVEN, "/tools/0/authorization": ANOTHER}
    with talk(tmp_path) as (chat, client, server):
        before = len(chat.events())
        ask(client, chat, renewed)
        assert server.requests[1].body.count(ANOTHER.encode()) == 1
        assert "tools.declared" not in [event.type for event in chat.events(after=before)]
        assert all(outcome.is_proven for outcome in replays(chat))
        assert list(replays(chat))[-1].is_rendered
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert ANOTHER.encode() not in kept


def test_words_that_look_like_a_cut_secret_are_none(tmp_path: Path) -> None:
    with talk(tmp_path) as (chat, _, _):
        chat.user(f"What is {PLACEHOLDER}00ff?")
        request = chat.request(API, secrets=GIVEN)
        assert f"{PLACEHOLDER}00ff" in str(request["input"])


def test_a_request_without_cut_secrets_takes_no_notice_of_others() -> None:
    with onrecord.connect("memory://") as store:
        chat = store.conversation("plain")
        chat.user("Hello")
        assert chat.request(API, secrets=GIVEN) == chat.request(API)


def test_an_item_that_only_the_arguments_have_keeps_no_other_from_its_secret() -> None:
    """Whatever an SDK adds to a list, or spells in a way of its own."""
    tools: list[JsonObject] = [{**MCP, "server_url": "https://mcp.example", "headers": {}}]
    tools[0]["authorization"] = f"{PLACEHOLDER}00ff"
    arguments = {"tools": [{"added": True}, *tools]}
    request = Request(arguments, Options(api=API), report_of(()), {"tools": tools})
    filled = with_secrets(request, {"/tools/0/authorization": SECRET}, DIGEST)
    assert filled["tools"] == [{"added": True}, {**tools[0], "authorization": SECRET}]


def test_arguments_that_an_sdk_spells_otherwise_hold_the_secret_too() -> None:
    place = "/tools/0/mcpServers/0/streamableHttpTransport/headers/X-Team"
    transport = {"url": "https://mcp.example", "headers": {"X-Team": f"{PLACEHOLDER}00ff"}}
    servers = [{"name": "orders", "streamableHttpTransport": transport}]
    tool = onrecord.Native(api="gemini", value={"mcpServers": servers})
    with onrecord.connect("memory://") as store:
        chat = store.conversation("gemini")
        chat.log.append(onrecord.ToolsDeclared(tools=(tool,)))
        chat.user("Where is it?")
        request = chat.request("gemini", secrets={place: SECRET})
    assert PLACEHOLDER not in str(request.body)
    assert PLACEHOLDER not in str(dict(request))
    assert str(request.body).count(SECRET) == str(dict(request)).count(SECRET) == 1


def test_the_command_shows_what_stands_for_a_secret(tmp_path: Path, command: Command) -> None:
    with talk(tmp_path):
        url = f"sqlite:///{tmp_path / 'talks.db'}"
        shown = command("request", "support/4711", "--api", API, "--url", url)
    assert shown.document["tools"][0]["authorization"].startswith(PLACEHOLDER)
    assert "/tools/0/authorization is cut" in shown.err


def test_a_tool_may_be_declared_without_its_secret(tmp_path: Path) -> None:
    with talk(tmp_path) as (chat, client, server):
        url, headers = URL.replace(SECRET, PLACEHOLDER), {"X.Team": PLACEHOLDER}
        bare = {**MCP, "server_url": url, "authorization": PLACEHOLDER, "headers": headers}
        chat.tools.declare([onrecord.Native(api=API, value=bare)])
        before = len(chat.events())
        ask(client, chat, GIVEN)
        assert server.requests[1].body.count(SECRET.encode()) == 3
        assert "tools.declared" not in [event.type for event in chat.events(after=before)]
        assert all(outcome.is_proven for outcome in replays(chat))
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert SECRET.encode() not in kept


@pytest.mark.parametrize(
    ("tool", "place"),
    [
        (onrecord.Native(api=API, value={**MCP, "authorization": SECRET}), "/authorization"),
        (onrecord.Native(api=API, value={**MCP, "headers": {"X": SECRET}}), "/headers/X"),
        (onrecord.Native(api=API, value={**MCP, "server_url": URL}), "/server_url"),
        (
            onrecord.BuiltinTool(name="mcp", options={API: {**MCP, "authorization": SECRET}}),
            "/authorization",
        ),
    ],
)
def test_a_tool_with_a_secret_is_not_declared(
    tmp_path: Path, tool: onrecord.Native | onrecord.BuiltinTool, place: str
) -> None:
    with talk(tmp_path) as (chat, _, _):
        version = chat.head().version
        with pytest.raises(onrecord.InvalidContent, match=place) as refused:
            chat.tools.declare([tool])
        assert SECRET not in str(refused.value)
        assert chat.head().version == version


@pytest.mark.parametrize(
    ("members", "source", "place"),
    [
        ({"annotations": {"apiKey": SECRET}}, None, "/annotations/apiKey"),
        ({"annotations": {"docs": [URL]}}, None, "/annotations/docs/0"),
        ({}, URL, "/name"),
    ],
)
def test_what_no_model_is_told_of_a_tool_holds_no_secret_either(
    tmp_path: Path, members: JsonObject, source: str | None, place: str
) -> None:
    tool = {"name": "look", "input_schema": {"type": "object"}, **members}
    with talk(tmp_path) as (chat, _, _):
        version = chat.head().version
        with pytest.raises(onrecord.InvalidContent, match=place) as refused:
            chat.tools.declare([tool], [onrecord.ToolSource(origin="mcp", name=source)])
        assert SECRET not in str(refused.value)
        assert chat.head().version == version


def test_hints_of_a_tool_and_a_link_to_its_pages_are_no_secrets(tmp_path: Path) -> None:
    hints = {"readOnlyHint": True, "title": "Look", "docs": "https://mcp.example/?page=2"}
    tool = {"name": "look", "input_schema": {"type": "object"}, "annotations": hints}
    with talk(tmp_path) as (chat, _, _):
        chat.tools.declare([tool], [onrecord.ToolSource(origin="mcp", name="orders")])
        assert chat.tools.in_force()


@pytest.mark.parametrize("api", sorted(FOLDERS))
def test_a_tool_whose_schema_names_a_password_is_declared(tmp_path: Path, api: str) -> None:
    schema: JsonObject = {"type": "object", "properties": {"password": {"type": "string"}}}
    tools: dict[str, JsonObject] = {
        "anthropic-messages": {"name": "log_in", "input_schema": schema},
        "openai-chat": {"type": "function", "function": {"name": "log_in", "parameters": schema}},
        "openai-responses": {"type": "function", "name": "log_in", "parameters": schema},
        "gemini": {"functionDeclarations": [{"name": "log_in", "parametersJsonSchema": schema}]},
        "ollama": {"type": "function", "function": {"name": "log_in", "parameters": schema}},
        "bedrock-converse": {"toolSpec": {"name": "log_in", "inputSchema": {"json": schema}}},
    }
    with talk(tmp_path) as (chat, _, _):
        chat.tools.declare([onrecord.Native(api=api, value=tools[api])])
        assert chat.tools.in_force()


def gemini_server(name: str) -> JsonObject:
    transport = {"url": f"https://{name}.example/mcp", "headers": {"Authorization": PLACEHOLDER}}
    return {"name": name, "streamableHttpTransport": transport}


def test_each_server_gets_its_own_secret_and_no_prompt_gets_any(tmp_path: Path) -> None:
    at = "/tools/0/mcpServers/{}/streamableHttpTransport/headers/Authorization"
    servers = [gemini_server("one"), gemini_server("two")]
    with talk(tmp_path) as (chat, _, _):
        chat.tools.declare([onrecord.Native(api="gemini", value={"mcpServers": servers})])
        chat.user(PLACEHOLDER)
        given = {at.format(0): "canary-one-1", at.format(1): "canary-two-2"}
        request = chat.request("gemini", secrets=given)
    for sent in (dict(request.body), request["config"]):
        first, second = sent["tools"][0]["mcpServers"]
        assert first["streamableHttpTransport"]["headers"] == {"Authorization": "canary-one-1"}
        assert second["streamableHttpTransport"]["headers"] == {"Authorization": "canary-two-2"}
    texts = [part.get("text") for turn in request["contents"] for part in turn["parts"]]
    assert texts.count(PLACEHOLDER) == 1


def test_a_copy_of_a_request_is_filled_as_the_request_is(tmp_path: Path) -> None:
    at = "/tools/1/mcpServers/0/streamableHttpTransport/headers/Authorization"
    tools: list[JsonObject] = [{"unheardOf": {}}, {"mcpServers": [gemini_server("one")]}]
    with talk(tmp_path) as (chat, _, _):
        chat.tools.declare([onrecord.Native(api="gemini", value=tool) for tool in tools])
        chat.user([PLACEHOLDER, b"\x89PNG\r\n\x1a\n"])
        unfilled = chat.log.render(chat.head().version, Options(api="gemini"))
    for request in (unfilled, unfilled.copy()):
        filled = with_secrets(request, {at: SECRET}, DIGEST)
        (server,) = filled["config"]["tools"][-1]["mcpServers"]
        assert server["streamableHttpTransport"]["headers"] == {"Authorization": SECRET}
        assert json.dumps(dict(filled.body)).count(SECRET) == 1
        assert str(filled["contents"]).count(PLACEHOLDER) == 1


def test_only_a_request_that_may_hold_a_mark_has_its_wire_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_secrets, "wire_of", pytest.fail)
    with onrecord.connect(f"sqlite:///{tmp_path / 'plain.db'}") as store:
        chat = store.conversation("plain")
        chat.tools.declare([{"name": "look", "input_schema": {"type": "object"}}])
        chat.user(PLACEHOLDER)
        for api in FOLDERS:
            assert PLACEHOLDER in str(dict(chat.request(api, secrets={}).body))


def test_a_secret_that_would_be_recorded_in_clear_is_refused(tmp_path: Path) -> None:
    with talk(tmp_path) as (chat, _, _):
        tool: JsonObject = {**MCP, "authorization": PLACEHOLDER, "server_url": PLACEHOLDER}
        tool["headers"] = None
        chat.tools.declare([onrecord.Native(api=API, value=tool)])
        chat.user("Hello")
        given = {
            "/tools/0/server_url": f"https://mcp.example/{SECRET}/mcp",
            "/tools/0/authorization": SECRET,
        }
        with pytest.raises(onrecord.InvalidInput, match="/tools/0/server_url") as refused:
            chat.request(API, secrets=given)
        assert SECRET not in str(refused.value)
        with pytest.raises(onrecord.InvalidInput, match="a mapping"):
            chat.request(API, secrets=5)  # type: ignore[arg-type]  # what a caller may do


@pytest.mark.parametrize(
    ("member", "why"),
    [
        (f"https://mcp.example/{SECRET}/mcp", "no secret in it"),
        (URL, "more in it than its secret"),
        ("", "empty"),
        (None, "empty"),
        (5, "no text"),
        (SECRET.encode(), "no text"),
        ({"url": URL}, "no text"),
    ],
)
def test_the_error_says_why_a_member_would_be_recorded_in_clear(
    tmp_path: Path, member: object, why: str
) -> None:
    with talk(tmp_path) as (chat, _, _):
        tool: JsonObject = {**MCP, "server_url": PLACEHOLDER, "authorization": PLACEHOLDER}
        tool["headers"] = None
        chat.tools.declare([onrecord.Native(api=API, value=tool)])
        chat.user("Hello")
        given = {"/tools/0/server_url": member, "/tools/0/authorization": SECRET}
        with pytest.raises(onrecord.InvalidInput, match=why) as refused:
            chat.request(API, secrets=given)
        assert "/tools/0/server_url" in str(refused.value)
        assert "/tools/0/authorization" not in str(refused.value)


@pytest.mark.parametrize("api", FOLDERS)
def test_a_wire_holds_tools_beside_the_messages_or_where_they_are_looked_for(api: str) -> None:
    wire, messages = wire_of(api), known_api(api).messages
    assert wire is not None
    assert f"/{messages}" in wire.content_paths
    assert wire.tools_path in (None, f"/{messages}/*/tools")


@pytest.mark.parametrize(
    ("api", "value"),
    [
        (API, {**MCP, "authorization": f"{PLACEHOLDER}sk-live-1"}),
        (API, {**MCP, "server_url": f"https://mcp.example/?key={PLACEHOLDER}sk-live-1"}),
        (
            "gemini",
            {
                "mcp_servers": [
                    {"name": "a", "streamable_http_transport": {"headers": {"X-Team": SECRET}}}
                ]
            },
        ),
    ],
)
def test_a_secret_behind_the_mark_or_in_another_spelling_is_one(
    tmp_path: Path, api: str, value: JsonObject
) -> None:
    with talk(tmp_path) as (chat, _, _), pytest.raises(onrecord.InvalidContent, match="a secret"):
        chat.tools.declare([onrecord.Native(api=api, value=value)])
