"""Blocks that no provider documents: whatever stands in one, there is a request."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from onrecord.domain import events
from onrecord.domain.content import Native
from onrecord.domain.events import Event
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.openai_chat.read import NAME as CHAT
from onrecord.projections.apis.openai_responses.read import NAME as RESPONSES
from onrecord.projections.apis.request import APIS, Options
from tests.projections.apis.openai_responses import responses_happenings as responses
from tests.projections.happenings import API as ANTHROPIC
from tests.projections.happenings import Story, search_result, server_tool_use

ODD: list[Any] = [["a"], {"a": []}, 1, None]
BLOCKS: list[tuple[str, JsonObject, str]] = [
    *((ANTHROPIC, server_tool_use("srvtoolu_1"), member) for member in ("type", "id")),
    *((ANTHROPIC, search_result("srvtoolu_1"), member) for member in ("type", "tool_use_id")),
    *((CHAT, {"role": "user", "content": "hi"}, member) for member in ("role", "content")),
    *((RESPONSES, responses.search(), member) for member in ("type", "id")),
    (RESPONSES, {"type": "program", "call_id": "call_1", "code": "x"}, "call_id"),
    (RESPONSES, {"type": "program_output", "call_id": "call_1"}, "call_id"),
    (RESPONSES, responses.call(caller={"caller_id": "x"}), "caller"),
    (RESPONSES, {"type": "item_reference", "id": "rs_1"}, "id"),
]


def told(block: Native, speaker: str) -> Event:
    if speaker == "user":
        return events.MessageRecorded(role="user", content=(block,))
    return events.OpaqueRecorded(response=UUID(int=1), index=0, type="odd", content=block)


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("speaker", ["user", "assistant"])
@pytest.mark.parametrize("of", BLOCKS)
@pytest.mark.parametrize("held", ODD)
def test_a_member_that_is_no_word_breaks_no_request(
    of: tuple[str, JsonObject, str], held: Any, speaker: str, api: str
) -> None:
    by, value, member = of
    story = Story()
    story.user("hi")
    story.happen(told(Native(api=by, value={**value, member: held}), speaker))
    story.happen(told(Native(api=by, value=value), speaker))
    story.user("go on")
    options = Options(api=api, cache=True, account="someone")
    assert story.request(options) == story.request(options)


@pytest.mark.parametrize("api", APIS)
def test_instructions_that_are_no_messages_break_no_request(api: str) -> None:
    story = Story()
    value = {"messages": ["be kind", None, {"role": "system", "content": "be brief"}]}
    story.happen(events.InstructionsSet(content=Native(api=CHAT, value=value)))
    story.user("hi")
    assert "be brief" in str(dict(story.request(Options(api=api))))
