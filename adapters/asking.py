"""Requests made from what a store holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from pydantic import ValidationError

from hansard.adapters.lineage import Stretch
from hansard.adapters.reading import blob_among, events_for
from hansard.domain.errors import InvalidInput
from hansard.domain.jsontext import JsonObject
from hansard.domain.log import Backend
from hansard.domain.request_template import Recipe
from hansard.projections.requests.needs import needed_blobs
from hansard.projections.requests.rendering import render, renderer_digest
from hansard.projections.requests.request import Options, Request
from hansard.projections.sources import Source, sources_in
from hansard.projections.turns import history
from hansard.projections.window import exchanges_of

_TAKEN: Final = MappingProxyType(
    {
        "api": "the name of an API",
        "model": "the name of a model",
        "window": "a hansard.Window(...) or a hansard.MessageWindow(...)",
        "thinking": '"keep" or "drop"',
        "cache": "True or False",
        "missing": '"cancel", "refuse" or "drop"',
        "tags": '"seed-short-id" or "doc-reference"',
        "capabilities": "a hansard.Given(...)",
    }
)
"""What a request takes under each name."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, the recipe to make it again, and what reads the events that it was made of."""

    request: Request
    recipe: Recipe
    sources: Callable[[], tuple[Source, ...]]


def options_given(matrix: Mapping[str, JsonObject], **wishes: Any) -> Options:
    """Return the options of a request; InvalidInput where one is of the wrong kind.

    Of `matrix`, which says by API what models take, they keep what is said of theirs.
    """
    try:
        options = Options(**wishes)
        return options.model_copy(update={"matrix": matrix.get(options.api)})
    except ValidationError as exc:
        wrong = str(exc.errors(include_url=False, include_input=False)[0]["loc"][0])
    raise InvalidInput(f"{wrong} is not what a request takes: give {_TAKEN[wrong]}")


def ask(backend: Backend, stretches: tuple[Stretch, ...], options: Options) -> Asked:
    """Return the request that these stretches of events make, under these options."""

    def made_of() -> tuple[Source, ...]:
        return sources_in(events_for(backend, stretches, exchanges_of(options.window)))

    recipe = Recipe(
        api=options.api,
        version=stretches[-1].until,
        options=options.plain(),
        renderer=renderer_digest(),
    )
    return Asked(request_of(backend, stretches, options), recipe, made_of)


def request_of(backend: Backend, stretches: tuple[Stretch, ...], options: Options) -> Request:
    """Return the request alone."""
    folded = history(events_for(backend, stretches, exchanges_of(options.window)), options.missing)
    needed = needed_blobs(folded, options)
    held = {blob.sha256: blob_among(backend, stretches, blob) for blob in needed}
    return render(folded, options, held)
