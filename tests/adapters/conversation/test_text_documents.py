"""Files and bytes of text: a model reads them, whatever their name is."""

from __future__ import annotations

from pathlib import Path

import pytest

import onrecord
from tests.adapters.found_results import call

TEXT = b"hello plain text"


@pytest.fixture
def chat() -> onrecord.Conversation:
    return onrecord.connect("memory://").conversation("support/4711")


@pytest.mark.parametrize("name", ["README", "flow.yaml", "parcels.bpmn", "prices.toml", "a.ts"])
def test_a_file_of_text_reaches_the_model_whatever_its_name_is(
    chat: onrecord.Conversation, tmp_path: Path, name: str
) -> None:
    (tmp_path / name).write_bytes(TEXT)
    chat.user("Read:", tmp_path / name)
    assert TEXT.decode() in str(chat.request("anthropic-messages").body)
    assert TEXT.decode() in str(chat.request("openai-chat").body)


@pytest.mark.parametrize("given", [TEXT, bytearray(TEXT), memoryview(TEXT)])
def test_bytes_of_text_in_a_result_reach_the_model(
    chat: onrecord.Conversation, given: object
) -> None:
    call(chat)
    chat.tool_result("call_1", {"note": given})
    [entry] = chat.documents()
    assert entry.document.media_type == "text/plain"
    assert TEXT.decode() in str(chat.request("openai-chat").body)


def test_the_whole_file_tells_whether_it_is_text(
    chat: onrecord.Conversation, tmp_path: Path
) -> None:
    file = tmp_path / "core"
    file.write_bytes(b"a" * 3_000_000 + b"\0")
    chat.user("Read:", file)
    [entry] = chat.documents()
    assert entry.document.media_type == "application/octet-stream"
