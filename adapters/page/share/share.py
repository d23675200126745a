"""A file to share: a range of a conversation as a page of its own, without what is hidden."""

from __future__ import annotations

import time
from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from markupsafe import Markup

from onrecord.adapters.conversation.conversation import stream_of
from onrecord.adapters.conversation.history_queries import main_branch, pieces_of
from onrecord.adapters.page.answers import html_of
from onrecord.adapters.page.conversation.event_ranges import events_in
from onrecord.adapters.page.conversation.events import ShownEvent
from onrecord.adapters.page.share.copying import Excerpt
from onrecord.adapters.page.share.hidable import Hidable
from onrecord.adapters.page.share.hiding import (
    REASONS,
    Hiding,
    Nature,
    Redactions,
    Shared,
    nature_of,
    shared,
)
from onrecord.adapters.page.share.redactions import redactions_of
from onrecord.adapters.page.static_files import files
from onrecord.adapters.presentation.actors import ShownActors
from onrecord.adapters.presentation.conversations import NamedConversation
from onrecord.adapters.store import Store, backend_of
from onrecord.domain.documents import essence_of
from onrecord.domain.errors import CorruptRecord

_LARGEST_PICTURE: Final = 1 << 20
_ALL_PICTURES: Final = 8 << 20


@dataclass(frozen=True, slots=True)
class FileInput:
    """What the record has for a file."""

    title: str
    excerpt: Excerpt
    events: Iterable[ShownEvent]
    natures: dict[int, Nature]
    redactions: Redactions
    names: frozenset[str]
    pictures: dict[str, str]


@dataclass(frozen=True, slots=True)
class SharedFile:
    """A file to share: its bytes, which events it is of, and what is in it and hidden in it."""

    data: bytes
    excerpt: Excerpt
    content: Shared


def file_input(
    store: Store, conversation: NamedConversation, excerpt: Excerpt, hiding: Hiding
) -> FileInput:
    """Return what the record has for a file of an excerpt of a conversation."""
    backend, event_range = backend_of(store), excerpt.events
    events = events_in(store, conversation, event_range)
    natures, names = dict[int, Nature](), set[str]()
    actors = ShownActors(backend, store.tenant)
    read = backend.read(
        conversation.conversation_id, after=event_range.after, until=event_range.until
    )
    for event in read:
        natures[event.version] = nature_of(event.event())
        members = actors.members(event)
        names |= {members["actor_name"] or "", members["on_behalf_of_name"] or ""}
    has_pictures = not (Hidable.DOCUMENTS in hiding.kinds or hiding.hides_words)
    return FileInput(
        title=str(conversation),
        excerpt=excerpt,
        events=events,
        natures=natures,
        redactions=redactions_of(backend, conversation),
        names=frozenset(names - {""}),
        pictures=_pictures(store, conversation, events) if has_pictures else {},
    )


def build_file(source: FileInput, hiding: Hiding) -> SharedFile:
    """Return the file that is made of what the record has."""
    content = shared(
        source.title,
        source.events,
        source.natures,
        source.redactions,
        hiding,
        source.names,
        source.pictures,
    )
    style = files()["shared_file.css"].data
    digest = b64encode(sha256(style).digest()).decode()
    values = {
        "shared": content,
        "excerpt": source.excerpt,
        "reasons": REASONS,
        "made_at": time.time_ns() // 1000,
        "style": Markup(style.decode()),
        "policy": f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:;"
        " base-uri 'none'; form-action 'none'",
    }
    return SharedFile(html_of("shared_file.html", values), source.excerpt, content)


def _pictures(
    store: Store, named: NamedConversation, events: Iterable[ShownEvent]
) -> dict[str, str]:
    """Return pictures as addresses that hold them, as long as there is room."""
    shown_ones = (each for event in events for each in event.documents if each.is_picture)
    wanted = {each.sha256: essence_of(each.media_type) for each in shown_ones}
    if not wanted or named.key is None:
        return {}
    conversation = store.get(named.key)
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
