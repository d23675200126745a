"""Secrets that the caller gives for a request: each for its place, and such as can be sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import openai
import pytest

import onrecord
from onrecord.adapters.wire.secrets import PLACEHOLDER
from tests.adapters.conversation.test_cut_secrets import API, MCP, JsonObject, answer, talk
from tests.adapters.replaying_server import replaying, whole


def test_a_secret_that_was_cut_at_another_place_is_refused(tmp_path: Path) -> None:
    """Tools that a later call declared may stand in another order."""
    servers: list[JsonObject] = [
        {**MCP, "server_label": name, "server_url": f"https://{name}.example", "headers": None}
        for name in ("good", "other")
    ]
    tools: list[JsonObject] = [
        {**tool, "authorization": f"{tool['server_label']}-1234567890"} for tool in servers
    ]
    replies = (whole(answer(1)), whole(answer(2)))
    with replaying(*replies) as server, onrecord.connect("memory://") as store:
        client = openai.OpenAI(api_key="sk-mine", base_url=server.url, max_retries=0)
        chat = store.conversation("swapped")
        recorded = chat.record(client)
        for order in (tools, tools[::-1]):
            chat.user("Hello")
            request = chat.request(
                API,
                secrets={
                    f"/tools/{at}/authorization": tool["authorization"]
                    for at, tool in enumerate(tools)
                },
            )
            arguments: dict[str, Any] = {"model": "gpt-5", **request, "tools": order}
            recorded.responses.create(**arguments)
        client.close()
        chat.user("And now?")
        swapped = {f"/tools/{at}/authorization": tools[at]["authorization"] for at in (0, 1)}
        with pytest.raises(onrecord.InvalidInput, match="was cut at /tools/1/authorization"):
            chat.request(API, secrets=swapped)
        right = {f"/tools/{1 - at}/authorization": tools[at]["authorization"] for at in (0, 1)}
        assert chat.request(API, secrets=right)["tools"] == tools[::-1]


@pytest.mark.parametrize(
    "member", ["\ud800", 10**5000, [[]]], ids=["half a pair", "a long integer", "a cycle"]
)
def test_what_no_request_can_hold_is_no_secret(tmp_path: Path, member: object) -> None:
    if isinstance(member, list):
        cast("list[object]", member).append(cast("object", member))
    tool: JsonObject = {**MCP, "server_url": "https://mcp.example", "authorization": PLACEHOLDER}
    with talk(tmp_path) as (chat, _, _):
        chat.tools.declare([onrecord.Native(api=API, value={**tool, "headers": None})])
        chat.user("Hello")
        with pytest.raises(onrecord.InvalidInput, match="/tools/0/authorization"):
            chat.request(API, secrets={"/tools/0/authorization": cast("object", member)})
