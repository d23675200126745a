"""What a view did to the record: each repair, omission, move and translation, and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeVar, dataclass_transform

from onrecord.domain.documents import Modality

NoteKind = Literal["repaired", "left out", "moved", "translated", "noted"]
"""What was done to an event's content on its way into a request; `noted`: nothing, but beware."""


Where = Literal["inline", "behind", "words"]
"""Where a document goes: where it stands, in the message behind its result, or as words only."""


class Route(NamedTuple):
    """Where one document of the event at a version goes, and why.

    `holder` is what it stands in: a message of the user's, or a tool's result. `row` names the entry
    of the capabilities that decided.
    """

    version: int
    media_type: str
    modality: Modality
    holder: Literal["message", "result"]
    where: Where
    why: str
    row: str

    def __str__(self) -> str:
        """Return the decision as one line."""
        line = (
            f"version {self.version}: {self.media_type} of a {self.holder} goes {_WAYS[self.where]}"
        )
        return f"{line}: it {self.why} [{self.row}]"


_WAYS: Final = {"inline": "where it stands", "behind": "behind it", "words": "in words"}


class Note(NamedTuple):
    """One deed: by which rule, to the event at which version (None: to the whole), and why.

    `rule` is the number of a provider's rule (`R10`), or a word, such as `late` or `redacted`:
    docs/rendering.md lists them all.
    """

    deed: NoteKind
    rule: str
    version: int | None
    why: str

    def __str__(self) -> str:
        """Return the note as one line."""
        place = "" if self.version is None else f"version {self.version}: "
        return f"{place}{self.deed}, {self.why} [{self.rule}]"


@dataclass(frozen=True, slots=True)
class Report:
    """The notes on one request, in the order of the versions they are about.

    `routes` says of each document where it goes; that alone is no deed.
    """

    notes: tuple[Note, ...] = ()
    routes: tuple[Route, ...] = ()

    def __iter__(self) -> Iterator[Note]:
        """Yield the notes."""
        return iter(self.notes)

    def __len__(self) -> int:
        """Return how many notes there are; none means that all went as it was recorded."""
        return len(self.notes)

    def __str__(self) -> str:
        """Return a line for each note."""
        return "\n".join(map(str, self.notes)) or "everything goes as it was recorded"

    def of(self, rule: str) -> tuple[Note, ...]:
        """Return the notes of one rule."""
        return tuple(note for note in self.notes if note.rule == rule)


def report_of(notes: Iterable[Note], routes: Iterable[Route] = ()) -> Report:
    """Return the report of some notes, each once: by version, what concerns the whole first."""
    ordered = sorted(dict.fromkeys(notes), key=lambda note: note.version or 0)
    return Report(tuple(ordered), tuple(routes))


# Values of which a fold makes tens of thousands: frozen for whoever checks types, and cheap.

Shape = TypeVar("Shape")


@dataclass_transform(frozen_default=True)
def frozen(shape: type[Shape]) -> type[Shape]:
    """Return the dataclass of a shape, with slots, whose values type checkers let nobody change.

    `dataclass(frozen=True)` refuses that at run time too, and triples what making a value costs.
    """
    return dataclass(slots=True)(shape)
