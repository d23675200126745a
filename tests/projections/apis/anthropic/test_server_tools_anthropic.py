"""What Anthropic's own tools gave, in the form that all APIs share."""

from typing import Any

import pytest

from onrecord.domain.content import Document, HeldFile, ServerToolCall, ServerToolResult, Text, Url
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.anthropic import read
from onrecord.projections.apis.anthropic.read import called, gave

Parts = tuple[Text | Url | Document | HeldFile, ...]

PDF = {"type": "base64", "media_type": "application/pdf", "data": "AA=="}
FETCHED = {"type": "web_fetch_result", "url": "https://x", "retrieved_at": "2026-05-01T00:00:00Z"}
PAGE = {
    "type": "document",
    "title": "X",
    "source": {"type": "text", "media_type": "text/plain", "data": "Said."},
}


def texts(*said: str) -> tuple[Text, ...]:
    return tuple(Text(text=text) for text in said)


def file(name: str) -> JsonObject:
    return {"type": "code_execution_output", "file_id": name}


def run(kind: str, **members: Any) -> JsonObject:
    return {"type": f"{kind}_result", "stdout": "", "stderr": "", "return_code": 0, **members}


RESULTS: dict[str, tuple[str, Any, str, Parts, JsonObject]] = {
    "pages that a search found": (
        "web_search",
        [
            {"type": "web_search_result", "title": "A", "url": "https://a", "page_age": "1 day"},
            {"type": "web_search_result", "title": "B", "url": "https://b", "page_age": None},
        ],
        "web_search",
        (
            Url(url="https://a", title="A", about={"page_age": "1 day"}),
            Url(url="https://b", title="B"),
        ),
        {"count": 2},
    ),
    "a search that found nothing": ("web_search", [], "web_search", (), {"count": 0}),
    "a search without content": ("web_search", None, "web_search", (), {"count": 0}),
    "a page that was fetched": (
        "web_fetch",
        {**FETCHED, "content": PAGE},
        "web_fetch",
        (Url(url="https://x", title="X"), Text(text="X\nSaid.")),
        {"retrieved_at": "2026-05-01T00:00:00Z", "title": "X"},
    ),
    "a PDF that was fetched": (
        "web_fetch",
        {**FETCHED, "content": {"type": "document", "title": None, "source": PDF}},
        "web_fetch",
        (
            Url(url="https://x"),
            Document(media_type="application/pdf", url="data:application/pdf;base64,AA=="),
        ),
        {"retrieved_at": "2026-05-01T00:00:00Z"},
    ),
    "what code wrote, and its files": (
        "code_execution",
        run("code_execution", stdout="4", content=[file("f"), file("g")]),
        "code_execution",
        (Text(text="4"), HeldFile(file_id="f"), HeldFile(file_id="g")),
        {"return_code": 0},
    ),
    "what a shell wrote, both ways": (
        "bash_code_execution",
        run("bash_code_execution", stdout="out", stderr="warned", content=[]),
        "code_execution",
        texts("out", "warned"),
        {"return_code": 0},
    ),
    "a shell that wrote nothing": (
        "bash_code_execution",
        run("bash_code_execution", content=[]),
        "code_execution",
        (),
        {"return_code": 0},
    ),
    "code whose output is encrypted": (
        "code_execution",
        {
            "type": "encrypted_code_execution_result",
            "encrypted_stdout": "e",
            "stderr": "",
            "return_code": 0,
            "content": [file("f")],
        },
        "code_execution",
        (HeldFile(file_id="f"),),
        {"return_code": 0, "encrypted": True},
    ),
    "a file that was viewed": (
        "text_editor_code_execution",
        {
            "type": "text_editor_code_execution_view_result",
            "file_type": "text",
            "content": "a\nb",
            "num_lines": 2,
            "start_line": 1,
            "total_lines": 2,
        },
        "code_execution",
        texts("a\nb"),
        {"file_type": "text", "num_lines": 2, "start_line": 1, "total_lines": 2},
    ),
    "a file that was created": (
        "text_editor_code_execution",
        {"type": "text_editor_code_execution_create_result", "is_file_update": False},
        "code_execution",
        (),
        {"is_file_update": False},
    ),
    "a file in which text was replaced": (
        "text_editor_code_execution",
        {
            "type": "text_editor_code_execution_str_replace_result",
            "lines": ["-a", "+b"],
            "new_lines": 1,
            "new_start": 3,
            "old_lines": 1,
            "old_start": 3,
        },
        "code_execution",
        texts("-a\n+b"),
        {"new_lines": 1, "new_start": 3, "old_lines": 1, "old_start": 3},
    ),
    "a replacement without lines": (
        "text_editor_code_execution",
        {"type": "text_editor_code_execution_str_replace_result", "lines": None},
        "code_execution",
        (),
        {},
    ),
    "tools that were found": (
        "tool_search",
        {
            "type": "tool_search_tool_search_result",
            "tool_references": [
                {"type": "tool_reference", "tool_name": "look"},
                {"type": "tool_reference", "tool_name": "find"},
            ],
        },
        "tool_search",
        texts("look", "find"),
        {"count": 2},
    ),
    "what an MCP server said": (
        "mcp",
        [{"type": "text", "text": "echo"}],
        "mcp",
        texts("echo"),
        {},
    ),
    "what an MCP server said as a string": ("mcp", "echo", "mcp", texts("echo"), {}),
    "an MCP server that said nothing": ("mcp", [], "mcp", (), {}),
    "advice": (
        "advisor",
        {"type": "advisor_result", "text": "Do.", "stop_reason": "end_turn"},
        "advisor",
        texts("Do."),
        {"stop_reason": "end_turn"},
    ),
    "advice that is encrypted": (
        "advisor",
        {"type": "advisor_redacted_result", "encrypted_content": "e"},
        "advisor",
        (),
        {"encrypted": True},
    ),
    "a tool of next year": ("of_next_year", {"type": "new", "answer": 42}, "of_next_year", (), {}),
}

FAILURES: dict[str, tuple[str, JsonObject, str, str]] = {
    f"{kind}: {code}": (kind, {"type": f"{kind}_tool_result_error", "error_code": code}, name, code)
    for kind, name, code in [
        ("web_search", "web_search", "max_uses_exceeded"),
        ("web_search", "web_search", "too_many_requests"),
        ("web_fetch", "web_fetch", "url_not_accessible"),
        ("code_execution", "code_execution", "unavailable"),
        ("bash_code_execution", "code_execution", "output_file_too_large"),
        ("text_editor_code_execution", "code_execution", "file_not_found"),
        ("tool_search", "tool_search", "invalid_tool_input"),
        ("advisor", "advisor", "overloaded"),
    ]
}


@pytest.mark.parametrize(
    ("kind", "content", "name", "parts", "about"), RESULTS.values(), ids=RESULTS
)
def test_a_result_has_the_parts_that_all_apis_share(
    kind: str, content: Any, name: str, parts: Parts, about: JsonObject
) -> None:
    block = {"type": f"{kind}_tool_result", "tool_use_id": "s", "content": content}
    told = ServerToolResult(call_id="s", name=name, content=parts, metadata=about)
    assert read.block(block) == told


@pytest.mark.parametrize(("kind", "content", "name", "code"), FAILURES.values(), ids=FAILURES)
def test_a_failure_says_what_failed_and_why(
    kind: str, content: JsonObject, name: str, code: str
) -> None:
    block = {"type": f"{kind}_tool_result", "tool_use_id": "s", "content": content}
    assert read.block(block) == ServerToolResult(
        call_id="s",
        name=name,
        content=texts(f"{content['type']}: {code}"),
        is_error=True,
        metadata={"error": True, "error_code": code, "type": content["type"]},
    )


def test_a_failure_keeps_the_words_that_came_with_it() -> None:
    content = {"type": "e", "error_code": "c", "error_message": "Not today."}
    held = gave({"type": "x_tool_result", "tool_use_id": "s", "content": content})
    assert held is not None
    assert held.content == texts("e: c: Not today.")
    assert held.metadata["error_message"] == "Not today."


def test_a_program_that_ended_badly_failed() -> None:
    content = run("bash_code_execution", stderr="no", return_code=2)
    held = gave({"type": "x_tool_result", "tool_use_id": "s", "content": content})
    assert held == ServerToolResult(
        call_id="s", name="x", content=texts("no"), is_error=True, metadata={"return_code": 2}
    )


def test_an_mcp_result_says_itself_whether_it_failed() -> None:
    block = {"type": "mcp_tool_result", "tool_use_id": "m", "content": "no", "is_error": True}
    assert gave(block) == ServerToolResult(
        call_id="m", name="mcp", content=texts("no"), is_error=True
    )


def test_a_call_without_input_has_no_arguments() -> None:
    block = {"type": "server_tool_use", "id": "s", "name": "web_search"}
    assert called(block) == ServerToolCall(id="s", name="web_search", arguments={})


def test_a_call_of_an_mcp_tool_names_server_and_tool() -> None:
    block = {
        "type": "mcp_tool_use",
        "id": "m",
        "name": "ask",
        "server_name": "x",
        "input": {"q": 1},
    }
    arguments = {"server": "x", "tool": "ask", "arguments": {"q": 1}}
    assert called(block) == ServerToolCall(id="m", name="mcp", arguments=arguments)


@pytest.mark.parametrize("kind", ["tool_use", "text", "container_upload", "mcp_tool_listing"])
def test_other_blocks_are_no_doing_of_the_service(kind: str) -> None:
    block: JsonObject = {"type": kind, "id": "s", "name": "n", "tool_use_id": "s"}
    assert called(block) is None
    assert gave(block) is None
