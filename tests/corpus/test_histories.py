"""Recorded requests, imported as the histories that they are: once, and with every block in place."""

from collections.abc import Iterator
from functools import partial
from typing import Any, cast

import pytest

import onrecord
from onrecord.adapters.histories.foreign_history import History
from onrecord.adapters.histories.intake import take_in
from onrecord.adapters.histories.json_files import transcribe
from onrecord.adapters.store import Store
from onrecord.adapters.wire.wires import WIRES
from onrecord.domain import jsontext
from onrecord.domain.blobs import referenced, restore
from onrecord.domain.content import Native, Text
from onrecord.domain.events import InstructionsSet, ToolsDeclared
from tests.corpus import openai_chat_wire, openai_responses_wire, wire
from tests.corpus.wire import MISSING, JsonObject, is_there

pytestmark = pytest.mark.skipif(not is_there(), reason=MISSING)


def files() -> list[str]:
    every = (wire.files(), openai_chat_wire.files(), openai_responses_wire.files())
    return sorted({name for several in every for name in several if name.endswith(".json")})


def requests(name: str) -> Iterator[tuple[str, JsonObject]]:
    """The requests of a file that hold a history, each with its API."""
    if name in wire.files():
        asked = [it.request for it in wire.exchanges(name)]
        yield from (("anthropic-messages", it) for it in asked if it and it.get("messages"))
    if name in openai_chat_wire.files():
        asked = [it.request for it in openai_chat_wire.exchanges(name)]
        yield from (("openai-chat", it) for it in asked if it and it.get("messages"))
    if name in openai_responses_wire.files():
        asked = [it.request for it in openai_responses_wire.calls(name)]
        yield from (("openai-responses", it) for it in asked if it and it.get("input"))


def blocks_of(store: Store) -> Iterator[Any]:
    """What was said in the imported conversation, moved strings back in their place."""
    chat = store.conversation("kept")
    for recorded in chat.log.read():
        event = recorded.event()
        content: object = getattr(event, "content", ())
        if isinstance(event, InstructionsSet | ToolsDeclared):
            continue
        several = cast("tuple[object, ...]", content) if isinstance(content, tuple) else (content,)
        for block in several:
            match block:
                case Text(text=text):
                    yield text
                case Native(value=value):
                    blobs = {it.sha256: chat.blob(it) for it in referenced(value)}
                    yield restore(value, blobs)
                case _:
                    raise AssertionError(block)


@pytest.mark.parametrize("name", files() if is_there() else [])
def test_each_recorded_request_is_a_history_that_is_there_once(name: str) -> None:
    for api, request in requests(name):
        store = onrecord.connect("memory://")
        history = History(name, None, partial(transcribe, api, request))
        first, again = take_in(store, history, "kept"), take_in(store, history, "kept")
        assert (first.outcome, again.outcome) == ("recorded", "unchanged"), first.why
        said = [it.block for it in WIRES[api].read_request(jsontext.write(request)).pieces]
        kept = list(blocks_of(store))
        assert len(kept) == len(said)
        for one, other in zip(kept, said, strict=True):
            assert one in (other, other.get("text"))
