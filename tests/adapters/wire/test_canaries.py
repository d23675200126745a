"""Canaries in every place of requests, answers, errors, addresses and headers: no file holds one.

Each API's own SDK calls through a real HTTP client; what comes back repeats all that was sent.
"""

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from onrecord.adapters.storage.sqlite.sqlite import open_sqlite
from onrecord.adapters.wire.clients.record import record
from onrecord.domain.errors import StorageFull
from tests.adapters.recorded_calls import Recorded
from tests.openai_chat_wire import DONE, event

JsonObject = dict[str, Any]


def canary(place: str) -> str:
    return f"canary-{place}-0123456789"


KEY = canary("key")
HEADERS = {
    "x-goog-api-key": canary("header"),
    "cookie": f"session={canary('cookie')}",
    "proxy-authorization": f"Basic {canary('proxy')}",
    "x-functions-key": canary("functions"),
}
QUERY = {"key": canary("query"), "code": canary("code"), "api-version": "2026-01-01"}
MCP: JsonObject = {
    "type": "mcp",
    "server_label": "orders",
    "server_url": f"https://{canary('user')}:x@mcp.example/sse?code={canary('address')}",
    "authorization": canary("authorization"),
    "headers": {"X-Team": canary("lent")},
}
POLICY = {
    "type": "allowlist",
    "allowed_domains": ["example.org"],
    "domain_secrets": [{"domain": "example.org", "name": "T", "value": canary("domain")}],
}
SERVER: JsonObject = {
    "type": "url",
    "name": "orders",
    "url": f"https://mcp.example/sse?key={canary('server')}",
    "authorization_token": canary("token"),
}
BODY: JsonObject = {
    "litellm": {"api_key": canary("body"), "headers": {"X-Api-Key": canary("pair")}}
}


@dataclass(frozen=True, slots=True)
class Api:
    """A program of an API: the client it makes, its call, and what answers look like."""

    name: str
    client: Callable[[httpx2.Client], Any]
    call: Callable[[Any, bool], Any]
    body: JsonObject
    stream: bytes
    tools: JsonObject


def anthropic_client(http: httpx2.Client) -> Any:
    return anthropic.Anthropic(api_key=KEY, http_client=http, max_retries=0)


def openai_client(http: httpx2.Client) -> Any:
    return openai.OpenAI(api_key=KEY, http_client=http, max_retries=0)


def azure_client(http: httpx2.Client) -> Any:
    return openai.AzureOpenAI(
        api_key=KEY,
        azure_endpoint="https://team.openai.azure.com",
        api_version="2026-01-01",
        http_client=http,
        max_retries=0,
    )


def ask_anthropic(client: Any, streamed: bool) -> Any:
    return client.beta.messages.create(
        model="m",
        max_tokens=9,
        messages=[{"role": "user", "content": "Hello"}],
        mcp_servers=[SERVER],
        stream=streamed,
        extra_body=BODY,
        extra_headers=HEADERS,
        extra_query=QUERY,
    )


def ask_chat(client: Any, streamed: bool) -> Any:
    return client.chat.completions.create(
        model="m",
        messages=[{"role": "user", "content": "Hello"}],
        tools=[MCP],
        stream=streamed,
        extra_body=BODY,
        extra_headers=HEADERS,
        extra_query=QUERY,
    )


def ask_responses(client: Any, streamed: bool) -> Any:
    shell = {"type": "shell", "environment": {"type": "container_auto", "network_policy": POLICY}}
    more = {"type": "additional_tools", "role": "developer", "tools": [MCP]}
    return client.responses.create(
        model="m",
        input=[{"role": "user", "content": "Hello"}, more],
        tools=[MCP, shell],
        stream=streamed,
        extra_body=BODY,
        extra_headers=HEADERS,
        extra_query=QUERY,
    )


def named(data: JsonObject) -> bytes:
    return f"event: {data['type']}\n".encode() + event(data)


MESSAGE: JsonObject = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [],
}
RESPONSE: JsonObject = {
    "id": "resp_1",
    "object": "response",
    "status": "completed",
    "model": "m",
    "output": [],
}
CHUNK: JsonObject = {"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": []}
CHOICE: JsonObject = {
    "index": 0,
    "message": {"role": "assistant", "content": "Hi"},
    "finish_reason": "stop",
}

APIS = [
    Api(
        "anthropic-messages",
        anthropic_client,
        ask_anthropic,
        {**MESSAGE, "stop_reason": "end_turn", "usage": {"input_tokens": 1, "output_tokens": 1}},
        named({"type": "message_start", "message": {**MESSAGE, "debug": BODY}}),
        {"mcp_servers": [SERVER]},
    ),
    *(
        Api(
            "openai-chat",
            client,
            ask_chat,
            {**CHUNK, "object": "chat.completion", "choices": [CHOICE]},
            event({**CHUNK, "debug": {**BODY, "tools": [MCP]}}),
            {"tools": [MCP]},
        )
        for client in (openai_client, azure_client)
    ),
    *(
        Api(
            "openai-responses",
            client,
            ask_responses,
            RESPONSE,
            named({"type": "response.created", "sequence_number": 0, "response": RESPONSE}),
            {"tools": [MCP, {"type": "shell", "environment": {"network_policy": POLICY}}]},
        )
        for client in (openai_client, azure_client)
    ),
]


class Pieces(httpx2.SyncByteStream):
    """A body that comes in pieces."""

    def __init__(self, body: bytes) -> None:
        self.body = body

    def __iter__(self) -> Iterator[bytes]:
        yield from (self.body[at : at + 11] for at in range(0, len(self.body), 11))


class Echo(httpx2.BaseTransport):
    """A provider that repeats all that it was sent, in the way that is asked for."""

    def __init__(self, api: Api, manner: str) -> None:
        self.api = api
        self.manner = manner
        self.seen = ""

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        sent = request.read().decode()
        headers = [f"{name}: {value}" for name, value in request.headers.items()]
        told = "\n".join([str(request.url), *headers, sent])
        self.seen += told
        error = {"type": "invalid_request_error", "message": told, "request": json.loads(sent)}
        match self.manner:
            case "answers":
                whole = {**self.api.body, **self.api.tools, "debug": BODY}
                return self.replied(200, "application/json", json.dumps(whole).encode())
            case "refuses":
                body = json.dumps({"type": "error", "error": error}).encode()
                return self.replied(401, "application/json", body)
            case "refuses in a page":
                return self.replied(502, "text/html", f"<html>{told}</html>".encode())
            case "says an error under status 200":
                return self.replied(200, "application/json", json.dumps({"error": error}).encode())
            case "breaks off":
                body = json.dumps({**self.api.body, "error": error}).encode()
                return self.replied(200, "application/json", body[:-9])
            case "streams and fails":
                failed = b"event: error\n" + event({"type": "error", "error": error})
                return self.replied(200, "text/event-stream", self.api.stream + failed + DONE)
            case _:
                cut = b"event: error\ndata: " + json.dumps({"error": error}).encode()
                return self.replied(200, "text/event-stream", self.api.stream + cut[:-9])

    def replied(self, status: int, kind: str, body: bytes) -> httpx2.Response:
        return httpx2.Response(status, headers={"content-type": kind}, stream=Pieces(body))


MANNERS = (
    "answers",
    "refuses",
    "refuses in a page",
    "says an error under status 200",
    "breaks off",
    "streams and fails",
    "streams and breaks off",
)
ERRORS = (anthropic.AnthropicError, openai.OpenAIError, httpx2.HTTPError, json.JSONDecodeError)


def call(api: Api, recorded: Recorded, manner: str) -> str:
    """Make a call and read all of its answer; return what was sent."""
    echo = Echo(api, manner)
    with httpx2.Client(transport=echo) as http:
        client = record(api.client(http), recorded.binding)
        try:
            answer = api.call(client, manner.startswith("streams"))
            if manner.startswith("streams"):
                list(answer)
        except ERRORS as exc:
            assert "not recorded" not in str(exc), manner
    return echo.seen


def spool(api: Api, recorded: Recorded) -> None:
    """Make a call whose answer has to wait in a file."""

    def full(*_: Any) -> Any:
        raise StorageFull("no room")

    class Filling(Echo):
        def replied(self, status: int, kind: str, body: bytes) -> httpx2.Response:
            vars(recorded.store)["append"] = full
            return super().replied(status, kind, body)

    with httpx2.Client(transport=Filling(api, "answers")) as http:
        api.call(record(api.client(http), recorded.binding), False)
    del vars(recorded.store)["append"]
    assert list(recorded.folder.rglob("*.spooled.json"))


@pytest.mark.parametrize("api", APIS, ids=lambda api: f"{api.name}-{api.client.__name__}")
def test_no_file_holds_what_was_planted(api: Api, tmp_path: Path) -> None:
    store = open_sqlite(tmp_path / "talks.db")
    recorded = Recorded(tmp_path, store)
    seen = "".join(call(api, recorded, manner) for manner in MANNERS)
    types = recorded.types()
    spool(api, recorded)
    store.close()
    planted = {canary(place) for place in PLACES[api.name]}
    assert {one for one in planted if one in seen} == planted
    assert types.count("request.sent") == len(MANNERS)
    found = {
        (one, path.name)
        for path in tmp_path.rglob("*")
        if path.is_file()
        for one in planted
        if one.encode() in path.read_bytes()
    }
    assert found == set()


ANYWHERE = ("key", "header", "cookie", "proxy", "functions", "query", "code", "body", "pair")
LENT = ("user", "address", "authorization", "lent")
PLACES = {
    "anthropic-messages": (*ANYWHERE, "server", "token"),
    "openai-chat": (*ANYWHERE, *LENT),
    "openai-responses": (*ANYWHERE, *LENT, "domain"),
}


def test_the_search_would_find_a_canary(tmp_path: Path) -> None:
    store = open_sqlite(tmp_path / "talks.db")
    recorded = Recorded(tmp_path, store)
    recorded.chat.user(canary("said"))
    store.close()
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(canary("said").encode() in path.read_bytes() for path in files), sys.platform
