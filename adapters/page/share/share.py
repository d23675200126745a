"""A file to share: one stretch of a conversation as a page of its own, without what is hidden."""

from __future__ import annotations

import asyncio
import time
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import Annotated, Any, Final
from urllib.parse import quote

from markupsafe import Markup
from pydantic import Field, ValidationError
from starlette.responses import Response

from onrecord.adapters.asynchronous.store import store_of
from onrecord.adapters.conversation.conversation import stream_of
from onrecord.adapters.conversation.history_queries import main_branch, pieces_of
from onrecord.adapters.page.answers import HEADERS, html_of, rendered
from onrecord.adapters.page.conversation.conversation import named_by, rows_between
from onrecord.adapters.page.conversation.events import ShownEvent
from onrecord.adapters.page.forms import form_of
from onrecord.adapters.page.routes import paged, posted
from onrecord.adapters.page.share.copying import last_within
from onrecord.adapters.page.share.hiding import (
    REASONS,
    Hiding,
    Nature,
    Redactions,
    nature_of,
    shared,
)
from onrecord.adapters.page.share.redactions import redactions_of
from onrecord.adapters.page.static_files import files
from onrecord.adapters.presentation.actors import ShownActors
from onrecord.adapters.presentation.conversations import NamedConversation
from onrecord.adapters.service.model import Empty, Model
from onrecord.adapters.service.parameters import Version
from onrecord.adapters.service.problems import TIMED_OUT, Problem, headers_of, problem_of
from onrecord.adapters.service.quotas import Quota
from onrecord.adapters.service.route import Call, Route
from onrecord.adapters.storage.http.problem_types import INVALID
from onrecord.adapters.store import Store, backend_of
from onrecord.domain.documents import essence_of
from onrecord.domain.errors import CorruptRecord

_MOST_AT_ONCE: Final = 2
"""How many files are made at once; of one tenant, half of them."""

_MOST_WORDS: Final = 100
_LARGEST_PICTURE: Final = 1 << 20
_ALL_PICTURES: Final = 8 << 20


class ShareForm(Model):
    """What is shared, and what is hidden in it."""

    first: Version = 1
    """The first version."""

    last: Version | None = None
    """The last version, if not the conversation's."""

    reasoning: bool = False
    """Hide reasoning."""

    results: bool = False
    """Hide results of tools."""

    documents: bool = False
    """Hide documents."""

    people: bool = False
    """Hide names of people."""

    words: Annotated[str, Field(max_length=10_000)] = ""
    """Words to hide, one a line."""

    def hiding(self) -> Hiding:
        """Return what is hidden; Problem where that is too much to look for."""
        words = tuple(line.strip() for line in self.words.splitlines() if line.strip())
        if len(words) > _MOST_WORDS:
            raise Problem(INVALID, f"name at most {_MOST_WORDS} lines of words to hide")
        return Hiding(self.reasoning, self.results, self.documents, self.people, words)


@dataclass(frozen=True, slots=True)
class Material:
    """What the record has for a file. It ends at `last`, maybe before `until`, which was asked for."""

    title: str
    first: int
    events: tuple[ShownEvent, ...]
    natures: dict[int, Nature]
    redactions: Redactions
    names: frozenset[str]
    pictures: dict[str, str]
    last: int
    until: int


async def form(call: Call[Empty, Empty]) -> Response:
    """Return the form that asks what to share, and what to hide."""
    return await _form(call, {}, None)


async def _form(
    call: Call[Empty, Empty], fields: Mapping[str, str], problem: Problem | None
) -> Response:
    """Return the form with what was typed into it, and what is wrong with that."""
    which = await call.steps.run(partial(named_by, store_of(call.store), call.path["key"]))
    values = {"name": str(which), "key": which.key, "last": which.head.version}
    response = await rendered(call, "share.html", fields=fields, problem=problem, **values)
    if problem is not None:
        response.status_code = problem.type.status
        response.headers.update({**headers_of(problem), "cache-control": "no-store"})
    return response


async def file(call: Call[Empty, Empty], under_way: Quota) -> Response:
    """Return the file, for the browser to save; Problem where too many are made at once."""
    fields = await form_of(call)
    try:
        return await _answered(call, ShareForm.model_validate(fields), under_way)
    except (ValidationError, Problem) as error:
        problem = problem_of(error)
        if problem.type is not INVALID:
            raise
        return await _form(call, fields, problem)


async def _answered(call: Call[Empty, Empty], asked: ShareForm, under_way: Quota) -> Response:
    title, body = await under_way.run(call.tenant, partial(_made, call, asked, asked.hiding()))
    headers = {
        **HEADERS,
        "cache-control": "no-store",
        "content-disposition": f"attachment; filename*=UTF-8''{quote(title, safe='')}.html",
    }
    return Response(body, 200, headers, media_type="text/html")


async def _made(call: Call[Empty, Empty], asked: ShareForm, hiding: Hiding) -> tuple[str, bytes]:
    ends_at = time.monotonic() + call.limits.answer_seconds
    reading = partial(_material, store_of(call.store), call.path["key"], asked, hiding)
    return await asyncio.to_thread(_file, await call.steps.run_long(reading), hiding, ends_at)


def _file(material: Material, hiding: Hiding, ends_at: float) -> tuple[str, bytes]:
    """Return the title and the bytes of a file; Problem where nobody waits for it any more."""
    content = shared(
        material.title,
        in_time(ends_at, material.events),
        material.natures,
        material.redactions,
        hiding,
        material.names,
        material.pictures,
    )
    style = files()["shared_file.css"].data
    digest = b64encode(sha256(style).digest()).decode()
    values = {
        "shared": content,
        "first": material.first,
        "last": material.last,
        "until": material.until,
        "reasons": REASONS,
        "made_at": time.time_ns() // 1000,
        "style": Markup(style.decode()),
        "policy": f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:;"
        " base-uri 'none'; form-action 'none'",
    }
    return content.title, html_of("shared_file.html", values)


def in_time(ends_at: float, events: Iterable[ShownEvent]) -> Iterator[ShownEvent]:
    """Yield events as long as there is time; Problem where there is none left."""
    for event in events:
        if time.monotonic() > ends_at:
            raise Problem(TIMED_OUT, "share fewer events at once, or hide fewer words")
        yield event


def _material(store: Store, name: str, asked: ShareForm, hiding: Hiding) -> Material:
    which, backend = named_by(store, name), backend_of(store)
    until = min(asked.last or which.head.version, which.head.version)
    after = asked.first - 1
    if after >= until:
        raise Problem(
            INVALID, f"there is no event from version {asked.first} to {asked.last or until}"
        )
    last = last_within(backend, which.conversation_id, after, until)
    events = rows_between(store, which, after, last).events
    natures, names = dict[int, Nature](), set[str]()
    actors = ShownActors(backend, store.tenant)
    for event in backend.read(which.conversation_id, after=after, until=last):
        natures[event.version] = nature_of(event.event())
        members = actors.members(event)
        names |= {members["actor_name"] or "", members["on_behalf_of_name"] or ""}
    has_pictures = not (hiding.documents or hiding.hides_words)
    return Material(
        title=str(which),
        first=asked.first,
        events=events,
        natures=natures,
        redactions=redactions_of(backend, which),
        names=frozenset(names - {""}),
        pictures=_pictures(store, which, events) if has_pictures else {},
        last=last,
        until=until,
    )


def _pictures(
    store: Store, which: NamedConversation, events: Iterable[ShownEvent]
) -> dict[str, str]:
    """Return pictures as addresses that hold them, as long as there is room."""
    shown_ones = (each for event in events for each in event.documents if each.is_picture)
    wanted = {each.sha256: essence_of(each.media_type) for each in shown_ones}
    if not wanted or which.key is None:
        return {}
    conversation = store.get(which.key)
    segments = main_branch(stream_of(conversation), None)
    pictures, room = dict[str, str](), _ALL_PICTURES
    for held in conversation.documents():
        blob = held.blob
        if blob is None or blob.sha256 not in wanted or blob.sha256 in pictures:
            continue
        if blob.size > min(room, _LARGEST_PICTURE):
            continue
        try:
            data = b"".join(pieces_of(backend_of(store), segments, held) or ())
        except CorruptRecord:
            continue
        room -= blob.size
        encoded = b64encode(data).decode()
        pictures[blob.sha256] = f"data:{wanted[blob.sha256]};base64,{encoded}"
    return pictures


def routes_of() -> tuple[Route[Any, Any], ...]:
    """Return the routes of files to share, of which few are made at once."""
    path, made = "/c/{key}/share", partial(file, under_way=Quota(_MOST_AT_ONCE))
    return (
        paged(path, "pageShare", "Choose what to share of a conversation.", form),
        posted("read", path, "pageShareFile", "Make a file to share.", made),
    )
