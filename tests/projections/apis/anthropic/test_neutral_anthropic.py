"""What blocks of Anthropic's API say to other APIs, and to people."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onrecord.domain.content import (
    Document,
    NeutralBlock,
    Opaque,
    Reasoning,
    ServerToolCall,
    Text,
    ToolCall,
    ToolResult,
)
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.anthropic import read

SAMPLES = Path(__file__).parents[3] / "samples" / "anthropic-messages"


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
            ServerToolCall(
                id="m", name="mcp", arguments={"server": "x", "tool": "ask", "arguments": {}}
            ),
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
def test_a_block_says_what_others_can_read(block: JsonObject, wanted: NeutralBlock) -> None:
    assert read.block(block) == wanted


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
def test_a_document_travels_as_bytes_a_url_or_text(block: JsonObject, wanted: NeutralBlock) -> None:
    assert read.block(block) == wanted


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
    assert read.block(block) == ToolResult(call_id="t", content=wanted, is_error=True)


def sampled_blocks() -> list[JsonObject]:
    return [
        block
        for path in sorted(SAMPLES.glob("*.expected.json"))
        for block in json.loads(path.read_bytes())["blocks"]
    ]


def test_every_kind_of_block_in_the_samples_has_a_reading() -> None:
    unread = {block["type"] for block in sampled_blocks() if isinstance(read.block(block), Opaque)}
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
    read.block({**members, "type": kind, "tool_use_id": "s", "id": "s", "name": "n"})
