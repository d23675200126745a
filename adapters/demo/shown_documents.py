"""Where in a request each document of a tool's result stands, read from the request itself."""

from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, cast

from onrecord.domain.content import Document
from onrecord.projections.apis.documents import words_for
from onrecord.projections.apis.request import Request
from onrecord.projections.apis.rules import pointer
from onrecord.projections.history.report import Where
from onrecord.projections.matching.replay import Outcome

WAYS: Final[dict[Where, str]] = {
    "inline": "in the result",
    "behind": "behind it",
    "words": "in words",
}


_MESSAGE: Final = 2
"""At which step of a place the number of its message stands."""


@dataclass(frozen=True, slots=True)
class ShownDocument:
    """A document in a request for an API: which way it goes, and the JSON pointer of its place."""

    api: str
    name: str
    where: Where
    place: str

    @property
    def block(self) -> str:
        """The place of the block that shows it, where it is one of several."""
        steps = self.place.split("/")
        last = max(at for at, step in enumerate(steps) if step.isdecimal())
        return "/".join(steps[: last + 1]) if last > _MESSAGE else self.place


@dataclass(frozen=True, slots=True)
class Told:
    """What the model of one API was sent in a fork, and the proof of it."""

    api: str
    documents: tuple[ShownDocument, ...]
    outcomes: tuple[Outcome, ...]


def shown_in(
    request: Request, version: int, document: Document, data: bytes
) -> ShownDocument | None:
    """Return where a request shows a document of the result at a version; None where it does not.

    `data` is the document's bytes.
    """
    routes = (route for route in request.report.routes if route.version == version)
    route = next((route for route in routes if route.media_type == document.media_type), None)
    if route is None:
        return None
    sought = words_for(document) if route.where == "words" else b64encode(data).decode()
    for place, text in _texts(dict(request.body), ()):
        if sought in text:
            return ShownDocument(request.api, document.name or "", route.where, pointer(place))
    return None


def _texts(held: Any, place: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield each text in a JSON value, with the way to it."""
    match held:
        case str():
            yield place, held
        case dict():
            for name, inner in cast("dict[str, Any]", held).items():
                yield from _texts(inner, (*place, name))
        case list():
            for number, inner in enumerate(cast("list[Any]", held)):
                yield from _texts(inner, (*place, number))
        case _:
            pass
