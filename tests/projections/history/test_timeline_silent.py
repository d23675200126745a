"""Answers of neither text nor calls: a timeline says so."""

from typing import Any
from uuid import UUID

import pytest

from onrecord.domain import events
from onrecord.domain.content import Native, ToolCall
from onrecord.domain.events import Event
from onrecord.projections.history.timeline import timeline
from tests.projections.history.test_timeline import (
    RESPONSE,
    TEMPLATE,
    native,
    recorded,
    rows,
    told,
)


def without_text(response: UUID | None, **value: Any) -> events.MessageRecorded:
    message = {"role": "assistant", "content": None, **value}
    content = (Native(api="openai-chat", value=message),)
    return events.MessageRecorded(role="assistant", content=content, response=response, index=0)


def test_a_message_without_text_has_no_row_where_its_response_has_one() -> None:
    assert rows(without_text(RESPONSE)) == []
    assert told(without_text(None)) == [("assistant", "text", "no text")]


THOUGHT = events.ReasoningRecorded(
    response=RESPONSE, index=0, content=native(type="thinking", thinking="Hm", signature="s")
)
CALL = events.ToolCallRecorded(
    response=RESPONSE, call_id="c1", name="t", content=ToolCall(id="c1", name="t", arguments={})
)


@pytest.mark.parametrize(
    ("held", "text"),
    [
        ((), "stop, m: neither text nor calls"),
        ((without_text(RESPONSE),), "stop, m: neither text nor calls"),
        ((THOUGHT, without_text(RESPONSE)), "stop, m: neither text nor calls"),
        ((without_text(RESPONSE), CALL), "stop, m"),
        ((without_text(RESPONSE, content="Yes"),), "stop, m"),
    ],
)
def test_a_response_of_neither_text_nor_calls_says_so(held: tuple[Event, ...], text: str) -> None:
    request = recorded(
        events.RequestSent(api="openai-chat", endpoint="/v1", model="m", template=TEMPLATE)
    )
    ended = events.ResponseCompleted(
        response=RESPONSE,
        request=request.event_id,
        api="openai-chat",
        stop_reason="stop",
        envelope={},
    )
    later = [recorded(event, version) for version, event in enumerate((*held, ended), 2)]
    *_, last = timeline([request, *later])
    assert (last.kind, last.text) == ("response", text)
    *_, alone = timeline(later)  # Of a response whose request was not seen, nothing is said.
    assert not alone.text.endswith("calls")
