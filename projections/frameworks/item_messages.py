"""Messages that items of a framework hold, and items that hold none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from onrecord.domain.jsontext import JsonObject


class ItemMessage(NamedTuple):
    """A message, as it stands in a request of its API.

    `versions` are those of the items that hold it: one, or one for each block of its content.
    `answer_ids` are the ids of the provider's answer that it is, as far as its items name them beside
    its `value`.
    """

    versions: tuple[int, ...]
    value: JsonObject
    answer_ids: tuple[str, ...] = ()

    def version_of(self, block: int) -> int:
        """Return the version of the item that holds a block, by its number from 0."""
        return self.versions[min(block, len(self.versions) - 1)]


Speaker: TypeAlias = Literal["user", "assistant", "system", "tool"]
"""Who says what an item holds."""


def ids_among(*values: object) -> tuple[str, ...]:
    """Return those values that can be ids: texts that are not empty."""
    return tuple(dict.fromkeys(value for value in values if isinstance(value, str) and value))


class ItemContents(NamedTuple):
    """What one item holds, whatever became of it: blocks in the JSON of an API, and who says them."""

    api: str
    speaker: Speaker
    blocks: tuple[JsonObject, ...]

    def speaker_of(self, block: JsonObject) -> Speaker:
        """Return who says a block: a message names its own speaker, where an item holds several."""
        match block.get("role"):
            case "user":
                return "user"
            case "assistant":
                return "assistant"
            case "system" | "developer":
                return "system"
            case _:
                return self.speaker


class Unread(NamedTuple):
    """An item of which nothing goes into a request, and why; never what it says."""

    version: int
    why: str


@dataclass(frozen=True, slots=True)
class Reading:
    """What the items of a stream say, in order, in the JSON of an API."""

    api: str
    messages: tuple[ItemMessage, ...]
    unread: tuple[Unread, ...] = ()
