"""What was redacted of the events that a request that was sent is made of, or that it may repeat."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from onrecord.adapters.conversation.conversation import Conversation, stream_of
from onrecord.adapters.conversation.history_queries import event_at, recipe_content
from onrecord.adapters.page.requests.request_reading import declared_in, redacted_later
from onrecord.domain.events import RequestSent
from onrecord.domain.request_template import Recipe
from onrecord.projections.history.responses import Place
from onrecord.projections.matching.template import Outcome


@dataclass(frozen=True, slots=True)
class SentRedaction:
    """An event at a version that was redacted `by` another one, in the conversation or in an origin of it."""

    version: int
    by: int
    is_own: bool


@dataclass(frozen=True, slots=True)
class SentRedactions:
    """The redactions that touch a request; `is_known`: they are of what it has, else of what it may have."""

    redactions: tuple[SentRedaction, ...] = ()
    is_known: bool = False


def redactions_in(conversation: Conversation, version: int, outcome: Outcome) -> SentRedactions:
    """Return the redactions, up to now, that touch the request that was sent at a version.

    Where its recipe makes its bytes again, that says which events are in it. Where the program made it, it may
    repeat any event before it, even one that was redacted by then.
    """
    stream = stream_of(conversation)
    whole = stream.lineages().whole(version)
    later = redacted_later(stream.backend, whole, ())
    before = {
        place: by
        for place, by in later.items()
        if any(part.conversation_id == place[0] and part.has(place[1]) for part in whole)
    }
    recipe = _recipe(outcome)
    if before and recipe is not None:
        has = partial(_is_in, conversation, _places(conversation, recipe))
        before = {place: by for place, by in before.items() if has(place)}
    own = conversation.conversation_id
    redactions = (SentRedaction(at, by, of == own) for (of, at), by in before.items())
    ordered = sorted(redactions, key=lambda each: (each.is_own, each.version))
    return SentRedactions(tuple(ordered), is_known=recipe is not None)


def _recipe(outcome: Outcome) -> Recipe | None:
    """Return the recipe of a request, where it makes the same bytes again."""
    event: RequestSent = outcome.sent.event
    return event.recipe if outcome.is_rendered and outcome.remark is None else None


def _places(conversation: Conversation, recipe: Recipe) -> frozenset[Place]:
    """Return where the events are that a request is made of, those that declare its tools among them."""
    _, content = recipe_content(conversation, recipe)
    return frozenset((*content.blocks(), *_declaring(conversation, recipe.version)))


def _declaring(conversation: Conversation, version: int) -> Iterator[Place]:
    setters = declared_in(stream_of(conversation), version)
    yield from (each for each in (setters.instructions, setters.tools) if each is not None)


def _is_in(conversation: Conversation, has: frozenset[Place], place: Place) -> bool:
    of, version = place
    # A document of a result stands in the block of the result, and its event right behind that.
    while (of, version) not in has and version > 1:
        if event_at(stream_of(conversation), (of, version)).type != "document.extracted":
            return False
        version -= 1
    return (of, version) in has
