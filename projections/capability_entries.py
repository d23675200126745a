"""The entries that say what models take: their shape, and how one lies over another."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, cast

from pydantic import Field, StrictBool, ValidationError

from onrecord.domain.content import Value
from onrecord.domain.documents import Modality
from onrecord.domain.errors import InvalidInput
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.model_names import ANY, Pattern

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

    @classmethod
    def read(cls, where: str, plain: JsonObject) -> Told:
        """Return what plain JSON tells; InvalidInput, with the place and the reason, if nothing."""
        try:
            return cls.model_validate(plain)
        except ValidationError as exc:
            first = exc.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, (where, *first["loc"])))
        if first["type"] == "extra_forbidden":
            raise InvalidInput(f"{place}: is not one of {', '.join(cls.model_fields)}")
        raise InvalidInput(f"{place}: {first['msg']}")


@dataclass(frozen=True, slots=True)
class Entry:
    """What is told of the models of some names; `ids` are in lower case."""

    ids: tuple[str, ...]
    patterns: tuple[Pattern, ...]
    told: JsonObject


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
    """Return the entries of an API: one's own first, over those of the same key."""
    known: JsonObject = under.get(MODELS, {})
    own: JsonObject = over.get(MODELS, {})
    joined = {key: _joined(known.get(key, {}), plain) for key, plain in own.items()}
    others = {key: plain for key, plain in known.items() if key not in own}
    return tuple(_entry(api, key, plain) for key, plain in {**joined, **others}.items())


def check_tables(tables: Mapping[str, Any], apis: Container[str]) -> None:
    """Raise InvalidInput, with the entry and the reason, where tables by API have not their shape."""
    for api, plain in tables.items():
        if api not in apis:
            raise InvalidInput(f"{api}: is no API that Onrecord speaks")
        table = _table(api, plain)
        Told.read(api, told_in(table))
        _check_models(api, _table(f"{api}.{MODELS}", table.get(MODELS, {})))


def _check_models(api: str, models: JsonObject) -> None:
    taken: set[str] = set()
    for key, plain in models.items():
        where = f"{api}.{MODELS}.{key}"
        entry = _entry(api, key, _table(where, plain))
        Told.read(where, entry.told)
        for name in (*entry.ids, *(pattern.text.lower() for pattern in entry.patterns)):
            if name in taken:
                raise InvalidInput(f"{where}: another entry is for {name!r}")
            taken.add(name)


def _table(where: str, plain: Any) -> JsonObject:
    if isinstance(plain, dict):
        return cast("JsonObject", plain)
    raise InvalidInput(f"{where}: is no table")


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
    told = _told_by(plain)
    if is_pattern:
        patterns = _texts(where, "pattern", plain.get("pattern", key))
        return Entry((), tuple(map(Pattern, patterns)), told)
    ids = (*_texts(where, "id", plain.get("id", key)), *aliases)
    return Entry(tuple(name.lower() for name in ids), (), told)


def _texts(where: str, member: str, plain: Any) -> tuple[str, ...]:
    """Return the text that a member is, or those that it holds."""
    texts = cast("list[Any]", plain) if isinstance(plain, list) else [plain]
    if member == "id" and isinstance(plain, list):
        raise InvalidInput(f"{where}.id: is one text: use `aliases` for other names of the model")
    if all(isinstance(text, str) and text.strip() for text in texts):
        return tuple(texts)
    raise InvalidInput(f"{where}.{member}: is no text, or a blank one")
