"""Items of the OpenAI Agents SDK: input items of the Responses API, and what the SDK adds to them.

The SDK gives the items of models that do not speak that API an id that stands for none, and keeps in
`provider_data` which model made an item. It sends neither to OpenAI.
"""

from __future__ import annotations

from typing import Final

from onrecord.domain.jsontext import JsonObject
from onrecord.projections.frameworks.framework import Framework, StreamItems
from onrecord.projections.frameworks.item_messages import (
    ItemContents,
    ItemMessage,
    Reading,
    Unread,
    ids_among,
)

API: Final = "openai-responses"

_OF_THE_SDK: Final = "provider_data"


def read_items(stream: StreamItems) -> Reading:
    """Return the items as they stand in a request."""
    messages: list[ItemMessage] = []
    unread: list[Unread] = []
    for item in stream.items:
        if why := _why_unread(item.item):
            unread.append(Unread(item.version, why))
        else:
            messages.append(ItemMessage((item.version,), _sent(item.item), _answer_ids(item.item)))
    return Reading(API, tuple(messages), tuple(unread))


def read_item(item: JsonObject) -> ItemContents | None:
    """Return what one item holds."""
    match item:
        case {"type": str(kind)} if kind.endswith("_output"):
            return ItemContents(API, "tool", (item,))
        case {"role": "system" | "developer"}:
            return ItemContents(API, "system", (item,))
        case {"role": "user"}:
            return ItemContents(API, "user", (item,))
        case {"role": str()} | {"type": str()}:
            return ItemContents(API, "assistant", (item,))
        case _:
            return None


def _why_unread(item: JsonObject) -> str | None:
    match item:
        case {"type": "reasoning", "id": "__fake_id__"}:
            return "reasoning of a model that does not speak the Responses API"
        case {"role": str()} | {"type": str()}:
            return None
        case _:
            return "an item that says neither its role nor its type"


def _answer_ids(item: JsonObject) -> tuple[str, ...]:
    """Return the id of the answer that an item is of; one of the Responses API has an id of its own."""
    match item:
        case {"provider_data": {"response_id": answer}}:
            return ids_among(answer)
        case _:
            return ()


def _sent(item: JsonObject) -> JsonObject:
    """Return an item as the API takes it.

    It knows an answer by its id. One that has none goes as a message that a program wrote.
    """
    match item:
        case {"type": "message", "id": "__fake_id__", "role": "assistant", "content": [*parts]}:
            return {"role": "assistant", "content": "".join(map(_text, parts))}
        case {"id": "__fake_id__"}:
            left_out = {"id", _OF_THE_SDK}
        case _:
            left_out = {_OF_THE_SDK}
    return {name: value for name, value in item.items() if name not in left_out}


def _text(part: object) -> str:
    match part:
        case {"text": str(text)} | {"refusal": str(text)}:
            return text
        case _:
            return ""


OPENAI_AGENTS: Final = Framework(
    name="openai-agents",
    read_items=read_items,
    read_item=read_item,
)
