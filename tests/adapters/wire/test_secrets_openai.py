"""Secrets of requests to OpenAI's two APIs are cut by their place, and what was said stays."""

from typing import Any

import pytest

from onrecord.adapters.wire.secrets import PLACEHOLDER, cut, cut_url, secrets_of
from onrecord.adapters.wire.wires import WIRES

CHAT, RESPONSES = "openai-chat", "openai-responses"
SECRET = "canary-1234567890"


def digest(text: str) -> bytes:
    return bytes([len(text)] * 16)


def marked(text: str) -> str:
    return PLACEHOLDER + digest(text).hex()


MCP: dict[str, Any] = {
    "type": "mcp",
    "server_label": "orders",
    "server_url": f"https://mcp.example/sse?code={SECRET}",
    "authorization": SECRET,
    "headers": {"X-Team": SECRET, "Authorization": f"Bearer {SECRET}"},
    "require_approval": "never",
}
CUT_OF_MCP = ("server_url", "authorization", "headers/X-Team", "headers/Authorization")


@pytest.mark.parametrize("api", [CHAT, RESPONSES])
def test_what_a_tool_server_is_given_is_cut_all_headers_of_it(api: str) -> None:
    clean, places = cut({"tools": [MCP]}, WIRES[api], digest)
    assert places == tuple(f"/tools/0/{place}" for place in CUT_OF_MCP)
    assert SECRET not in str(clean)
    assert clean["tools"][0]["headers"].keys() == MCP["headers"].keys()
    assert clean["tools"][0]["server_label"] == "orders"


def test_tools_that_come_amid_the_input_are_searched_too() -> None:
    text = f"Use https://example.org?key={SECRET}"
    said = {"type": "message", "role": "user", "content": text}
    request = {"input": [said, {"type": "additional_tools", "role": "developer", "tools": [MCP]}]}
    clean, places = cut(request, WIRES[RESPONSES], digest)
    assert places == tuple(f"/input/1/tools/0/{place}" for place in CUT_OF_MCP)
    assert clean["input"][0] is said
    assert SECRET not in str(clean["input"][1])
    assert SECRET in str(request["input"][1])


def test_the_secrets_that_a_container_may_use_are_cut() -> None:
    secrets = [{"domain": "example.org", "name": "TOKEN", "value": SECRET}]
    policy = {"type": "allowlist", "allowed_domains": ["example.org"], "domain_secrets": secrets}
    tools = [
        {"type": "code_interpreter", "container": {"type": "auto", "network_policy": policy}},
        {"type": "shell", "environment": {"type": "container_auto", "network_policy": policy}},
    ]
    clean, places = cut({"tools": tools}, WIRES[RESPONSES], digest)
    assert places == (
        "/tools/0/container/network_policy/domain_secrets",
        "/tools/1/environment/network_policy/domain_secrets",
    )
    assert SECRET not in str(clean)


SCHEMA = {
    "type": "object",
    "properties": {"password": {"type": "string"}, "api_key": {"default": "none"}},
    "description": "GET https://example.org?token=yours",
}
FUNCTION = {"name": "get_token", "description": "token=abc", "parameters": SCHEMA, "strict": True}
NAMES = {"prompt_cache_key": "team", "safety_identifier": "u1", "user": "u1", "max_tokens": 9}


@pytest.mark.parametrize(
    ("api", "request_"),
    [
        (
            CHAT,
            {
                **NAMES,
                "messages": [{"role": "user", "content": f"My password=x, ?key={SECRET}"}],
                "tools": [
                    {"type": "function", "function": FUNCTION},
                    {"type": "custom", "custom": {"name": "key", "format": {"token": "[a-z]"}}},
                ],
                "functions": [FUNCTION],
                "tool_choice": {"type": "function", "function": {"name": "get_token"}},
                "response_format": {"type": "json_schema", "json_schema": {"schema": SCHEMA}},
                "prediction": {"type": "content", "content": "?key=abc"},
                "logit_bias": {"50256": -100},
            },
        ),
        (
            RESPONSES,
            {
                **NAMES,
                "instructions": "The password=swordfish",
                "input": [
                    {"type": "function_call", "arguments": '{"api_key": "x"}', "token": "said"},
                    {"type": "mcp_list_tools", "tools": [{"input_schema": SCHEMA}]},
                ],
                "tools": [
                    {"type": "function", **FUNCTION, "output_schema": SCHEMA},
                    {"type": "namespace", "name": "crm", "tools": [FUNCTION]},
                    {"type": "file_search", "filters": {"key": "region", "value": "us"}},
                ],
                "text": {"format": {"type": "json_schema", "schema": SCHEMA}},
                "prompt": {"id": "pmpt_1", "variables": {"api_key": "said"}},
            },
        ),
    ],
)
def test_what_was_said_and_what_is_no_secret_stays_as_it_is(api: str, request_: Any) -> None:
    assert cut(request_, WIRES[api], digest) == (request_, ())


def test_a_key_in_the_place_of_a_code_is_cut_and_codes_are_not() -> None:
    url = f"https://f.azurewebsites.net/mcp?country_code=DE&code={SECRET}"
    clean = f"https://f.azurewebsites.net/mcp?country_code=DE&code={marked(SECRET)}"
    assert cut_url(url, digest) == clean


def test_all_that_is_cut_is_known_as_a_secret() -> None:
    assert set(secrets_of({"tools": [MCP]}, WIRES[CHAT])) == {SECRET, f"Bearer {SECRET}"}
