"""An A2A agent as a tool: what its card says, told to any model; nothing is asked of it.

The tool's name, description and arguments are those that Camunda's agents give remote agents, so a
model that knows one knows the other. Cards are of protocol 1.x or 0.3: both have a name and a
version, and the rest is told as it is.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any, Final, cast

from onrecord.adapters.conversation.arguments import kind_of, text_given
from onrecord.adapters.tools.plain_json import plain
from onrecord.adapters.tools.toolset import Toolset
from onrecord.domain import jsontext
from onrecord.domain.errors import InvalidContent
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.tools import ToolDefinition, ToolSource

PREFIX: Final = "A2A_"

_ABOUT: Final = (
    "This tool allows interaction with the remote A2A agent represented by the following agent "
    "card:\n"
)
_UNFIT: Final = re.compile(r"[^a-zA-Z0-9_-]+")


def _message_schema() -> JsonObject:
    """Return the JSON Schema of a message to an agent; made anew, as schemas are plain dicts."""
    return {
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": "What to say to the agent."},
            "taskId": {
                "type": "string",
                "description": "The task that the message is about, if the agent began one.",
            },
            "contextId": {
                "type": "string",
                "description": "The context that the agent gave before, to go on in it.",
            },
            "referenceTaskIds": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Other tasks that the agent may need to know of.",
            },
        },
        "required": ["text"],
    }


def agent_card(card: object, *, element: str | None = None) -> Toolset:
    """Return the one tool that an A2A agent is: to say something to it.

    `card` is an `AgentCard` of the `a2a-sdk`, or its JSON. The tool is named `A2A_<element>`; by
    default the element is the agent's own name, spelled as tools are. The source's digest is that
    of the canonical JSON of the card. InvalidContent for what is no card of an agent with a name.
    """
    told = _card(card)
    name = a2a_name(_spelled(told["name"]) if element is None else element)
    tool = ToolDefinition(
        name=name,
        description=_ABOUT + jsontext.write(told).decode(),
        input_schema=_message_schema(),
    )
    version: Any = told.get("version")
    source = ToolSource(
        origin="a2a",
        name=told["name"],
        version=version if isinstance(version, str) and version else None,
        sha256=hashlib.sha256(jsontext.write_canonical(told)).hexdigest(),
        tools=(name,),
    )
    return Toolset((tool,), source)


def a2a_name(element: str) -> str:
    """Return the name of the tool that stands for an agent; InvalidContent for a blank element."""
    if not text_given("an element", element).strip():
        raise InvalidContent("an agent's tool needs a name: give `element=` one")
    return f"{PREFIX}{element}"


def parse_a2a_name(name: str) -> str:
    """Return the element that a tool's name stands for; InvalidContent where it stands for none."""
    if len(name) <= len(PREFIX) or not name.startswith(PREFIX):
        raise InvalidContent(f"Invalid A2A tool call name: '{name}'")
    return name.removeprefix(PREFIX)


def _card(given: object) -> JsonObject:
    held = plain(given)
    if not isinstance(held, dict):
        raise InvalidContent(f"an agent's card is an AgentCard or its JSON, not {kind_of(given)}")
    card = cast("JsonObject", held)
    name: Any = card.get("name")
    if not isinstance(name, str) or not name.strip():
        raise InvalidContent("an agent's card has a `name`: this one has none")
    return card


def _spelled(name: str) -> str:
    return _UNFIT.sub("_", name).strip("_") or "agent"
