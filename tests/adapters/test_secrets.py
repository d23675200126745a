"""Secrets never reach the store: canaries are planted and every file of it is searched."""

import json
from pathlib import Path
from typing import Any, cast

import anthropic
import pytest

from hansard.adapters.capture.secrets import PLACEHOLDER, cut, cut_all, cut_url
from hansard.adapters.demo.scenes import JsonObject
from hansard.adapters.storage.sqlite import open_sqlite
from hansard.adapters.talk import Talk
from hansard.domain.errors import StorageFull
from hansard.domain.prefix import prefix_of
from hansard.projections.template import Stored, join
from tests.adapters.recorded_calls import (
    GREETING,
    HELLO,
    KEY,
    MODEL,
    Recorded,
    calling,
    requests_of,
)

API = "anthropic-messages"
CANARIES = ("canary-token", "canary-url", "canary-user", "canary-header", KEY)
SERVERS: list[JsonObject] = [
    {
        "type": "url",
        "name": "orders",
        "url": "https://canary-user:canary-user@mcp.example/sse?team=7&key=canary-url",
        "authorization_token": "canary-token",
    }
]


def digest(text: str) -> bytes:
    return bytes([len(text)] * 16)


def marked(text: str) -> str:
    return PLACEHOLDER + digest(text).hex()


def test_tokens_are_cut_by_their_place_and_equal_ones_stay_equal() -> None:
    request = {"mcp_servers": [*SERVERS, *SERVERS], "messages": HELLO}
    clean, places = cut(request, API, digest)
    assert places == (
        "/mcp_servers/0/url",
        "/mcp_servers/0/authorization_token",
        "/mcp_servers/1/url",
        "/mcp_servers/1/authorization_token",
    )
    first, second = clean["mcp_servers"]
    assert first == second
    assert first["authorization_token"] == marked("canary-token")
    assert first["name"] == "orders"
    assert request["mcp_servers"][0]["authorization_token"] == "canary-token"


@pytest.mark.parametrize(
    "name", ["api_key", "apiKey", "X-Api-Key", "Authorization", "access_token", "client_secret"]
)
def test_members_with_a_secret_name_are_cut_wherever_they_are(name: str) -> None:
    clean, places = cut({"tools": [{"headers": {name: "canary"}}]}, API, digest)
    assert clean["tools"][0]["headers"][name] == marked("canary")
    assert places == (f"/tools/0/headers/{name}",)


def test_a_schema_may_speak_of_secrets() -> None:
    tool = {
        "name": "log_in",
        "input_schema": {
            "type": "object",
            "properties": {"password": {"type": "string"}, "api_key": {"type": "string"}},
            "required": ["password", "api_key"],
        },
    }
    request = {"tools": [tool], "messages": HELLO}
    assert cut(request, API, digest) == (request, ())


def test_what_was_said_is_the_record_and_stays() -> None:
    request = {
        "system": "The password=swordfish",
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "image", "source": {"type": "url", "url": "https://x/y?key=abc"}},
                    {"type": "tool_use", "id": "t", "name": "n", "input": {"password": "p"}},
                ],
            }
        ],
    }
    assert cut(request, API, digest) == (request, ())


@pytest.mark.parametrize(
    ("url", "clean"),
    [
        ("https://x/y?key=abc&z=1", f"https://x/y?key={marked('abc')}&z=1"),
        ("/v1/messages?beta=true", "/v1/messages?beta=true"),
        ("https://u:p@x/y", f"https://{marked('u:p')}@x/y"),
        ("https://x/y?monkey=abc", "https://x/y?monkey=abc"),
        ("https://x/?X-Amz-Signature=00ff", f"https://x/?X-Amz-Signature={marked('00ff')}"),
        ("mail me@example.com: a=b", "mail me@example.com: a=b"),
    ],
)
def test_keys_in_addresses_are_cut(url: str, clean: str) -> None:
    assert cut_url(url, digest) == clean
    assert cut_url(clean, digest) == cut_url(cut_url(clean, digest), digest)


def test_errors_are_searched_as_well() -> None:
    error = {"error": {"message": "bad https://x?api_key=abc", "authorization": "Bearer abc"}}
    assert "abc" not in json.dumps(cut_all(error, digest))


def test_no_file_of_the_store_holds_a_secret(tmp_path: Path) -> None:
    store = open_sqlite(tmp_path / "talks.db")
    recorded = Recorded(tmp_path, store)
    asked: Any = {
        "model": MODEL,
        "max_tokens": 9,
        "messages": cast("list[Any]", HELLO),
        "mcp_servers": cast("list[Any]", SERVERS),
        "betas": ["mcp-client-2025-11-20"],
        "extra_query": {"key": "canary-url"},
        "extra_headers": {"x-goog-api-key": "canary-header", "cookie": "canary-header"},
    }
    with calling(recorded, [GREETING, GREETING]) as calls:
        calls.client.beta.messages.create(**asked)
        with calls.client.beta.messages.stream(**asked) as stream:
            stream.get_final_message()
        sent = [received.body for received in calls.server.requests]
    spooled(recorded, asked)
    store.close()
    found = {
        (canary, path.name)
        for path in tmp_path.rglob("*")
        if path.is_file()
        for canary in CANARIES
        if canary.encode() in path.read_bytes()
    }
    assert found == set()
    assert all(b"canary-token" in body for body in sent)


def spooled(recorded: Recorded, asked: Any) -> None:
    """Make one more call whose answer has to wait in a file."""

    def full(*_: Any) -> Any:
        raise StorageFull("no room")

    with calling(recorded, [GREETING]) as calls:
        with calls.client.beta.messages.stream(**asked) as stream:
            vars(recorded.talk)["append_drafted"] = full
            stream.get_final_message()
        del vars(recorded.talk)["append_drafted"]
    assert list(recorded.folder.rglob("*.spooled.json"))


def test_what_is_proven_is_the_body_without_its_secrets(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path)
    with calling(recorded, [GREETING]) as calls:
        calls.client.beta.messages.create(
            model=MODEL,
            max_tokens=9,
            messages=cast("list[Any]", HELLO),
            mcp_servers=cast("list[Any]", SERVERS),
        )
        sent = calls.server.requests[0].body
    (request,) = recorded.requests()
    body = join(request.template, Stored())
    assert request.template.cut == ("/mcp_servers/0/url", "/mcp_servers/0/authorization_token")
    token = PLACEHOLDER + recorded.store.digest("canary-token").hex()
    assert token.encode() in body
    assert body.replace(token.encode(), b"canary-token").count(b"canary") == 1
    assert len(json.loads(body)) == len(json.loads(sent))
    assert request.prefix == prefix_of(None, None, HELLO)


def test_the_account_is_known_by_a_digest_only(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path)
    with calling(recorded, [GREETING, GREETING]) as calls:
        calls.ask()
        with anthropic.Anthropic(api_key="another", base_url=calls.server.url) as other:
            talk = Talk(recorded.store, "b", tenant=recorded.talk.tenant, spool=recorded.spool)
            talk.record(other).messages.create(
                model=MODEL, max_tokens=9, messages=cast("list[Any]", HELLO)
            )
    accounts = [event.account for event in (*recorded.requests(), *requests_of(talk))]
    assert accounts == [recorded.store.digest(key).hex() for key in (KEY, "another")]
