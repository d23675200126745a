"""What OpenAI's own tools were asked and gave, as other APIs and people are told it."""

import pytest

from hansard.domain.content import Document, ServerToolCall, ServerToolResult, Text
from hansard.domain.jsontext import JsonObject
from hansard.projections.neutral import neutral_of, outcome_of
from hansard.projections.neutral_openai_responses import API

PNG = "data:image/png;base64,iVBORw0KGgo="


def called(name: str, **arguments: object) -> ServerToolCall:
    return ServerToolCall(id="x", name=name, arguments=arguments)


def result(name: str, *said: str | Document, is_error: bool = False) -> ServerToolResult:
    content = tuple(Text(text=part) if isinstance(part, str) else part for part in said)
    return ServerToolResult(call_id="x", name=name, content=content, is_error=is_error)


SOURCES = [{"type": "url", "url": "https://a"}, {"type": "api", "name": "oai-weather"}]
ACTIVITY: list[tuple[JsonObject, ServerToolCall, ServerToolResult | None]] = [
    (
        {
            "type": "web_search_call",
            "action": {"type": "search", "query": "q", "sources": SOURCES},
        },
        called("web_search", type="search", query="q"),
        result("web_search", "https://a", "oai-weather"),
    ),
    (
        {"type": "web_search_call", "action": {"type": "open_page", "url": "https://a"}},
        called("web_search", type="open_page", url="https://a"),
        None,
    ),
    (
        {
            "type": "file_search_call",
            "queries": ["q"],
            "results": [{"filename": "a.txt", "text": "said", "score": 0.5}],
        },
        called("file_search", queries=["q"]),
        result("file_search", "a.txt\nsaid"),
    ),
    (
        {"type": "file_search_call", "queries": ["q"], "results": None},
        called("file_search", queries=["q"]),
        None,
    ),
    (
        {
            "type": "code_interpreter_call",
            "code": "1+1",
            "container_id": "cntr_1",
            "outputs": [{"type": "logs", "logs": "2"}, {"type": "image", "url": PNG}],
        },
        called("code_execution", code="1+1"),
        result("code_execution", "2", Document(media_type="image/png", url=PNG)),
    ),
    (
        {"type": "code_interpreter_call", "code": "1/0", "outputs": None, "status": "failed"},
        called("code_execution", code="1/0"),
        result("code_execution", is_error=True),
    ),
    (
        {
            "type": "image_generation_call",
            "revised_prompt": "a cat",
            "result": "AAAA",
            "output_format": "jpeg",
        },
        called("image_generation", prompt="a cat"),
        result(
            "image_generation", Document(media_type="image/jpeg", url="data:image/jpeg;base64,AAAA")
        ),
    ),
    (
        {"type": "mcp_call", "name": "ask", "arguments": '{"q":1}', "output": "42", "error": None},
        called("ask", q=1),
        result("ask", "42"),
    ),
    (
        {
            "type": "mcp_call",
            "name": "ask",
            "arguments": "{}",
            "output": None,
            "error": {"code": 1},
        },
        called("ask"),
        result("ask", '{"code":1}', is_error=True),
    ),
    (
        {"type": "mcp_list_tools", "server_label": "zip", "tools": [{"name": "f"}]},
        called("mcp_list_tools", server="zip"),
        result("mcp_list_tools", "f"),
    ),
    ({"type": "program", "code": "x"}, called("program", code="x"), None),
    (
        {"type": "tool_search_call", "execution": "server", "arguments": {"paths": ["f"]}},
        called("tool_search", paths=["f"]),
        None,
    ),
]


@pytest.mark.parametrize(("value", "asked", "gave"), ACTIVITY)
def test_a_tool_of_the_provider_was_asked_and_gave(
    value: JsonObject, asked: ServerToolCall, gave: ServerToolResult | None
) -> None:
    whole = {"id": "x", **value}
    assert neutral_of(API, whole) == asked
    assert outcome_of(API, whole) == gave
