"""Redacting a document that was found in a result, or the result that holds it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import onrecord
from onrecord.domain.content import Text, ToolResult
from tests.adapters.found_results import call

PDF = b"%PDF-1.7 the report"
PNG = b"\x89PNG\r\n\x1a\n a picture"
APIS = (
    *("anthropic-messages", "openai-chat", "openai-responses"),
    *("gemini", "ollama", "bedrock-converse"),
)


@pytest.fixture
def chat(tmp_path: Path) -> onrecord.Conversation:
    (tmp_path / "Ada.pdf").write_bytes(PDF)
    chat = onrecord.connect("memory://").conversation("support/4711")
    call(chat)
    chat.tool_result("call_1", {"hits": [tmp_path / "Ada.pdf", tmp_path / "Ada.pdf"], "map": PNG})
    return chat


def versions(chat: onrecord.Conversation, name: str) -> list[int]:
    return [event.version for event in chat.log.read() if event.type == name]


def sent(chat: onrecord.Conversation, api: str) -> str:
    """The request as it is told, bytes and all."""
    return repr(dict(chat.request(api)))


@pytest.mark.parametrize("api", APIS)
def test_redacting_a_document_takes_it_out_of_the_result(
    chat: onrecord.Conversation, api: str
) -> None:
    first, _ = versions(chat, "document.extracted")
    assert "Ada.pdf" in sent(chat, api)
    chat.redact(first)
    told = sent(chat, api)
    assert "Ada.pdf" not in told
    assert "redacted" in told
    (note,) = chat.request(api).report.of("redacted")
    assert note.version == first


def test_the_other_documents_of_the_result_stay(chat: onrecord.Conversation) -> None:
    first, _ = versions(chat, "document.extracted")
    chat.redact(first)
    (turn,) = [turn for turn in chat.history() if turn.blocks[0].call_id and turn.role == "user"]
    content = turn.blocks[0].content
    assert isinstance(content, ToolResult)
    told = content.model_dump_json()
    assert told.count("redacted") == 2
    (text,) = (part.text for part in content.content if isinstance(part, Text))
    assert json.loads(text)["hits"] == [{"document": "redacted"}] * 2
    assert told.count("image/png") == 2


@pytest.mark.parametrize("api", APIS)
def test_redacting_a_result_hides_its_documents(chat: onrecord.Conversation, api: str) -> None:
    (result,) = versions(chat, "tool_result.recorded")
    chat.redact(result)
    told = sent(chat, api)
    assert "Ada.pdf" not in told
    assert "image/png" not in told


def test_redacting_a_document_in_a_fork_leaves_its_origin_as_it_was(
    chat: onrecord.Conversation,
) -> None:
    before = sent(chat, "anthropic-messages")
    fork = chat.fork("support/4711/otherwise")
    fork.tool_result("call_2", {"map": PNG})
    fork.redact(versions(fork, "document.extracted")[0])
    assert sent(chat, "anthropic-messages") == before
