"""What OpenAI's own tools were asked and gave, in the form that all APIs share."""

from typing import Any

import pytest

from onrecord.domain.content import Document, ServerToolCall, ServerToolResult, Text, Url
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.api import neutral_of, outcome_of
from onrecord.projections.apis.openai_responses.read import NAME
from onrecord.projections.apis.openai_responses.server_tools import name_of

PNG = "data:image/png;base64,iVBORw0KGgo="


def called(name: str, **arguments: object) -> ServerToolCall:
    return ServerToolCall(id="x", name=name, arguments=arguments)


def result(
    name: str, *said: str | Url | Document, is_error: bool = False, **about: Any
) -> ServerToolResult:
    content = tuple(Text(text=part) if isinstance(part, str) else part for part in said)
    return ServerToolResult(
        call_id="x", name=name, content=content, is_error=is_error, metadata=about
    )


SOURCES = [
    {"type": "url", "url": "https://a", "title": "A"},
    {"type": "url", "url": ""},
    {"type": "api", "name": "oai-weather"},
]
ACTIVITY: dict[str, tuple[JsonObject, ServerToolCall, ServerToolResult | None]] = {
    "a search of the web": (
        {
            "type": "web_search_call",
            "status": "completed",
            "action": {"type": "search", "query": "q", "queries": ["q", "r"], "sources": SOURCES},
        },
        called("web_search", type="search", query="q", queries=["q", "r"]),
        result(
            "web_search",
            Url(url="https://a", title="A"),
            "oai-weather",
            action_type="search",
            status="completed",
            queries=["q", "r"],
        ),
    ),
    "a search whose sources nobody asked for": (
        {
            "type": "web_search_call",
            "status": "completed",
            "action": {"type": "search", "query": "q"},
        },
        called("web_search", type="search", query="q"),
        result("web_search", action_type="search", status="completed"),
    ),
    "a page that was opened": (
        {"type": "web_search_call", "action": {"type": "open_page", "url": "https://a"}},
        called("web_search", type="open_page", url="https://a"),
        result("web_search", Url(url="https://a"), action_type="open_page"),
    ),
    "a page in which was searched": (
        {
            "type": "web_search_call",
            "action": {"type": "find_in_page", "url": "https://a", "pattern": "p"},
        },
        called("web_search", type="find_in_page", url="https://a", pattern="p"),
        result("web_search", Url(url="https://a"), action_type="find_in_page", pattern="p"),
    ),
    "a search of the web without an action": (
        {"type": "web_search_call", "action": None},
        called("web_search"),
        result("web_search"),
    ),
    "a search of files": (
        {
            "type": "file_search_call",
            "queries": ["q"],
            "results": [{"file_id": "f", "filename": "a.txt", "text": "said", "score": 0.5}],
        },
        called("file_search", queries=["q"]),
        result(
            "file_search",
            "a.txt\nsaid",
            files=[{"file_id": "f", "filename": "a.txt", "score": 0.5}],
        ),
    ),
    "a search of files whose results nobody asked for": (
        {"type": "file_search_call", "queries": ["q"], "results": None},
        called("file_search", queries=["q"]),
        result("file_search"),
    ),
    "code that wrote and drew": (
        {
            "type": "code_interpreter_call",
            "code": "1+1",
            "container_id": "cntr_1",
            "outputs": [{"type": "logs", "logs": "2"}, {"type": "image", "url": PNG}],
        },
        called("code_execution", code="1+1"),
        result(
            "code_execution",
            "2",
            Document(media_type="image/png", url=PNG),
            container_id="cntr_1",
        ),
    ),
    "code that is not told": (
        {"type": "code_interpreter_call", "code": None, "outputs": []},
        called("code_execution"),
        result("code_execution"),
    ),
    "code that failed": (
        {"type": "code_interpreter_call", "code": "1/0", "outputs": None, "status": "failed"},
        called("code_execution", code="1/0"),
        result("code_execution", is_error=True, status="failed"),
    ),
    "a picture": (
        {
            "type": "image_generation_call",
            "status": "completed",
            "revised_prompt": "a cat",
            "result": "AAAA",
            "output_format": "jpeg",
            "size": "1024x1024",
        },
        called("image_generation", prompt="a cat"),
        result(
            "image_generation",
            Document(media_type="image/jpeg", url="data:image/jpeg;base64,AAAA"),
            revised_prompt="a cat",
            output_format="jpeg",
            size="1024x1024",
        ),
    ),
    "a picture that was not made": (
        {"type": "image_generation_call", "status": "failed", "result": None},
        called("image_generation"),
        result("image_generation", is_error=True),
    ),
    "a call of an MCP tool": (
        {
            "type": "mcp_call",
            "server_label": "zip",
            "name": "ask",
            "arguments": '{"q":1}',
            "output": "42",
            "error": None,
        },
        called("mcp", server="zip", tool="ask", arguments={"q": 1}),
        result("mcp", "42", server_label="zip"),
    ),
    "a call of an MCP tool that failed": (
        {
            "type": "mcp_call",
            "name": "ask",
            "arguments": "{}",
            "output": None,
            "error": {"code": 1},
        },
        called("mcp", tool="ask", arguments={}),
        result("mcp", '{"code":1}', is_error=True),
    ),
    "the tools of an MCP server": (
        {"type": "mcp_list_tools", "server_label": "zip", "tools": [{"name": "f"}]},
        called("mcp", server="zip"),
        result("mcp", "f", server_label="zip", count=1),
    ),
    "a program": ({"type": "program", "code": "x"}, called("program", code="x"), None),
    "a shell in a container": (
        {
            "type": "shell_call",
            "action": {"commands": ["ls"]},
            "environment": {"type": "container_reference"},
        },
        called("shell", commands=["ls"]),
        None,
    ),
    "a search for tools": (
        {"type": "tool_search_call", "execution": "server", "arguments": {"paths": ["f"]}},
        called("tool_search", paths=["f"]),
        None,
    ),
}


@pytest.mark.parametrize(("value", "asked", "gave"), ACTIVITY.values(), ids=ACTIVITY)
def test_a_tool_of_the_provider_was_asked_and_gave(
    value: JsonObject, asked: ServerToolCall, gave: ServerToolResult | None
) -> None:
    whole = {"id": "x", **value}
    assert neutral_of(NAME, whole) == asked
    assert outcome_of(NAME, whole) == gave
    assert name_of(whole) == asked.name


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ({"type": "computer_call"}, "computer"),
        ({"type": "local_shell_call"}, "shell"),
        ({"type": "apply_patch_call"}, "apply_patch"),
        ({"type": "custom_tool_call", "name": "x_keyword_search"}, "x_keyword_search"),
        ({"type": "of_next_year_call"}, "of_next_year"),
        ({"type": 7}, ""),
    ],
)
def test_every_item_has_the_name_of_its_tool(value: JsonObject, name: str) -> None:
    assert name_of(value) == name
