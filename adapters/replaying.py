"""The replay of a conversation's requests, one after the other, with what its store holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from uuid import UUID

from hansard.adapters.talk import Talk
from hansard.domain.errors import HansardError
from hansard.domain.events import Recipe
from hansard.projections.replay import Outcome, Sent, held_blobs, last_uses, replay, sent_in
from hansard.projections.requests.rendering import renderer_digest
from hansard.projections.requests.request import options_of
from hansard.projections.template import PARTS, Part


def replays(talk: Talk) -> Iterator[Outcome]:
    """Yield what the replay of each request proves, in the order in which they were sent.

    Only the bodies that a later request refers to are held.
    """
    until = talk.head().version
    needed = last_uses(sent_in(talk.read(until=until)))
    bodies: dict[UUID, bytes] = {}
    for sent in sent_in(talk.read(until=until)):
        outcome, body = _replay(talk, sent, bodies)
        yield outcome
        if sent.request in needed:
            bodies[sent.request] = body
        bodies = {it: held for it, held in bodies.items() if needed[it] > sent.version}


def _replay(talk: Talk, sent: Sent, bodies: Mapping[UUID, bytes]) -> tuple[Outcome, bytes]:
    recipe = sent.event.recipe
    try:
        blobs = {
            blob.sha256: b"".join(talk.backend.get_blob(talk.conversation_id, blob))
            for blob in held_blobs(sent)
        }
        rendered = None if recipe is None else _rendered(talk, recipe)
    except HansardError as exc:
        return Outcome(sent, False, False if recipe else None, str(exc)), b""
    outcome, body = replay(sent, rendered=rendered, parents=bodies, blobs=blobs)
    if outcome.is_proven or recipe is None or recipe.renderer == renderer_digest():
        return outcome, body
    why = f"{outcome.problem}; another release of Hansard rendered it"
    return Outcome(sent, outcome.is_whole, outcome.is_rendered, why), body


def _rendered(talk: Talk, recipe: Recipe) -> dict[Part, bytes]:
    made = talk.render(recipe.version, options_of(recipe.options)).body_parts()
    return {part: made[part] for part in PARTS if part in made}
