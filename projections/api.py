"""What an API is, the six that Onrecord speaks, and what their JSON says in neutral form.

The folder `projections/apis/FOLDER/` holds all that is known of an API, pure: `render.py` its `API`,
how its JSON is read and its requests are made; `rules.py`, if there is one, the `RULES` by which its
provider refuses requests. `adapters/wire/FOLDER/wire.py` holds `WIRE`, how its wire is read. They are
imported when they are first asked for: what they are made of asks for them in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast

from onrecord.domain.content import Block, Document, Native, Opaque, ServerToolResult, Text
from onrecord.domain.errors import UnknownApi
from onrecord.domain.events import Unfinished
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.tools import ToolDefinition

if TYPE_CHECKING:
    from onrecord.projections.apis.request import Options, Request
    from onrecord.projections.apis.rules import Rule
    from onrecord.projections.history.history import History


FOLDERS: Final = {
    "anthropic-messages": "anthropic",
    "openai-chat": "openai_chat",
    "openai-responses": "openai_responses",
    "gemini": "gemini",
    "ollama": "ollama",
    "bedrock-converse": "bedrock",
}
"""Name of an API to that of its folders."""

_APIS: Final = "onrecord.projections.apis"


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
    return _spoken(FOLDERS[name]) if name in FOLDERS else None


def known_api(name: str) -> Api:
    """Return an API by the name that a caller gave it; UnknownApi, with the known names, if none."""
    found = api_of(name)
    if found is None:
        raise UnknownApi(f"{name!r} is no API that Onrecord speaks: choose one of {names()}")
    return found


def names() -> str:
    """Return the names of all APIs, for a message."""
    return ", ".join(FOLDERS)


@cache
def known_rules() -> Mapping[str, tuple[Rule, ...]]:
    """Return the rules of each API whose requests can be checked, in the order they are told."""
    found = ((name, _rules(folder)) for name, folder in FOLDERS.items())
    return {name: rules for name, rules in found if rules is not None}


@cache
def _spoken(folder: str) -> Api:
    return cast("Api", import_module(f"{_APIS}.{folder}.render").API)


def _rules(folder: str) -> tuple[Rule, ...] | None:
    name = f"{_APIS}.{folder}.rules"
    return cast("tuple[Rule, ...]", import_module(name).RULES) if find_spec(name) else None


# What another API's JSON says: blocks, instructions and tools in neutral form, a reader an API.


def neutral_of(api: str, value: JsonObject) -> Block:
    """Return an API's block in neutral form; Opaque where that says nothing to other APIs.

    A block of an API that has no reader is opaque.
    """
    reader = _reader(api)
    if reader is not None:
        return reader.block(value)
    kind: Any = value.get("type")
    return Opaque(api=api, type=kind if isinstance(kind, str) else "")


def outcome_of(api: str, value: JsonObject) -> ServerToolResult | None:
    """Return what a provider's own tool gave, if the block of its call holds that as well."""
    reader = _reader(api)
    return reader.outcome(value) if reader and reader.outcome else None


def replay_of(api: str, value: JsonObject) -> Replay:
    """Return how a block of an answer goes back to the API that gave it; most go verbatim."""
    reader = _reader(api)
    return reader.replay(value) if reader and reader.replay else "verbatim"


def parts_of(api: str, value: JsonObject) -> tuple[Text | Document, ...]:
    """Return what a message of the user's holds, none for a block that is no such message."""
    reader = _reader(api)
    return reader.parts(value) if reader and reader.parts else ()


def instructions_of(native: Native) -> str:
    """Return the text of an API's instructions; empty where nothing of them can be told."""
    reader = _reader(native.api)
    return reader.instructions(native.value) if reader else ""


def tool_of(native: Native) -> ToolDefinition | None:
    """Return the neutral definition of a tool; None for one that only its provider knows."""
    reader = _reader(native.api)
    return reader.tool(native.value) if reader else None


def says_it_failed(api: str, value: JsonObject) -> bool:
    """Return whether a result of an API says by itself that it failed; its strings may be in blobs."""
    reader = _reader(api)
    return bool(reader and reader.failed and reader.failed(value))


def _reader(api: str) -> Reader | None:
    found = api_of(api)
    return found.reader if found else None
