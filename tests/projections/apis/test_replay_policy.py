"""How a block of an answer goes back to the API that gave it."""

from __future__ import annotations

import pytest
from uuid_utils.compat import uuid7

import onrecord
from onrecord.adapters.wire.answer import Answer
from onrecord.adapters.wire.blocks import AnswerBlock
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.api import Replay, replay_of
from tests.sent import events_of

POLICIES: list[tuple[str, JsonObject, Replay]] = [
    ("anthropic-messages", {"type": "text", "text": "x"}, "verbatim"),
    ("anthropic-messages", {"type": "server_tool_use", "id": "s"}, "verbatim"),
    ("anthropic-messages", {"type": "redacted_thinking", "data": "x"}, "verbatim"),
    ("anthropic-messages", {"type": "of_next_year"}, "verbatim"),
    ("anthropic-messages", {"type": "container_upload", "file_id": "f"}, "record"),
    ("openai-chat", {"role": "assistant", "content": "x"}, "verbatim"),
    ("openai-responses", {"type": "reasoning", "id": "rs_1", "summary": []}, "once"),
    ("openai-responses", {"type": "web_search_call", "id": "ws_1"}, "once"),
    ("openai-responses", {"type": "reasoning", "encrypted_content": "x"}, "verbatim"),
    ("gemini", {"executableCode": {"code": "x"}}, "verbatim"),
    ("gemini", {"groundingMetadata": {}}, "record"),
    ("gemini", {"urlContextMetadata": {}}, "record"),
    ("an API of next year", {"type": "text"}, "verbatim"),
]


@pytest.mark.parametrize(("api", "value", "policy"), POLICIES)
def test_each_block_has_a_policy(api: str, value: JsonObject, policy: Replay) -> None:
    assert replay_of(api, value) == policy


def told(*items: JsonObject) -> onrecord.Conversation:
    chat = onrecord.connect("memory://").conversation("talk")
    chat.user("Think.")
    for number in range(2):
        blocks = tuple(AnswerBlock(index, value) for index, value in enumerate(items))
        envelope = {"id": f"resp_{number}", "store": True, "model": "gpt-5"}
        answer = Answer(api="openai-responses", envelope=envelope, blocks=blocks)
        chat.log.append(*events_of(answer, response=uuid7())[0])
        chat.user("On.")
    return chat


def test_reasoning_with_two_summaries_goes_back_once() -> None:
    thought = {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [
            {"type": "summary_text", "text": "First."},
            {"type": "summary_text", "text": "Then."},
        ],
    }
    said: JsonObject = {"type": "message", "id": "msg_1", "role": "assistant", "content": []}
    sent = told(thought, said).request("openai-responses", model="gpt-5")["input"]
    assert [item for item in sent if item.get("type") == "reasoning"] == [thought]
