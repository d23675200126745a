"""What blocks of Anthropic's API say to other APIs, and to people."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard.domain.content import (
    Block,
    Document,
    Opaque,
    Reasoning,
    ServerToolCall,
    ServerToolResult,
    Text,
    ToolCall,
    ToolResult,
)
from hansard.domain.jsontext import JsonObject
from hansard.projections.neutral_anthropic import neutral

SAMPLES = Path(__file__).parents[1] / "samples" / "anthropic-messages"


def texts(*said: str) -> tuple[Text, ...]:
    return tuple(Text(text=text) for text in said)


def opaque(kind: str) -> Opaque:
    return Opaque(api="anthropic-messages", type=kind)


@pytest.mark.parametrize(
    ("block", "wanted"),
    [
        ({"type": "text", "text": "Hi", "citations": [{"cited_text": "Hi"}]}, Text(text="Hi")),
        ({"type": "thinking", "thinking": "Hm", "signature": "s"}, Reasoning(text="Hm")),
        ({"type": "redacted_thinking", "data": "d"}, Reasoning(text="")),
        ({"type": "compaction", "content": "All in all."}, Text(text="All in all.")),
        ({"type": "compaction", "content": None}, opaque("compaction")),
        (
            {"type": "tool_use", "id": "t", "name": "look", "input": {"a": None}},
            ToolCall(id="t", name="look", arguments={"a": None}),
        ),
        (
            {"type": "server_tool_use", "id": "s", "name": "bash_code_execution", "input": {}},
            ServerToolCall(id="s", name="code_execution", arguments={}),
        ),
        (
            {"type": "server_tool_use", "id": "s", "name": "tool_search_tool_bm25"},
            ServerToolCall(id="s", name="tool_search", arguments={}),
        ),
        (
            {"type": "mcp_tool_use", "id": "m", "name": "ask", "server_name": "x", "input": {}},
            ServerToolCall(id="m", name="ask", arguments={}),
        ),
        ({"type": "fallback", "to": {}}, opaque("fallback")),
        ({"type": "container_upload", "file_id": "f"}, opaque("container_upload")),
        ({"type": "mcp_tool_listing", "tools": []}, opaque("mcp_tool_listing")),
        ({"type": "hologram"}, opaque("hologram")),
        ({"type": "tool_use", "name": "without an id"}, opaque("tool_use")),
        ({"type": "image", "source": {"type": "of next year"}}, opaque("image")),
        ({"type": 7}, opaque("")),
    ],
)
def test_a_block_says_what_others_can_read(block: JsonObject, wanted: Block) -> None:
    assert neutral(block) == wanted


@pytest.mark.parametrize(
    ("block", "wanted"),
    [
        (
            {
                "type": "image",
                "source": {"type": "base64", "media_type": "image/png", "data": "AA=="},
            },
            Document(media_type="image/png", url="data:image/png;base64,AA=="),
        ),
        (
            {
                "type": "document",
                "title": "Report",
                "source": {"type": "url", "url": "https://x/report"},
            },
            Document(media_type="application/pdf", name="Report", url="https://x/report"),
        ),
        (
            {"type": "image", "source": {"type": "url", "url": "https://x/y.gif?size=1"}},
            Document(media_type="image/gif", url="https://x/y.gif?size=1"),
        ),
        (
            {"type": "image", "source": {"type": "url", "url": "https://x/y"}},
            Document(media_type="image/*", url="https://x/y"),
        ),
        (
            {
                "type": "document",
                "title": "Notes",
                "source": {"type": "text", "media_type": "text/plain", "data": "One."},
            },
            Text(text="Notes\nOne."),
        ),
        (
            {
                "type": "document",
                "source": {
                    "type": "content",
                    "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
                },
            },
            Text(text="a\nb"),
        ),
        (
            {"type": "document", "source": {"type": "file", "file_id": "file_1"}},
            Text(text="[document held by the provider as file_1]"),
        ),
        (
            {
                "type": "search_result",
                "title": "T",
                "source": "https://x",
                "content": [{"type": "text", "text": "Found."}],
            },
            Text(text="T\nhttps://x\nFound."),
        ),
    ],
)
def test_a_document_travels_as_bytes_a_url_or_text(block: JsonObject, wanted: Block) -> None:
    assert neutral(block) == wanted


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        ("4", texts("4")),
        (None, ()),
        ([], ()),
        (
            [{"type": "text", "text": "a"}, {"type": "tool_reference", "tool_name": "look"}],
            texts("a", "look"),
        ),
        (
            [{"type": "image", "source": {"type": "url", "url": "https://x/y.png"}}],
            (Document(media_type="image/png", url="https://x/y.png"),),
        ),
        ([{"type": "browser_state"}, "b"], texts("b")),
    ],
)
def test_a_result_of_the_callers_tool_keeps_its_parts(content: Any, wanted: Any) -> None:
    block = {"type": "tool_result", "tool_use_id": "t", "content": content, "is_error": True}
    assert neutral(block) == ToolResult(call_id="t", content=wanted, is_error=True)


PDF = {"type": "base64", "media_type": "application/pdf", "data": "AA=="}


@pytest.mark.parametrize(
    ("kind", "content", "name", "wanted"),
    [
        (
            "web_search",
            [{"type": "web_search_result", "title": "T", "url": "u", "page_age": None}],
            "web_search",
            texts("T\nu"),
        ),
        ("web_search", [], "web_search", ()),
        ("web_search", None, "web_search", ()),
        (
            "web_fetch",
            {
                "type": "web_fetch_result",
                "url": "u",
                "content": {"type": "document", "source": PDF},
            },
            "web_fetch",
            (
                Text(text="u"),
                Document(media_type="application/pdf", url="data:application/pdf;base64,AA=="),
            ),
        ),
        (
            "code_execution",
            {
                "type": "code_execution_result",
                "stdout": "4",
                "stderr": "",
                "return_code": 0,
                "content": [{"type": "code_execution_output", "file_id": "f"}],
            },
            "code_execution",
            texts("4", "[file held by the provider as f]"),
        ),
        (
            "code_execution",
            {
                "type": "encrypted_code_execution_result",
                "encrypted_stdout": "e",
                "stderr": "warned",
                "return_code": 0,
                "content": [],
            },
            "code_execution",
            texts("warned"),
        ),
        (
            "text_editor_code_execution",
            {
                "type": "text_editor_code_execution_view_result",
                "file_type": "text",
                "content": "a\nb",
            },
            "code_execution",
            texts("a\nb"),
        ),
        (
            "text_editor_code_execution",
            {"type": "text_editor_code_execution_create_result", "is_file_update": False},
            "code_execution",
            texts("file created"),
        ),
        (
            "text_editor_code_execution",
            {"type": "text_editor_code_execution_str_replace_result", "lines": ["-a", "+b"]},
            "code_execution",
            texts("-a\n+b"),
        ),
        (
            "text_editor_code_execution",
            {"type": "text_editor_code_execution_str_replace_result", "lines": None},
            "code_execution",
            (),
        ),
        (
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
        ),
        ("mcp", [{"type": "text", "text": "echo"}], "mcp", texts("echo")),
        ("mcp", "echo", "mcp", texts("echo")),
        ("advisor", {"type": "advisor_result", "text": "Do."}, "advisor", texts("Do.")),
        ("advisor", {"type": "advisor_redacted_result", "encrypted_content": "e"}, "advisor", ()),
        ("of_next_year", {"type": "new", "answer": 42}, "of_next_year", ()),
    ],
)
def test_what_the_providers_tool_gave_is_what_a_person_would_read(
    kind: str, content: Any, name: str, wanted: Any
) -> None:
    block = {"type": f"{kind}_tool_result", "tool_use_id": "s", "content": content}
    assert neutral(block) == ServerToolResult(call_id="s", name=name, content=wanted)


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        (
            {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"},
            texts("web_search_tool_result_error: max_uses_exceeded"),
        ),
        (
            {"type": "e", "error_code": "c", "error_message": "Not today."},
            texts("e: c: Not today."),
        ),
        (
            {"type": "bash_code_execution_result", "stdout": "", "stderr": "no", "return_code": 2},
            texts("no", "return code 2"),
        ),
    ],
)
def test_a_failure_of_the_providers_tool_is_told_as_one(content: Any, wanted: Any) -> None:
    block = {"type": "x_tool_result", "tool_use_id": "s", "content": content}
    assert neutral(block) == ServerToolResult(call_id="s", name="x", content=wanted, is_error=True)


def test_an_mcp_result_says_itself_whether_it_failed() -> None:
    block = {"type": "mcp_tool_result", "tool_use_id": "m", "content": "no", "is_error": True}
    assert neutral(block) == ServerToolResult(
        call_id="m", name="mcp", content=texts("no"), is_error=True
    )


def sampled_blocks() -> list[JsonObject]:
    return [
        block
        for path in sorted(SAMPLES.glob("*.expected.json"))
        for block in json.loads(path.read_bytes())["blocks"]
    ]


def test_every_kind_of_block_in_the_samples_has_a_reading() -> None:
    unread = {block["type"] for block in sampled_blocks() if isinstance(neutral(block), Opaque)}
    assert unread == {"compaction", "container_upload", "fallback", "hologram", "mcp_tool_listing"}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "source", "content", "text", "data", "url", "return_code", "error_code"]
            )
            | st.text(max_size=5),
            inner,
            max_size=4,
        )
    ),
    max_leaves=10,
)
KINDS = sorted({str(block["type"]) for block in sampled_blocks()} | {"image", "tool_result"})


@given(
    st.sampled_from(KINDS), st.dictionaries(st.sampled_from(["content", "source", "text"]), VALUES)
)
def test_no_shape_of_a_block_makes_its_reading_raise(kind: str, members: JsonObject) -> None:
    neutral({**members, "type": kind, "tool_use_id": "s", "id": "s", "name": "n"})
