"""What an item of a framework says in sum, for views that show a conversation at a glance."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from onrecord.domain.content import Document, ServerToolCall, Text, ToolCall
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.api import neutral_of, parts_of
from onrecord.projections.frameworks.item_messages import ItemContents
from onrecord.projections.frameworks.registry import framework_of


@dataclass(slots=True)
class ItemSummary:
    """What an item says: texts by who says them, and how many documents and calls it holds.

    A speaker who shows documents alone has no words. Results of calls are said by nobody.
    """

    texts: Mapping[str, str] = field(default_factory=dict[str, str])
    documents: int = 0
    tool_calls: int = 0
    server_tool_calls: int = 0


def item_summary(members: JsonObject) -> ItemSummary:
    """Return what an item says; `members` are those of its event.

    Nothing where nothing is known of it, or where it is kept beside its stream.
    """
    contents = framework_of(members["framework"]).read_item(members["item"])
    return ItemSummary() if contents is None or "beside" in members else _summed(contents)


def _summed(contents: ItemContents) -> ItemSummary:
    summary = ItemSummary()
    texts: dict[str, list[str]] = defaultdict(list)
    for value in contents.blocks:
        read = neutral_of(contents.api, value)
        speaker = contents.speaker_of(value)
        match read:
            case ToolCall():
                summary.tool_calls += 1
            case ServerToolCall():
                summary.server_tool_calls += 1
            case Text() | Document():
                parts = parts_of(contents.api, value) or (read,)
                texts[speaker] += [part.text for part in parts if isinstance(part, Text)]
                summary.documents += sum(isinstance(part, Document) for part in parts)
            case _:
                pass
    summary.texts = {speaker: "\n\n".join(filter(None, said)) for speaker, said in texts.items()}
    return summary
