"""The APIs that Onrecord speaks: one line each, naming the two modules that speak it.

`projections/requests/MODULE.py` holds `API`, how its JSON is read and its requests are made;
`adapters/capture/MODULE.py` holds `WIRE`, how its wire is read. `projections/referee/MODULE.py`, if
there is one, holds the `RULES` by which its provider refuses requests. They are imported when they
are first asked for: what they are made of asks for them in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, cast

from onrecord.domain.content import Block, Document, ServerToolResult, Text
from onrecord.domain.errors import UnknownApi
from onrecord.domain.events import Unfinished
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.tools import ToolDefinition

if TYPE_CHECKING:
    from onrecord.projections.history import History
    from onrecord.projections.requests.request import Options, Request

MODULES: Final = {
    "anthropic-messages": "anthropic_messages",
    "openai-chat": "openai_chat",
    "openai-responses": "openai_responses",
    "gemini": "gemini",
    "ollama": "ollama",
    "bedrock-converse": "bedrock_converse",
}
"""Name of an API to that of its modules."""


Replay: TypeAlias = Literal["verbatim", "once", "record"]
"""How a block that a provider gave goes back to it: as it came; so, but once an id; not at all."""


@dataclass(frozen=True, slots=True)
class Reader:
    """What reads an API's JSON: a block's, that of instructions, that of a tool's definition.

    Each takes the value of a `Native`, whole: strings that were moved to blobs are back in their
    place. A block that says nothing to other APIs is Opaque, instructions without text are empty, a
    tool that the provider itself runs is None. What not every API has may be absent:

    `outcome` returns the result that the block of a call of the provider's own tool holds as well.
    `parts` returns what a block holds that is a whole message of the user's.
    `failed` tells whether a result says by itself that it failed, where no flag is recorded with
    it; strings of it may be in blobs.
    `partial` returns the block of text that stays of a block that did not arrive whole, or None.
    `replay` tells how a block of an answer goes back, where that is not always verbatim.
    """

    block: Callable[[JsonObject], Block]
    instructions: Callable[[JsonObject], str]
    tool: Callable[[JsonObject], ToolDefinition | None]
    outcome: Callable[[JsonObject], ServerToolResult | None] | None = None
    parts: Callable[[JsonObject], tuple[Text | Document, ...]] | None = None
    failed: Callable[[JsonObject], bool] | None = None
    partial: Callable[[Unfinished], JsonObject | None] | None = None
    replay: Callable[[JsonObject], Replay] | None = None


@dataclass(frozen=True, slots=True)
class Api:
    """An API: how its JSON is read, and how its requests are made.

    `messages` is the member of a request that holds what was said. `render` returns the request
    that a history makes; it reads the blobs of `needed_blobs`, by digest.
    """

    name: str
    messages: str
    reader: Reader
    render: Callable[[History, Options, Mapping[str, bytes]], Request]


def api_of(name: str) -> Api | None:
    """Return an API by its name; None for one that Onrecord does not speak."""
    return _spoken(MODULES[name]) if name in MODULES else None


def known_api(name: str) -> Api:
    """Return an API by the name that a caller gave it; UnknownApi, with the known names, if none."""
    found = api_of(name)
    if found is None:
        raise UnknownApi(f"{name!r} is no API that Onrecord speaks: choose one of {names()}")
    return found


def names() -> str:
    """Return the names of all APIs, for a message."""
    return ", ".join(MODULES)


@cache
def _spoken(module: str) -> Api:
    return cast("Api", import_module(f"onrecord.projections.requests.{module}").API)
