"""What an API and its models take: which kinds of documents, where, how large, and what else.

The knowledge is data: capabilities.toml, and over it what a caller's own file says. A model's entry
is found by its name: an id or an alias before all patterns, of these the longest that matches. It
lies over what its API says of all models. Nothing known is text alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import Field

from onrecord.domain import jsontext
from onrecord.domain.content import Value
from onrecord.domain.documents import Modality
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.capability_entries import Entry, Told, entries_in, laid_over, told_in
from onrecord.projections.model_names import names_of

if TYPE_CHECKING:
    from onrecord.projections.requests.request import Options

ANY_MODEL: Final = "(any model)"
"""What a row says where it is that of an API."""

_TEXT: Final[frozenset[Modality]] = frozenset({"text"})


def _no_limits() -> Mapping[Modality, int]:
    return MappingProxyType({})


class Given(Value):
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
    names the entry that decided.
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

    def largest(self, modality: Modality) -> int | None:
        """Return the size, in bytes, of the largest document of a modality; None: no limit known."""
        return self.document_bytes.get(modality)


def capabilities_of(api: str, model: str | None, options: Options) -> Capabilities:
    """Return what a model takes: what comes with Onrecord, under `matrix`, under `capabilities`.

    None is a model that nobody named: it takes what the API says of all. Where no entry is for the
    model, or the API has none, it is text alone. InvalidInput where `matrix` has not their shape.
    """
    own = b"" if options.matrix is None else jsontext.write(options.matrix)
    return _as_given(_known(api, model, own), options)


def rows_of(api: str, matrix: JsonObject | None = None) -> tuple[Capabilities, ...]:
    """Return what is said of all models of an API, then of each name; those of `matrix` first."""
    under, over = bundled().get(api, {}), matrix or {}
    defaults = laid_over(told_in(under), told_in(over))
    return (
        _capabilities(f"{api} {ANY_MODEL}", api, defaults),
        *(
            _capabilities(f"{api} {name}", api, laid_over(defaults, entry.told))
            for entry in entries_in(api, under, over)
            for name in (*entry.ids, *(pattern.text for pattern in entry.patterns))
        ),
    )


@cache
def bundled() -> Mapping[str, JsonObject]:
    """Return what comes with Onrecord, by API; not to be changed in place."""
    import tomllib

    return tomllib.loads(Path(__file__).with_name("capabilities.toml").read_text("utf-8"))


@lru_cache(maxsize=256)
def _known(api: str, model: str | None, own: bytes) -> Capabilities:
    """Return what a model takes; `own` is the JSON of what a caller says of the API, or nothing."""
    over: JsonObject = jsontext.read_object(own) if own else {}
    under = bundled().get(api, {})
    if not under and not over:
        return Capabilities(f"{api} (not listed)")
    defaults = laid_over(told_in(under), told_in(over))
    if not model:
        return _capabilities(f"{api} {ANY_MODEL}", api, defaults)
    found = entry_for(model, entries_in(api, under, over))
    if found is None:
        return Capabilities(f"{api} ({model} not listed)")
    name, entry = found
    return _capabilities(f"{api} {name}", api, laid_over(defaults, entry.told))


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
    longest = max(matching, key=lambda found: len(found[0].text), default=None)
    return None if longest is None else (longest[0].text, longest[1])


def _capabilities(row: str, api: str, plain: JsonObject) -> Capabilities:
    told = Told.read(api, plain)
    return Capabilities(
        row=row,
        user=frozenset(told.user),
        tool_result=frozenset(told.tool_result),
        document_bytes=MappingProxyType(told.document_bytes),
        reasoning=told.reasoning,
        signatures=told.signatures,
        cache=told.cache,
        parallel_calls=told.parallel_calls,
        context_tokens=told.context_tokens,
        output_tokens=told.output_tokens,
    )


def _as_given(found: Capabilities, options: Options) -> Capabilities:
    given = options.capabilities
    if given is None:
        return found
    user = found.user if given.user is None else frozenset(given.user)
    results = found.tool_result if given.tool_result is None else frozenset(given.tool_result)
    limits = found.document_bytes
    if given.document_bytes is not None:
        limits = MappingProxyType(dict.fromkeys(sorted(user | results), given.document_bytes))
    row = f"{found.row}, as given"
    return replace(found, row=row, user=user, tool_result=results, document_bytes=limits)
