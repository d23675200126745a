"""A conversation on a parcel, of each kind of block, for tests of what the model saw."""

from __future__ import annotations

from uuid import UUID, uuid4

import onrecord
from onrecord import Conversation, Store
from onrecord.adapters.page.requests.block_views import PieceView
from onrecord.adapters.page.requests.request_view import RequestView
from onrecord.domain.content import Native
from onrecord.domain.events import Event, ServerToolCallRecorded, ServerToolResultRecorded
from tests.factories import native_answer, tool_call, tool_result

ANTHROPIC = "anthropic-messages"
PDF = b"%PDF-1.7\n%a report of parcels\n%%EOF\n"


def parcel_chat(store: Store) -> Conversation:
    """Return one of a prompt (2), a text, a call and its result (3, 4, 6), a search (8 to 10), a PDF (12)."""
    chat = store.conversation("support/4711")
    chat.user("Where is my parcel?")
    response = uuid4()
    answer(chat, response, tool_call("bad id!", "find parcel"))
    chat.log.append(tool_result("bad id!", "It is in Ghent."))
    chat.user("How is the weather there?")
    response = uuid4()
    answer(chat, response, *_searched(response))
    chat.user("Read this.", documents=[PDF])
    return chat


def answer(chat: Conversation, response: UUID, *events: Event) -> None:
    """Record an answer, with what else came in it."""
    said = native_answer(response, "Let me look at that.")
    chat.log.append(
        said, *events, onrecord.ResponseCompleted(response=response, api=ANTHROPIC, envelope={})
    )


def _searched(response: UUID) -> tuple[Event, Event]:
    call = {
        "type": "server_tool_use",
        "id": "srvtoolu_1",
        "name": "web_search",
        "input": {"query": "weather in Ghent"},
    }
    hit = {
        "type": "web_search_result",
        "url": "https://weather.example/ghent",
        "title": "Ghent: rain all day",
        "encrypted_content": "eHg=",
    }
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [hit]}
    return (
        ServerToolCallRecorded(
            response=response,
            index=1,
            call_id="srvtoolu_1",
            name="web_search",
            content=Native(api=ANTHROPIC, value=call),
        ),
        ServerToolResultRecorded(
            response=response,
            index=2,
            call_id="srvtoolu_1",
            content=Native(api=ANTHROPIC, value=found),
        ),
    )


def pieces_of(view: RequestView) -> list[PieceView]:
    """Return the blocks of a request."""
    return [piece for message in view.blocks.messages for piece in message.pieces]
