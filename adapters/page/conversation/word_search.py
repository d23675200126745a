"""The words of one conversation: which of its events say them, and where in an excerpt they stand."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Annotated, Any, Final
from urllib.parse import urlencode

from pydantic import Field
from starlette.responses import Response

from onrecord.adapters.asynchronous.store import store_of
from onrecord.adapters.page.answers import rendered
from onrecord.adapters.page.conversation.conversation import named_by
from onrecord.adapters.page.routes import get_route
from onrecord.adapters.service.model import Empty, Model
from onrecord.adapters.service.route import Call, Route
from onrecord.projections.views.search import Hit, parse_query
from onrecord.projections.views.texts import words_of

_TOKEN: Final = re.compile(r"[^\W_]+|[\W_]+")
_HITS: Final = 50


class WordQuery(Model):
    """Which words are looked for."""

    text: Annotated[str, Field(max_length=2000)] = ""
    """The words."""

    after: Annotated[str, Field(max_length=4000)] | None = None
    """The `after` of the page before."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of an excerpt: words that were looked for, or what stands between them."""

    text: str
    is_found: bool


@dataclass(frozen=True, slots=True)
class ShownHit:
    """An event that says the words, and its excerpt in pieces."""

    hit: Hit
    excerpt: tuple[Piece, ...]


async def search(call: Call[WordQuery, Empty]) -> Response:
    """Return the page with the events of a conversation that say some words."""
    conversation = await call.steps.run(partial(named_by, store_of(call.store), call.path["key"]))
    text = call.query.text.strip()
    values = {"name": str(conversation), "key": conversation.key, "text": text}
    if not text:
        return await rendered(call, "search.html", page=None, hits=(), next=None, **values)
    page = await call.store.views.search(
        text, conversation=conversation.conversation_id, limit=_HITS, after=call.query.after
    )
    following = page.after and urlencode({"text": text, "after": page.after})
    hits = shown_hits(text, page.entries)
    return await rendered(call, "search.html", page=page, hits=hits, next=following, **values)


def shown_hits(text: str, hits: Iterable[Hit]) -> tuple[ShownHit, ...]:
    """Return hits with the words of a query marked in their excerpts."""
    wanted = frozenset(word for words in parse_query(text).wanted for word in words)
    return tuple(ShownHit(hit, pieces(hit.excerpt or "", wanted)) for hit in hits)


def pieces(excerpt: str, wanted: frozenset[str]) -> tuple[Piece, ...]:
    """Return an excerpt in pieces, each of the words, or of what stands between them."""
    marked = (part for token in _TOKEN.findall(excerpt) for part in _marked(token, wanted))
    return tuple(
        Piece("".join(text for text, _ in parts), is_found)
        for is_found, parts in groupby(marked, key=lambda part: part[1])
    )


def _marked(token: str, wanted: frozenset[str]) -> Iterator[tuple[str, bool]]:
    words = words_of(token)
    if len(words) <= 1:
        yield token, bool(words) and words[0] in wanted
        return
    # Without spaces between words, as in Chinese, each character is a word.
    for character in token:
        yield character, not wanted.isdisjoint(words_of(character))


ROUTES: Final[tuple[Route[Any, Any], ...]] = (
    get_route(
        *("/c/{key}/search", "pageSearch", "Which events of a conversation say this?"),
        *(search, WordQuery),
    ),
)
