"""Copies and files to share over HTTP: what is asked for, and how many files are made at once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Final
from urllib.parse import quote

from pydantic import Field, ValidationError, model_validator
from starlette.responses import Response

from onrecord.adapters.asynchronous.store import store_of
from onrecord.adapters.page.answers import HEADERS, rendered
from onrecord.adapters.page.conversation.conversation import named_by
from onrecord.adapters.page.conversation.events import ShownEvent
from onrecord.adapters.page.forms import form_of
from onrecord.adapters.page.routes import form_route, get_route
from onrecord.adapters.page.share.copying import (
    CopyFormat,
    copy_text,
    excerpt_after,
    excerpt_between,
)
from onrecord.adapters.page.share.hidable import HIDABLE, Hidable
from onrecord.adapters.page.share.hidden_words import words_in
from onrecord.adapters.page.share.hiding import Hiding
from onrecord.adapters.page.share.share import (
    FileInput,
    SharedFile,
    build_file,
    file_input,
)
from onrecord.adapters.service.model import Empty, Model
from onrecord.adapters.service.parameters import Version
from onrecord.adapters.service.problems import TIMED_OUT, Problem, headers_of, problem_of
from onrecord.adapters.service.quotas import Quota
from onrecord.adapters.service.route import Call, Route
from onrecord.adapters.storage.http.problem_types import INVALID
from onrecord.adapters.store import Store
from onrecord.domain.errors import InvalidInput

_MOST_AT_ONCE: Final = 2
"""How many files are made at once; of one tenant, half of them."""


class CopyQuery(Model):
    """What is copied, and as what."""

    copy_format: Annotated[CopyFormat, Field(alias="as")] = "markdown"
    """Markdown, or a line of JSON for each event."""

    after: Annotated[int, Field(ge=0, le=2**63 - 1)] = 0
    """The version that it comes after."""

    until: Version | None = None
    """The last version, if not all."""


class ShareForm(Model):
    """What is shared, and what is hidden in it."""

    first: Version = 1
    """The first version."""

    last: Version | None = None
    """The last version, if not the conversation's."""

    hide: frozenset[Hidable] = frozenset()
    """What is hidden: each kind is a field of its own, whose box is ticked."""

    words: Annotated[str, Field(max_length=10_000)] = ""
    """Words to hide, one a line."""

    def hiding(self) -> Hiding:
        """Return what is hidden; InvalidInput where that is too much to look for."""
        words = words_in(self.words.splitlines())
        return Hiding(self.hide, words)

    @model_validator(mode="before")
    @classmethod
    def _ticked(cls, fields: dict[str, str]) -> dict[str, object]:
        others = {name: value for name, value in fields.items() if name not in {*Hidable}}
        return {"hide": fields.keys() & {*Hidable}, **others}


async def copy(call: Call[CopyQuery, Empty]) -> Response:
    """Return a range of a conversation as plain text; it says where it ends too early."""
    copying = partial(_copy_text, store_of(call.store), call.path["key"], call.query)
    text = await call.steps.run_long(copying)
    return Response(text.encode(errors="replace"), 200, HEADERS, media_type="text/plain")


def _copy_text(store: Store, name: str, query: CopyQuery) -> str:
    conversation = named_by(store, name)
    excerpt = excerpt_after(store, conversation, query.after, query.until)
    return copy_text(store, conversation, excerpt, query.copy_format)


async def share_form_page(call: Call[Empty, Empty]) -> Response:
    """Return the form that asks what to share, and what to hide."""
    return await _share_form_page(call, {}, None)


async def _share_form_page(
    call: Call[Empty, Empty], fields: Mapping[str, str], problem: Problem | None
) -> Response:
    """Return the form with what was typed into it, and what is wrong with that."""
    conversation = await call.steps.run(partial(named_by, store_of(call.store), call.path["key"]))
    values = {"name": str(conversation), "key": conversation.key, "last": conversation.head.version}
    response = await rendered(
        call, "share.html", fields=fields, problem=problem, hidable=HIDABLE, **values
    )
    if problem is not None:
        response.status_code = problem.type.status
        response.headers.update({**headers_of(problem), "cache-control": "no-store"})
    return response


async def download(call: Call[Empty, Empty], under_way: Quota) -> Response:
    """Return the file, for the browser to save; Problem where too many are made at once."""
    fields = await form_of(call)
    try:
        return await _download(call, ShareForm.model_validate(fields), under_way)
    except (ValidationError, InvalidInput) as error:
        problem = problem_of(error)
        if problem.type is not INVALID:
            raise
        return await _share_form_page(call, fields, problem)


async def _download(call: Call[Empty, Empty], form: ShareForm, under_way: Quota) -> Response:
    file = await under_way.run(call.tenant, partial(_build_file, call, form, form.hiding()))
    name = quote(file.content.title, safe="")
    headers = {
        **HEADERS,
        "cache-control": "no-store",
        "content-disposition": f"attachment; filename*=UTF-8''{name}.html",
    }
    return Response(file.data, 200, headers, media_type="text/html")


async def _build_file(call: Call[Empty, Empty], form: ShareForm, hiding: Hiding) -> SharedFile:
    ends_at = time.monotonic() + call.limits.answer_seconds
    reading = partial(_file_input, store_of(call.store), call.path["key"], form, hiding)
    source = await call.steps.run_long(reading)
    timely = replace(source, events=in_time(ends_at, source.events))
    return await asyncio.to_thread(build_file, timely, hiding)


def _file_input(store: Store, name: str, form: ShareForm, hiding: Hiding) -> FileInput:
    conversation = named_by(store, name)
    excerpt = excerpt_between(store, conversation, form.first, form.last)
    return file_input(store, conversation, excerpt, hiding)


def in_time(ends_at: float, events: Iterable[ShownEvent]) -> Iterator[ShownEvent]:
    """Yield events as long as there is time; Problem where there is none left."""
    for event in events:
        if time.monotonic() > ends_at:
            raise Problem(TIMED_OUT, "share fewer events at once, or hide fewer words")
        yield event


def routes_of() -> tuple[Route[Any, Any], ...]:
    """Return the routes of files to share, of which few are made at once."""
    path, limited = "/c/{key}/share", partial(download, under_way=Quota(_MOST_AT_ONCE))
    return (
        get_route(path, "pageShare", "Choose what to share of a conversation.", share_form_page),
        form_route("read", path, "pageShareFile", "Make a file to share.", limited),
    )


ROUTES: Final[tuple[Route[Any, Any], ...]] = (
    get_route("/c/{key}/copy", "pageCopy", "Copy a conversation as text.", copy, CopyQuery),
)
