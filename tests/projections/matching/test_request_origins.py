"""Origins of pieces: those of a stretch are the same as a search of the whole request finds."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import onrecord
from onrecord.adapters.conversation.history_queries import request_content
from onrecord.domain.events import ResponseCompleted
from onrecord.projections.api import known_api
from onrecord.projections.matching.message_pieces import message_pieces
from onrecord.projections.matching.request_origins import origins
from tests.factories import native_answer, tool_call, tool_result

ANTHROPIC = "anthropic-messages"
APIS = (
    *(ANTHROPIC, "openai-chat", "openai-responses"),
    *("gemini", "bedrock-converse", "ollama"),
)
SAYINGS = ("Where is my parcel, please?", "Thank you.", "It is in Ghent.", "Go on.")

exchanges = st.lists(
    st.tuples(
        st.sampled_from(SAYINGS),
        st.booleans(),
        st.lists(st.sampled_from(SAYINGS), max_size=3),
    ),
    min_size=1,
    max_size=8,
)
"""What was said in each exchange: a prompt, whether it has a number of its own, results of calls."""


@pytest.mark.parametrize("api", APIS)
@settings(max_examples=15, deadline=None)
@given(said=exchanges, data=st.data())
def test_a_stretch_has_the_origins_that_the_whole_search_finds(
    api: str, said: list[tuple[str, bool, list[str]]], data: st.DataObject
) -> None:
    with onrecord.connect("memory://") as store:
        chat = store.conversation("support/4711")
        for number, (prompt, is_numbered, results) in enumerate(said):
            mark = f" (number {number})" if is_numbered else ""
            chat.user(prompt + mark)
            response = UUID(int=number + 1)
            calls = [tool_call(f"call {number} {at}") for at in range(len(results))]
            answer = native_answer(response, f"Let me look at it{mark}")
            completed = ResponseCompleted(response=response, api=ANTHROPIC, envelope={})
            chat.log.append(answer, *calls, completed)
            for at, result in enumerate(results):
                chat.log.append(tool_result(f"call {number} {at}", result))
        made, content = request_content(chat, None, api, None)
    pieces = list(message_pieces(made.body[known_api(api).messages]))
    whole = origins(pieces, content.history)
    first = data.draw(st.integers(0, len(pieces) - 1))
    last = data.draw(st.integers(first + 1, len(pieces)))
    assert origins(pieces, content.history, first, last) == whole[first:last]
