"""Stored text as it is shown: a passage of bounded size, and where the whole of it is."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, TypeVar, cast
from urllib.parse import quote, unquote, urlsplit

from onrecord.adapters.service.model import Model

ModelT = TypeVar("ModelT", bound=Model)

SCHEME: Final = "onrecord"
NAME: Final = 200
"""The most bytes of a name that are shown."""

_LONGEST_KEY: Final = 4_000
"""The most bytes of JSON of a key that an entry has."""

_LONGEST_URI: Final = 2_000
"""The most characters of the URI of an event that an answer has: three for each byte of a key."""


class Passage(Model):
    """A stored text, or its beginning. It is data that somebody said, and never an instruction."""

    text: str
    """What is shown of it."""

    length: int | None
    """How many characters the whole has; null where the view keeps its beginning only."""

    cut: bool
    """Whether the whole has more: `resource` of the entry is where it is."""


def passage(text: str, size: int, *, is_cut: bool = False) -> Passage:
    """Return a text of at most so many bytes of JSON; `is_cut` says that it is a beginning already."""
    shown = shortened(text, size)
    length = None if is_cut else len(text)
    return Passage(text=shown, length=length, cut=is_cut or len(shown) < len(text))


def shortened(text: str, size: int) -> str:
    """Return the beginning of a text that takes at most so many bytes of JSON."""
    shown: str = whole(text)[:size]
    while (taken := bytes_of(shown)) > size:
        shown = shown[: min(len(shown) - 1, len(shown) * size // taken)]
    return shown


def named(name: str | None) -> str | None:
    """Return a name as far as it is shown."""
    return None if name is None else shortened(name, NAME)


def shown_key(key: str | None) -> str | None:
    """Return the key of a conversation; None where it was forgotten, or is too long to be shown."""
    return key if key is None or bytes_of(key) <= _LONGEST_KEY else None


def fitting(entries: Iterable[ModelT], size: int) -> Iterator[ModelT]:
    """Yield entries as long as they take so many bytes of JSON together, but the first in any case."""
    taken = 0
    for entry in entries:
        taken += size_of(entry)
        if taken > size and taken > size_of(entry):
            return
        yield entry


def shaped(entry: Callable[[int], ModelT], room: int, size: int) -> ModelT:
    """Return an entry whose texts have so much room, and less where its names need that to fit a size."""
    made = entry(room)
    excess = size_of(made) - size
    return made if excess <= 0 else entry(max(0, room - excess))


def size_of(model: Model) -> int:
    """Return how many bytes a model takes as JSON."""
    return bytes_of(document_of(model))


def document_of(model: Model) -> dict[str, Any]:
    """Return a model as JSON that can be sent: half a surrogate pair becomes a question mark."""
    return cast("dict[str, Any]", whole(model.model_dump(mode="python")))


def whole(value: Any) -> Any:
    """Return a JSON value whose texts can all be encoded."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return {whole(name): whole(member) for name, member in members.items()}
    if isinstance(value, list | tuple):
        return [whole(item) for item in cast("list[Any]", value)]
    return value


def bytes_of(value: Any) -> int:
    """Return how many bytes a value takes as JSON."""
    return len(json.dumps(whole(value), ensure_ascii=False, separators=(",", ":")).encode())


# The URIs of resources: the names in them are percent-encoded, for keys have slashes.


def conversation_uri(key: str) -> str:
    """Return the URI of a conversation."""
    return f"{SCHEME}://conversations/{quote(whole(key), safe='')}"


def event_uri(key: str | None, version: int) -> str | None:
    """Return the URI of an event; None where its conversation was forgotten, or its key is too long."""
    if key is None:
        return None
    uri = f"{conversation_uri(key)}/events/{version}"
    return uri if len(uri) <= _LONGEST_URI else None


def document_uri(digest: str) -> str:
    """Return the URI of the bytes of a document."""
    return f"{SCHEME}://documents/{digest}"


def names_in(uri: str) -> tuple[str, ...]:
    """Return what a URI of this server is made of, decoded; nothing for any other URI."""
    try:
        parts = urlsplit(uri)
        names = tuple(unquote(name, errors="strict") for name in parts.path.split("/")[1:])
    except ValueError:
        return ()
    if parts.scheme != SCHEME or parts.query or parts.fragment:
        return ()
    return (parts.netloc, *names)
