"""Redacting a document that was found in a result, or the result that holds it."""

from __future__ import annotations

from pathlib import Path

import pytest

import onrecord
from onrecord.domain.content import ToolResult
from tests.adapters.found_results import call

PDF = b"%PDF-1.7 the report"
PNG = b"\x89PNG\r\n\x1a\n a picture"
APIS = (
    *("anthropic-messages", "openai-chat", "openai-responses"),
    *("gemini", "ollama", "bedrock-converse"),
)


@pytest.fixture
def talk(tmp_path: Path) -> onrecord.Talk:
    (tmp_path / "Ada.pdf").write_bytes(PDF)
    talk = onrecord.connect("memory://").conversation("support/4711")
    call(talk)
    talk.tool_result("call_1", {"hits": [tmp_path / "Ada.pdf", tmp_path / "Ada.pdf"], "map": PNG})
    return talk


def versions(talk: onrecord.Talk, name: str) -> list[int]:
    return [event.version for event in talk.log.read() if event.type == name]


def sent(talk: onrecord.Talk, api: str) -> str:
    """The request as it is told, bytes and all."""
    return repr(dict(talk.request(api)))


@pytest.mark.parametrize("api", APIS)
def test_redacting_a_document_takes_it_out_of_the_result(talk: onrecord.Talk, api: str) -> None:
    first, _ = versions(talk, "document.extracted")
    assert "Ada.pdf" in sent(talk, api)
    talk.redact(first)
    told = sent(talk, api)
    assert "Ada.pdf" not in told
    assert "redacted" in told
    (note,) = talk.request(api).report.of("redacted")
    assert note.version == first


def test_the_other_documents_of_the_result_stay(talk: onrecord.Talk) -> None:
    first, _ = versions(talk, "document.extracted")
    talk.redact(first)
    (turn,) = [turn for turn in talk.history() if turn.blocks[0].call_id and turn.role == "user"]
    content = turn.blocks[0].content
    assert isinstance(content, ToolResult)
    told = content.model_dump_json()
    assert told.count("redacted") == 2
    assert told.count("image/png") == 2


@pytest.mark.parametrize("api", APIS)
def test_redacting_a_result_hides_its_documents(talk: onrecord.Talk, api: str) -> None:
    (result,) = versions(talk, "tool_result.recorded")
    talk.redact(result)
    told = sent(talk, api)
    assert "Ada.pdf" not in told
    assert "image/png" not in told


def test_redacting_a_document_in_a_fork_leaves_its_origin_as_it_was(talk: onrecord.Talk) -> None:
    before = sent(talk, "anthropic-messages")
    fork = talk.fork("support/4711/otherwise")
    fork.tool_result("call_2", {"map": PNG})
    fork.redact(versions(fork, "document.extracted")[0])
    assert sent(talk, "anthropic-messages") == before
