"""A file to share: one stretch of a conversation as a page of its own, without what is hidden."""

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
from onrecord.adapters.page.conversation.conversation import events_between
from onrecord.adapters.page.conversation.events import ShownEvent
from onrecord.adapters.page.share.copying import Part
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
from onrecord.domain.errors import CorruptRecord, InvalidInput

_MOST_WORDS: Final = 100
_LARGEST_PICTURE: Final = 1 << 20
_ALL_PICTURES: Final = 8 << 20


@dataclass(frozen=True, slots=True)
class Material:
    """What the record has for a file."""

    title: str
    part: Part
    events: Iterable[ShownEvent]
    natures: dict[int, Nature]
    redactions: Redactions
    names: frozenset[str]
    pictures: dict[str, str]


@dataclass(frozen=True, slots=True)
class SharedFile:
    """A file to share: its bytes, which events it is of, and what is in it and hidden in it."""

    data: bytes
    part: Part
    content: Shared


def words_in(lines: Iterable[str]) -> tuple[str, ...]:
    """Return the words to hide that lines name; InvalidInput for more than are looked for."""
    words = tuple(line.strip() for line in lines if line.strip())
    if len(words) > _MOST_WORDS:
        raise InvalidInput(f"name at most {_MOST_WORDS} lines of words to hide")
    return words


def material_of(
    store: Store, conversation: NamedConversation, part: Part, hiding: Hiding
) -> Material:
    """Return what the record has for a file of a part of a conversation."""
    backend = backend_of(store)
    events = events_between(store, conversation, part.after, part.last)
    natures, names = dict[int, Nature](), set[str]()
    actors = ShownActors(backend, store.tenant)
    for event in backend.read(conversation.conversation_id, after=part.after, until=part.last):
        natures[event.version] = nature_of(event.event())
        members = actors.members(event)
        names |= {members["actor_name"] or "", members["on_behalf_of_name"] or ""}
    has_pictures = not (hiding.documents or hiding.hides_words)
    return Material(
        title=str(conversation),
        part=part,
        events=events,
        natures=natures,
        redactions=redactions_of(backend, conversation),
        names=frozenset(names - {""}),
        pictures=_pictures(store, conversation, events) if has_pictures else {},
    )


def file_of(material: Material, hiding: Hiding) -> SharedFile:
    """Return the file that is made of what the record has."""
    content = shared(
        material.title,
        material.events,
        material.natures,
        material.redactions,
        hiding,
        material.names,
        material.pictures,
    )
    style = files()["shared_file.css"].data
    digest = b64encode(sha256(style).digest()).decode()
    part = material.part
    values = {
        "shared": content,
        "first": part.after + 1,
        "last": part.last,
        "until": part.until,
        "reasons": REASONS,
        "made_at": time.time_ns() // 1000,
        "style": Markup(style.decode()),
        "policy": f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:;"
        " base-uri 'none'; form-action 'none'",
    }
    return SharedFile(html_of("shared_file.html", values), part, content)


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
