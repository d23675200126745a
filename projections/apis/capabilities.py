"""What an API and its models take: which kinds of documents, where, how large, and what else.

The knowledge is data: capabilities.toml, and over it what a caller's own file says. A model's entry
is found by its name: an id or an alias before all patterns, of these the longest that matches. It
lies over what its API says of all models. Nothing known is text alone.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar, cast

from pydantic import Field, StrictBool, ValidationError

from onrecord.domain import jsontext
from onrecord.domain.content import CallerValue, Value, wrong_member
from onrecord.domain.documents import Modality
from onrecord.domain.errors import InvalidInput
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.api import loaded_api
from onrecord.projections.apis.model_names import ANY, Pattern, names_of

if TYPE_CHECKING:
    from onrecord.projections.apis.request import Options


# The entries that say what models take: their shape, and how one lies over another.

MODELS: Final = "models"
_IDENTITY: Final = ("id", "pattern", "aliases")

_Amount = Annotated[int, Field(strict=True, gt=0)]


class Told(Value):
    """What is told of models; what is not told is as little as any model takes."""

    user: tuple[Modality, ...] = ("text",)
    tool_result: tuple[Modality, ...] = ("text",)
    document_bytes: dict[Modality, _Amount] = Field(default_factory=dict[Modality, int])
    reasoning: StrictBool = False
    signatures: StrictBool = False
    cache: StrictBool = False
    parallel_calls: StrictBool = False
    context_tokens: _Amount | None = None
    output_tokens: _Amount | None = None


ShapeT = TypeVar("ShapeT", bound=Value)


def read_as(shape: type[ShapeT], where: str, plain: JsonObject) -> ShapeT:
    """Return what plain JSON tells; InvalidInput, with the place and the reason, if nothing."""
    try:
        return shape.model_validate(plain)
    except ValidationError as exc:
        raise wrong_member(shape, where, exc) from None


def _check_told(where: str, plain: JsonObject, *others: str) -> None:
    """Raise InvalidInput where a table tells what none does; `others` may stand beside what it tells."""
    known = (*Told.model_fields, *others)
    if unknown := next((name for name in plain if name not in known), None):
        raise InvalidInput(f"{where}.{unknown}: is not one of {', '.join(known)}")
    read_as(Told, where, {name: value for name, value in plain.items() if name not in others})


@dataclass(frozen=True, slots=True)
class Entry:
    """What is told of the models of some names, its `values`.

    `ids` are in lower case, `key` is its own name.
    """

    key: str
    ids: tuple[str, ...]
    patterns: tuple[Pattern, ...]
    values: JsonObject


def told_in(table: JsonObject) -> JsonObject:
    """Return what the table of an API tells of all its models."""
    return {name: value for name, value in table.items() if name != MODELS}


def laid_over(under: JsonObject, over: JsonObject) -> JsonObject:
    """Return what holds where one lies over another: mappings join, all else is replaced whole."""
    joined = dict(under)
    for name, value in over.items():
        before = joined.get(name)
        if isinstance(before, dict) and isinstance(value, dict):
            joined[name] = laid_over(cast("JsonObject", before), cast("JsonObject", value))
        else:
            joined[name] = value
    return joined


def entries_in(api: str, under: JsonObject, over: JsonObject) -> tuple[Entry, ...]:
    """Return the entries of an API: one's own first, each over what held for its names before."""
    known: JsonObject = under.get(MODELS, {})
    own: JsonObject = over.get(MODELS, {})
    bundled_entries = tuple(_entry(api, key, plain) for key, plain in known.items())
    own_entries: list[Entry] = []
    for key, plain in own.items():
        if key in known:
            own_entries.append(_entry(api, key, _joined(known[key], plain)))
        else:
            own_entries += _over_each(_entry(api, key, plain), bundled_entries)
    return (*own_entries, *(entry for entry in bundled_entries if entry.key not in own))


def _over_each(entry: Entry, known: tuple[Entry, ...]) -> Iterator[Entry]:
    """Yield an entry for each of its names, over what held for that; a pattern is a name here."""
    for name in entry.ids:
        yield Entry(entry.key, (name,), (), _over(name, entry.values, known))
    for pattern in entry.patterns:
        yield Entry(entry.key, (), (pattern,), _over(pattern.text.lower(), entry.values, known))


def _over(name: str, values: JsonObject, known: tuple[Entry, ...]) -> JsonObject:
    named_entry = entry_for(name, known)
    return values if named_entry is None else laid_over(named_entry[1].values, values)


def check_tables(tables: Mapping[str, Any], apis: Container[str]) -> None:
    """Raise InvalidInput, with the entry and the reason, where tables by API have not their shape."""
    for api, plain in tables.items():
        if api not in apis:
            raise InvalidInput(f"{api}: is no API that Onrecord speaks")
        table = _table(api, plain)
        _check_told(api, table, MODELS)
        _check_models(api, _table(f"{api}.{MODELS}", table.get(MODELS, {})))


def _check_models(api: str, models: JsonObject) -> None:
    seen: set[str] = set()
    for key, plain in models.items():
        where = f"{api}.{MODELS}.{key}"
        entry = _entry(api, key, _table(where, plain))
        _check_told(where, plain, *_IDENTITY)
        for name in (*entry.ids, *(pattern.text.lower() for pattern in entry.patterns)):
            if name in seen:
                raise InvalidInput(f"{where}: another entry is for {name!r}")
            seen.add(name)


def _table(where: str, plain: Any) -> JsonObject:
    if not isinstance(plain, dict):
        raise InvalidInput(f"{where}: is no table")
    table = cast("JsonObject", plain)
    for name in cast("dict[Any, Any]", plain):  # A package's may have other keys than TOML has.
        if not isinstance(name, str):
            raise InvalidInput(f"{where}: has the key {name!r}, which is no text")
    return table


def _joined(under: JsonObject, over: JsonObject) -> JsonObject:
    """Return an entry over another of the same key; who its models are, one of the two says."""
    is_named = any(name in over for name in _IDENTITY)
    return laid_over(_told_by(under) if is_named else under, over)


def _told_by(plain: JsonObject) -> JsonObject:
    """Return what an entry tells of its models: all but who they are."""
    return {name: value for name, value in plain.items() if name not in _IDENTITY}


def _entry(api: str, key: str, plain: JsonObject) -> Entry:
    """Return an entry; a key is the id, or the pattern if it holds `*`, where no other is told."""
    where = f"{api}.{MODELS}.{key}"
    if "id" in plain and "pattern" in plain:
        raise InvalidInput(f"{where}: must specify at most one of `id` or `pattern`")
    is_pattern = "pattern" in plain or ("id" not in plain and ANY in key)
    aliases = _texts(where, "aliases", plain.get("aliases", []))
    if is_pattern and aliases:
        raise InvalidInput(f"{where}: a pattern cannot declare aliases")
    content = _told_by(plain)
    if is_pattern:
        patterns = _texts(where, "pattern", plain.get("pattern", key))
        return Entry(key, (), tuple(map(Pattern, patterns)), content)
    ids = (*_texts(where, "id", plain.get("id", key)), *aliases)
    return Entry(key, tuple(name.lower() for name in ids), (), content)


def _texts(where: str, member: str, plain: Any) -> tuple[str, ...]:
    """Return the text that a member is, or those that it holds."""
    texts = cast("list[Any]", plain) if isinstance(plain, list) else [plain]
    if member == "id" and isinstance(plain, list):
        raise InvalidInput(f"{where}.id: is one text: use `aliases` for other names of the model")
    if all(isinstance(text, str) and text.strip() for text in texts):
        return tuple(texts)
    raise InvalidInput(f"{where}.{member}: is no text, or a blank one")


ANY_MODEL: Final = "(any model)"
"""What a row says where it is that of an API."""

_TEXT: Final[frozenset[Modality]] = frozenset({"text"})


def _no_limits() -> Mapping[Modality, int]:
    return MappingProxyType({})


class CapabilityOverride(CallerValue):
    """What a caller says that a model takes; what is absent is as the matrix has it.

    `user` are the modalities that a user's message may hold, `tool_result` those that a result may;
    `document_bytes` is the size of the largest document that goes.
    """

    user: tuple[Modality, ...] | None = None
    tool_result: tuple[Modality, ...] | None = None
    document_bytes: Annotated[int, Field(strict=True, gt=0)] | None = None


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a model of an API takes.

    `user` are the modalities that a user's message may hold, `tool_result` those that a result may.
    `document_bytes` are the sizes of the largest documents that go within a request, before base64;
    a modality that is not there has no limit of its own. `reasoning` tells whether the model shows
    what it thinks, `signatures` whether that goes back signed, `cache` whether the service caches
    what comes again, `parallel_calls` whether one answer may call several tools. `context_tokens`
    and `output_tokens` are the most that it reads and writes; None where that is not known. `row`
    names the entry that decided, `key` is what that entry is called in its table.
    """

    row: str
    user: frozenset[Modality] = _TEXT
    tool_result: frozenset[Modality] = _TEXT
    document_bytes: Mapping[Modality, int] = field(default_factory=_no_limits, hash=False)
    reasoning: bool = False
    signatures: bool = False
    cache: bool = False
    parallel_calls: bool = False
    context_tokens: int | None = None
    output_tokens: int | None = None
    key: str = ""

    def __reduce__(self) -> tuple[object, ...]:
        """Return how it is copied and pickled: Python copies no read-only view of a mapping."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return _capabilities_in, (values | {"document_bytes": dict(self.document_bytes)},)

    def largest(self, modality: Modality) -> int | None:
        """Return the size, in bytes, of the largest document of a modality; None: no limit known."""
        return self.document_bytes.get(modality)


def _capabilities_in(values: dict[str, Any]) -> Capabilities:
    values["document_bytes"] = MappingProxyType(values["document_bytes"])
    return Capabilities(**values)


def capabilities_of(api: str, model: str | None, options: Options) -> Capabilities:
    """Return what a model takes: what comes with Onrecord, under `matrix`, under `capabilities`.

    None is a model that nobody named: it takes what the API says of all. Where no entry is for the
    model, or the API has none, it is text alone. InvalidInput where `matrix` has not their shape.
    """
    own = b"" if options.matrix is None else jsontext.write(options.matrix)
    return _as_given(_known(api, model, own), options)


def rows_of(api: str, matrix: JsonObject | None = None) -> tuple[Capabilities, ...]:
    """Return what is said of all models of an API, then of each name; those of `matrix` first."""
    under, over = _table_of(api), matrix or {}
    defaults = laid_over(told_in(under), told_in(over))
    return (
        _capabilities(f"{api} {ANY_MODEL}", api, defaults),
        *(
            _capabilities(f"{api} {name}", api, laid_over(defaults, entry.values), entry.key)
            for entry in entries_in(api, under, over)
            for name in (*entry.ids, *(pattern.text for pattern in entry.patterns))
        ),
    )


@cache
def bundled() -> Mapping[str, JsonObject]:
    """Return what comes with Onrecord, by API; not to be changed in place."""
    import tomllib

    return tomllib.loads(Path(__file__).with_name("capabilities.toml").read_text("utf-8"))


def _table_of(api: str) -> JsonObject:
    """Return what is said of an API: by Onrecord, else by the package that adds it."""
    if api in bundled():
        return bundled()[api]
    known_api = loaded_api(api)
    return dict(known_api.capabilities) if known_api else {}


@lru_cache(maxsize=256)
def _known(api: str, model: str | None, own: bytes) -> Capabilities:
    """Return what a model takes; `own` is the JSON of what a caller says of the API, or nothing."""
    over: JsonObject = jsontext.read_object(own) if own else {}
    under = _table_of(api)
    if not under and not over:
        return Capabilities(f"{api} (not listed)")
    defaults = laid_over(told_in(under), told_in(over))
    if not model:
        return _capabilities(f"{api} {ANY_MODEL}", api, defaults)
    known = entry_for(model, entries_in(api, under, over))
    if known is None:
        return Capabilities(f"{api} ({model} not listed)")
    name, entry = known
    return _capabilities(f"{api} {name}", api, laid_over(defaults, entry.values), entry.key)


def entry_for(model: str, entries: tuple[Entry, ...]) -> tuple[str, Entry] | None:
    """Return the entry of a model, and by which name of it that was found; None if there is none.

    `entries` begin with those that win over others of the same name.
    """
    names = names_of(model)
    for name in names:
        for entry in entries:
            if name in entry.ids:
                return name, entry
    matching = [
        (pattern, entry)
        for entry in entries
        for pattern in entry.patterns
        if any(pattern.matches(name) for name in names)
    ]
    longest = max(matching, key=lambda pair: len(pair[0].text), default=None)
    return None if longest is None else (longest[0].text, longest[1])


def _capabilities(row: str, api: str, plain: JsonObject, key: str = "") -> Capabilities:
    stated = read_as(Told, api, plain)
    return Capabilities(
        row=row,
        key=key,
        user=frozenset(stated.user),
        tool_result=frozenset(stated.tool_result),
        document_bytes=MappingProxyType(stated.document_bytes),
        reasoning=stated.reasoning,
        signatures=stated.signatures,
        cache=stated.cache,
        parallel_calls=stated.parallel_calls,
        context_tokens=stated.context_tokens,
        output_tokens=stated.output_tokens,
    )


def _as_given(capabilities: Capabilities, options: Options) -> Capabilities:
    override = options.capabilities
    if override is None:
        return capabilities
    user = capabilities.user if override.user is None else frozenset(override.user)
    results = (
        capabilities.tool_result
        if override.tool_result is None
        else frozenset(override.tool_result)
    )
    limits = capabilities.document_bytes
    if override.document_bytes is not None:
        limits = MappingProxyType(dict.fromkeys(sorted(user | results), override.document_bytes))
    row = f"{capabilities.row}, as given"
    return replace(capabilities, row=row, user=user, tool_result=results, document_bytes=limits)
