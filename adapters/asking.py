"""Requests made from what a store holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, Final, Protocol
from uuid import UUID

from pydantic import ValidationError

from onrecord.adapters.lineage import Stretch
from onrecord.adapters.reading import blob_among, events_for
from onrecord.adapters.stream import Stream
from onrecord.domain.errors import InvalidInput
from onrecord.domain.head import Head
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.log import Backend
from onrecord.domain.request_template import Recipe
from onrecord.projections.apis.routing import needed_blobs
from onrecord.projections.apis.rendering import render
from onrecord.projections.apis.rendering import renderer_digest
from onrecord.projections.apis.request import Options
from onrecord.projections.apis.request import Request
from onrecord.projections.matching.sources import Source
from onrecord.projections.matching.sources import sources_in
from onrecord.projections.history.turns import history
from onrecord.projections.history.window import exchanges_of

_TAKEN: Final = MappingProxyType(
    {
        "api": "the name of an API",
        "model": "the name of a model",
        "window": "an onrecord.Window(...) or an onrecord.MessageWindow(...)",
        "thinking": '"keep" or "drop"',
        "cache": "True or False",
        "missing": '"cancel", "refuse" or "drop"',
        "tags": '"seed-short-id" or "doc-reference"',
        "capabilities": "an onrecord.Given(...)",
    }
)
"""What a request takes under each name."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, the recipe to make it again, and what reads the events that it was made of."""

    request: Request
    recipe: Recipe
    sources: Callable[[], tuple[Source, ...]]


class Windows(Protocol):
    """Where requests are kept that were rendered of late."""

    def ask(
        self,
        conversation_id: UUID,
        version: int,
        options: Options,
        lineage: Callable[[], tuple[Stretch, ...]],
    ) -> Asked:
        """Return a conversation's request at a version; `lineage` tells what it is made of."""
        ...


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


def ask_for(
    stream: Stream, version: int, head: Head, options: Options, windows: Windows | None
) -> Asked:
    """Return the request of a conversation at a version, kept in a hot window or rendered now.

    `head` is where the conversation stands.
    """
    lineage = partial(stream.lineage, version, head)
    if windows is None:
        return ask(stream.backend, lineage(), options)
    return windows.ask(stream.conversation_id, version, options, lineage)


def ask(backend: Backend, stretches: tuple[Stretch, ...], options: Options) -> Asked:
    """Return the request that these stretches of events make, under these options."""
    recipe = recipe_of(options, stretches[-1].until)
    request = request_of(backend, stretches, options)
    return Asked(request, recipe, sources_of(backend, lambda: stretches, options))


def recipe_of(options: Options, version: int) -> Recipe:
    """Return the recipe of the request that a conversation makes at a version."""
    return Recipe(
        api=options.api, version=version, options=options.plain(), renderer=renderer_digest()
    )


def sources_of(
    backend: Backend, lineage: Callable[[], tuple[Stretch, ...]], options: Options
) -> Callable[[], tuple[Source, ...]]:
    """Return what reads the events that a request is made of; `lineage` tells where they are."""
    return lambda: sources_in(events_for(backend, lineage(), exchanges_of(options.window)))


def request_of(backend: Backend, stretches: tuple[Stretch, ...], options: Options) -> Request:
    """Return the request alone."""
    folded = history(events_for(backend, stretches, exchanges_of(options.window)), options.missing)
    needed = needed_blobs(folded, options)
    held = {blob.sha256: blob_among(backend, stretches, blob) for blob in needed}
    return render(folded, options, held)
