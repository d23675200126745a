"""What an API is, where APIs are found, and what their JSON says in neutral form.

Six are built in. The folder `projections/apis/FOLDER/` holds all that is known of one, pure:
`render.py` its `API`, how its JSON is read and its requests are made; `rules.py` the `RULES` by
which its provider refuses requests. `wire.py` in `adapters/wire/FOLDER/` holds `WIRE`, how its wire is
read. They are imported when they are first asked for: what they are made of asks for them in turn.

Others come from installed packages, each an entry point of the group `onrecord.apis`, whose name is
that of the API and whose value is its `Api`. docs/adding-a-provider.md makes such a package.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias, TypeVar, cast

from onrecord.domain.content import Document, Native, NeutralBlock, Opaque, ServerToolResult, Text
from onrecord.domain.errors import InvalidProvider, UnknownApi
from onrecord.domain.events import Unfinished
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.tools import BuiltinTool, ToolDefinition

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

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
"""The APIs that are built in: the name of each to that of its folders."""

GROUP: Final = "onrecord.apis"
"""The entry points by which installed packages add APIs."""

FoundT = TypeVar("FoundT")

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

    block: Callable[[JsonObject], NeutralBlock]
    instructions: Callable[[JsonObject], str]
    tool: Callable[[JsonObject], ToolDefinition | None]
    outcome: Callable[[JsonObject], ServerToolResult | None] | None = None
    parts: Callable[[JsonObject], tuple[Text | Document, ...]] | None = None
    failed: Callable[[JsonObject], bool] | None = None
    partial: Callable[[Unfinished], JsonObject | None] | None = None
    replay: Callable[[JsonObject], Replay] | None = None


Path: TypeAlias = tuple[str, ...]


class UsagePlaces(NamedTuple):
    """Where the envelope of an answer has counts of tokens: paths, of which the first found holds.

    For example `UsagePlaces(cached=(("usage", "cache_read_input_tokens"),))`.
    """

    cached: tuple[Path, ...] = ()
    cache_writes: tuple[Path, ...] = ()
    reasoning: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Api:
    """An API: how its JSON is read, and how its requests are made.

    `messages` is the member of a request that holds what was said. `render` returns the request
    that a history makes; it reads the blobs of `needed_blobs`, by digest. `usage` tells where an
    answer counts tokens besides those read and written. `has_call_ids` is False where the wire may
    have calls without an id.

    What a package of one's own adds to this, and the six have elsewhere: `wire` and `rules` name
    the API's `Wire` and its rules as `package.module:NAME`; each is imported when it is first needed.
    Without them its wire is not read, its requests are not checked. `capabilities` is what its
    models take, as a table of capabilities.toml. `builtin_tools` spells tools that the provider runs.
    """

    name: str
    messages: str
    reader: Reader
    render: Callable[[History, Options, Mapping[str, bytes]], Request]
    usage: UsagePlaces = field(default_factory=UsagePlaces)
    has_call_ids: bool = True
    wire: str = ""
    rules: str = ""
    capabilities: Mapping[str, Any] = field(default_factory=dict[str, Any])
    builtin_tools: Mapping[str, Callable[[BuiltinTool, JsonObject], JsonObject]] = field(
        default_factory=dict[str, "Callable[[BuiltinTool, JsonObject], JsonObject]"]
    )


def api_of(name: str) -> Api | None:
    """Return an API that reads what is recorded; None for one that Onrecord does not speak.

    None too for one whose package cannot be used: what was recorded is read as without the package.
    """
    try:
        return loaded_api(name)
    except InvalidProvider:
        return None


def loaded_api(name: str) -> Api | None:
    """Return an API that is asked for; None for one that there is not.

    InvalidProvider, with the package and the reason, if a package adds it that cannot be used.
    """
    loaded = _parts.get((name, Api))
    if isinstance(loaded, Api):  # A conversation that is read asks for each of its blocks.
        return loaded
    if name in FOLDERS:
        place = f"onrecord.projections.apis.{FOLDERS[name]}.render:API"
    elif added := _added().entries.get(name):
        place = added.value
    else:
        return None
    return imported(name, place, Api, _fault_in_api)


def _fault_in_api(api: Api) -> str:
    from onrecord.projections.apis.parts import fault_in_api

    return fault_in_api(api)


def known_api(name: str) -> Api:
    """Return an API by the name that a caller gave it; UnknownApi, with the known names, if none.

    InvalidProvider if its package cannot be used, or if a package adds APIs that cannot be told
    apart: one of them may be meant.
    """
    found = loaded_api(name)
    if found is None:
        must_be_told_apart()
        raise UnknownApi(f"{name!r} is no API that Onrecord speaks: choose one of {listed()}")
    return found


def names() -> tuple[str, ...]:
    """Return the names of all APIs, those built in first."""
    return (*FOLDERS, *_added().entries)


def usable() -> Iterator[Api]:
    """Yield the APIs that can be used: a package whose API cannot be takes none away from others."""
    for name in names():
        if (found := api_of(name)) is not None:
            yield found


def listed() -> str:
    """Return the names of all APIs, for a message."""
    return ", ".join(names())


def rules_of(name: str) -> tuple[Rule, ...] | None:
    """Return the rules by which requests to an API are checked; None where none are known."""
    if name in FOLDERS:
        place = f"onrecord.projections.apis.{FOLDERS[name]}.rules:RULES"
    else:
        place = api.rules if (api := loaded_api(name)) else ""
    return imported(name, place, _RULES, _fault_in_rules) if place else None


_RULES: Final = cast("type[tuple[Rule, ...]]", tuple)


def _fault_in_rules(rules: tuple[object, ...]) -> str:
    from onrecord.projections.apis.rules import Rule

    return "" if all(isinstance(each, Rule) for each in rules) else "each of it must be a Rule"


def known_rules() -> Mapping[str, tuple[Rule, ...]]:
    """Return the rules of each API whose requests can be checked, in the order they are told."""
    found: dict[str, tuple[Rule, ...]] = {}
    for name in names():
        with suppress(InvalidProvider):
            if (rules := rules_of(name)) is not None:
                found[name] = rules
    return found


def imported(
    name: str, place: str, kind: type[FoundT], fault_in: Callable[[FoundT], str]
) -> FoundT:
    """Return the part of an API that is at `package.module:NAME`; it is imported once.

    InvalidProvider, with the package that adds the API, if there is nothing or of another type, or
    if `fault_in` tells what is wrong with it. The parts of the six are right.
    """
    if (name, kind) not in _parts:
        _parts[name, kind] = _part_at(name, place, kind, fault_in)
    found = _parts[name, kind]
    if isinstance(found, str):
        raise invalid(name, found)  # A new one: its traceback will keep the variables of callers.
    return cast("FoundT", found)


_parts: Final[dict[tuple[str, type[object]], object]] = {}
"""The parts of APIs by name and type; what is wrong with one that cannot be used."""


def _part_at(
    name: str, place: str, kind: type[FoundT], fault_in: Callable[[FoundT], str]
) -> object:
    try:
        found = resolve_name(place)
    except BaseException as exc:
        # Modules exit, and raise what only tests or event loops catch. These are of who asks.
        if name in FOLDERS or isinstance(exc, KeyboardInterrupt | MemoryError | RecursionError):
            raise
        reason = f"{place} cannot be imported: {_shown(exc)}"
        # An exit, or too many open files, may pass. Otherwise a module that fails is run once.
        if not isinstance(exc, SystemExit | OSError):
            _parts.setdefault((name, kind), reason)
        raise invalid(name, reason) from exc
    if not isinstance(found, kind):
        return f"{place} is a {type(found).__name__}, but must be a {kind.__name__}"
    if name in FOLDERS:
        return found
    own_name = getattr(found, "name", None) or getattr(found, "api", None)
    if isinstance(own_name, str) and own_name != name:
        return f"{place} calls itself {own_name!r}: both names must be the same"
    wrong = fault_in(found)
    return f"{place} cannot be used: {wrong}" if wrong else found


def _shown(error: BaseException) -> str:
    """Return an error of a package's for a message; its name where it cannot show itself."""
    try:
        return repr(error)
    except Exception:  # noqa: BLE001 - whatever it is, the error that is told of is the other one
        return type(error).__name__


# APIs of installed packages. Their entry points are read when a name is first asked for that is
# none of the six, or all names are: a program that speaks one of the six reads no file for others.


class _Added(NamedTuple):
    """The entry points of packages by the names of their APIs, and why others are passed over."""

    entries: Mapping[str, EntryPoint]
    faults: tuple[str, ...]


@cache
def _added() -> _Added:
    from importlib.metadata import entry_points

    found: dict[str, EntryPoint] = {}
    twice: set[str] = set()
    faults: list[str] = []
    for entry in entry_points(group=GROUP):
        if entry.name in FOLDERS:
            fault = f"{entry.name!r}, which is built in: uninstall the package, or rename its API"
            faults.append(f"{_package(entry)} adds an API named {fault}")
        elif entry.name in found:
            both = f"{_package(found[entry.name])} and {_package(entry)}"
            fault = f"both add an API named {entry.name!r}: uninstall one of them"
            twice.add(entry.name)
            faults.append(f"{both} {fault}")
        else:
            found[entry.name] = entry
    told_apart = {name: entry for name, entry in found.items() if name not in twice}
    return _Added(told_apart, tuple(faults))


def must_be_told_apart() -> None:
    """Raise InvalidProvider if a package adds an API by a name that is another's."""
    for fault in _added().faults:
        raise InvalidProvider(fault)


def release_of(name: str) -> str:
    """Return which release of which package adds an API, empty for one that is built in."""
    return "" if name in FOLDERS else _package(_added().entries[name])


def invalid(name: str, reason: str) -> InvalidProvider:
    """Return the error of an API that cannot be used, with the package that adds it."""
    return InvalidProvider(f"{release_of(name) or 'onrecord'} adds the API {name!r}, but {reason}")


def remedy_of(name: str) -> str:
    """Return what to do where JSON of an API cannot be read."""
    try:
        found = loaded_api(name)
    except InvalidProvider as exc:
        return str(exc)
    if found is None:
        return "install the package that adds this API"
    return f"upgrade to a release of {release_of(name).partition(' ')[0] or 'Onrecord'} that does"


def _package(entry: EntryPoint) -> str:
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist else entry.value


# What another API's JSON says: blocks, instructions and tools in neutral form, a reader an API.


def neutral_of(api: str, value: JsonObject) -> NeutralBlock:
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


def partial_of(api: str, part: Unfinished) -> JsonObject | None:
    """Return the text of a block that did not arrive whole, as a block; None where nothing stays.

    Anthropic's own rule, which serves for all: of the blocks that did not stop, only text that is
    not empty stays.
    """
    reader = _reader(api)
    return reader.partial(part) if reader and reader.partial else None


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


def has_call_ids(api: str) -> bool:
    """Return whether each call of an API has an id on the wire; so of an API that is not known."""
    found = api_of(api)
    return found is None or found.has_call_ids


def says_it_failed(api: str, value: JsonObject) -> bool:
    """Return whether a result of an API says by itself that it failed; its strings may be in blobs."""
    reader = _reader(api)
    return bool(reader and reader.failed and reader.failed(value))


def _reader(api: str) -> Reader | None:
    found = api_of(api)
    return found.reader if found else None
