"""Rows of messages and calls in the JSON of each API."""

from typing import Any
from uuid import UUID

import pytest

from onrecord.domain import events
from onrecord.domain.content import Native
from tests.projections.history.test_timeline import rows

RESPONSE = UUID("01932f1e-5d00-7000-8000-0000000000aa")


@pytest.mark.parametrize(
    ("api", "value", "text"),
    [
        ("openai-chat", {"role": "assistant", "content": "Hi"}, "Hi"),
        ("openai-chat", {"role": "assistant", "content": None, "refusal": "No."}, "No."),
        (
            "openai-chat",
            {"role": "assistant", "content": {"$onrecord.blob": "00", "size": 70_000}},
            "70,000 bytes, held apart",
        ),
        (
            "openai-responses",
            {"type": "message", "content": [{"type": "output_text", "text": "Hi"}]},
            "Hi",
        ),
    ],
)
def test_a_message_of_any_api_is_told_by_its_text(
    api: str, value: dict[str, Any], text: str
) -> None:
    event = events.MessageRecorded(role="assistant", content=(Native(api=api, value=value),))
    (row,) = rows(event)
    assert (row.kind, row.text) == ("text", text)


@pytest.mark.parametrize(
    ("api", "value"),
    [
        ("openai-chat", {"type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}),
        ("openai-responses", {"type": "function_call", "name": "f", "arguments": '{"a":1}'}),
    ],
)
def test_a_call_of_any_api_is_told_by_its_arguments(api: str, value: dict[str, Any]) -> None:
    called = events.ToolCallRecorded(
        response=RESPONSE,
        index=0,
        call_id="call_1",
        name="f",
        content=Native(api=api, value={**value, "id": "call_1", "call_id": "call_1"}),
    )
    (row,) = rows(called)
    assert row.text == 'f {"a":1}'
