"""What a process engine is given to start an element of an ad-hoc sub-process as a tool call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from onrecord.domain.jsontext import JsonObject


@dataclass(frozen=True, slots=True)
class Activation:
    """Which element is to start, for which call, with which arguments."""

    id: str
    element: str
    arguments: Mapping[str, Any]

    def variable(self) -> JsonObject:
        """Return the variable `toolCall` of the element: its arguments, beside the call as `_meta`.

        So no parameter can have that name: schema.py refuses it. A model that gives one all the same
        does not replace it.
        """
        return {"_meta": {"id": self.id, "name": self.element}} | {
            name: value for name, value in self.arguments.items() if name != "_meta"
        }
