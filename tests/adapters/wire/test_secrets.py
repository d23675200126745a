"""Secrets never reach the store: canaries are planted and every file of it is searched."""

import json
from pathlib import Path
from typing import Any, cast

import anthropic
import pytest

from onrecord.adapters.conversation.conversation import Conversation, stream_of
from onrecord.adapters.demo.services.scenes import JsonObject
from onrecord.adapters.recording.tenancy import Tenancy
from onrecord.adapters.storage.sqlite.sqlite import open_sqlite
from onrecord.adapters.wire.secrets import PLACEHOLDER, cut, cut_all, cut_url, is_secret, secrets_of
from onrecord.adapters.wire.wires import WIRES
from onrecord.domain.errors import StorageFull
from onrecord.projections.matching.template import Stored, join
from tests.adapters.recorded_calls import (
    GREETING,
    HELLO,
    KEY,
    MODEL,
    Recorded,
    calling,
    requests_of,
)
from tests.prefixes import prefix_of

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
    clean, places = cut(request, WIRES[API], digest)
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
    clean, places = cut({"tools": [{"headers": {name: "canary"}}]}, WIRES[API], digest)
    assert clean["tools"][0]["headers"][name] == marked("canary")
    assert places == (f"/tools/0/headers/{name}",)


@pytest.mark.parametrize(
    "name",
    [
        *("X-Auth-Token", "x-goog-api-key", "Ocp-Apim-Subscription-Key", "x-acme-key", "auth"),
        *("token", "private_key", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "STRIPE_KEY", "DB_PASS"),
        *("authorizationToken", "APIKey", "apikey", "API_KEY_2", "Set-Cookie", "credentials"),
        *("client_secrets", "access_tokens", "PGPASSWORD", "jwt", "proxyAuthorization"),
    ],
)
def test_secrets_are_known_by_the_last_of_their_names_words(name: str) -> None:
    assert is_secret(name)
    assert is_secret(name.upper() if "_" in name or "-" in name else name)


@pytest.mark.parametrize(
    "name",
    [
        *("max_tokens", "input_tokens", "tokens", "token_count", "key", "monkey", "author"),
        *(
            "idempotency-key",
            "prompt_cache_key",
            "public_key",
            "pass",
            "secretary",
            "name",
            "",
            "7",
        ),
    ],
)
def test_other_names_are_not_taken_for_secrets(name: str) -> None:
    assert not is_secret(name)


def test_all_that_stands_under_a_secret_name_is_cut() -> None:
    server: dict[str, Any] = {
        "authorization": {"type": "bearer", "value": ["canary"]},
        "password": 12345678,
        "tokens": 7,
        "auth": None,
        "use_token": True,
        "headers": [{"name": "X-Api-Key", "value": "canary"}, {"name": "Accept", "value": "x"}],
    }
    clean, places = cut({"mcp_servers": [server]}, WIRES[API], digest)
    assert clean["mcp_servers"][0] == {
        **server,
        "authorization": marked('{"type":"bearer","value":["canary"]}'),
        "password": marked("12345678"),
        "headers": [{"name": "X-Api-Key", "value": marked("canary")}, server["headers"][1]],
    }
    assert places == (
        "/mcp_servers/0/authorization",
        "/mcp_servers/0/password",
        "/mcp_servers/0/headers/0/value",
    )
    assert cut(clean, WIRES[API], digest) == (clean, ())


def test_a_schema_may_speak_of_secrets() -> None:
    tool = {
        "name": "log_in",
        "description": "GET https://example.org?token=yours",
        "input_examples": [{"password": "hunter2", "api_key": "none"}],
        "input_schema": {
            "type": "object",
            "properties": {"password": {"type": "string"}, "api_key": {"type": "string"}},
            "required": ["password", "api_key"],
        },
    }
    toolset = {"type": "mcp_toolset", "configs": {"get_token": {"enabled": True}}}
    format = {"type": "json_schema", "schema": tool["input_schema"]}
    request = {"tools": [tool, toolset], "output_config": {"format": format}, "messages": HELLO}
    assert cut(request, WIRES[API], digest) == (request, ())


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
    assert cut(request, WIRES[API], digest) == (request, ())


@pytest.mark.parametrize(
    ("url", "clean"),
    [
        ("https://x/y?key=abc&z=1", f"https://x/y?key={marked('abc')}&z=1"),
        ("/v1/messages?beta=true", "/v1/messages?beta=true"),
        ("https://u:p@x/y", f"https://{marked('u:p')}@x/y"),
        ("--from-git+ssh://u:p@x", f"--from-git+ssh://{marked('u:p')}@x"),
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


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("refused header x-api-key: abc-1234567", f"refused header x-api-key: {marked(11 * 'x')}"),
        ("got Bearer abc-1234567, no", f"got Bearer {marked(11 * 'x')}, no"),
        ("env GITHUB_TOKEN=abc-1234567", f"env GITHUB_TOKEN={marked(11 * 'x')}"),
        ('{\\"token\\": \\"abc-1234567\\"}', '{\\"token\\": \\"' + marked(11 * "x") + '\\"}'),
        ("invalid token: expired", "invalid token: expired"),
        ("Bearer authentication needed", "Bearer authentication needed"),
        ("max_tokens: 123456789 is too many", "max_tokens: 123456789 is too many"),
    ],
)
def test_an_error_that_quotes_a_header_loses_what_is_secret_in_it(said: str, kept: str) -> None:
    assert cut_all({"message": said}, digest) == {"message": kept}


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
            vars(recorded.store)["append"] = full
            stream.get_final_message()
        del vars(recorded.store)["append"]
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
            chat = Conversation(
                Tenancy(recorded.store, stream_of(recorded.chat).tenant, recorded.spool), "b"
            )
            chat.record(other).messages.create(
                model=MODEL, max_tokens=9, messages=cast("list[Any]", HELLO)
            )
    accounts = [event.account for event in (*recorded.requests(), *requests_of(chat))]
    assert accounts == [recorded.store.digest(key).hex() for key in (KEY, "another")]


@pytest.mark.parametrize("token", ["fct_1", {"token": "fct_1", "mode": "best_effort"}])
def test_what_a_refusal_gave_to_ask_another_model_by_is_no_secret(token: Any) -> None:
    request = {"fallback_credit_token": token, "messages": HELLO}
    assert cut(request, WIRES[API], digest) == (request, ())
    envelope = {"stop_details": {"type": "refusal", "fallback_credit_token": "fct_1"}}
    assert secrets_of(envelope, WIRES[API]) == []
