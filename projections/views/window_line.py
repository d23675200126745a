"""Which events of a conversation its main line is made of, told from what amends it alone.

The rules are those by which a conversation is read (adapters/lineage.py, adapters/amendments.py):
an adoption goes on from an earlier place; a summary stands for a beginning as long as the main line
begins with what it stands for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from onrecord.domain.events import HistoryCompacted, LineAdopted
from onrecord.domain.references import refers_back
from onrecord.projections.views.view import Row

FOR_EVER: Final = 2**62
"""A version that no conversation reaches."""


class Stretch(NamedTuple):
    """Versions of one line (None: the main line) that the main line has: after < version <= until."""

    after: int
    until: int
    line: str | None = None

    def has(self, version: int, line: str | None) -> bool:
        """Whether an event is in it."""
        return self.after < version <= self.until and self.line == line


class Adoption(NamedTuple):
    """A `LineAdopted` at a version."""

    version: int
    adopted: str | None
    begun: int | None
    after: int
    as_of: int


class Compaction(NamedTuple):
    """A `HistoryCompacted` at a version."""

    version: int
    until: int
    is_redacted: bool = False


@dataclass(frozen=True, slots=True)
class Amended:
    """What amended a conversation so far, in order of version."""

    adoptions: tuple[Adoption, ...] = ()
    compactions: tuple[Compaction, ...] = ()

    def adopt(self, version: int, told: Row) -> Amended:
        """Return it with an adoption, whose members are `told`; itself where that names no past."""
        event = LineAdopted.model_validate(told)
        if not refers_back(event, version):
            return self
        adopted = None if event.adopted is None else str(event.adopted)
        as_of = event.as_of or event.after
        adoption = Adoption(version, adopted, event.begun, event.after, as_of)
        return replace(self, adoptions=(*self.adoptions, adoption))

    def compact(self, version: int, until: int) -> Amended:
        """Return it with a summary of what was said up to a version; itself where that is to come."""
        if not refers_back(HistoryCompacted(summary="", until=until), version):
            return self
        compaction = Compaction(version, until)
        return replace(self, compactions=(*self.compactions, compaction))

    def redact(self, version: int) -> Amended:
        """Return it without the summary at a version; itself if there is none."""
        if all(told.version != version for told in self.compactions):
            return self
        told = (
            each._replace(is_redacted=True) if each.version == version else each
            for each in self.compactions
        )
        return replace(self, compactions=tuple(told))

    def shown(self) -> tuple[Stretch, ...]:
        """Return what the main line is made of by now, behind what a summary stands for."""
        line = self._line(FOR_EVER)
        until = self._summarised(line)
        return tuple(
            stretch._replace(after=max(stretch.after, until))
            for stretch in line
            if stretch.until > until
        )

    def _line(self, as_of: int) -> tuple[Stretch, ...]:
        """Return what the main line was made of at a version."""
        found: list[Stretch] = []
        cut = as_of
        while adoption := self._last_adoption(as_of):
            if cut >= adoption.version:
                found.append(Stretch(adoption.version - 1, cut))
                cut = adoption.version - 1
            if adoption.begun is not None and cut >= adoption.begun:
                found.append(Stretch(adoption.begun - 1, cut, adoption.adopted))
            cut, as_of = min(cut, adoption.after), adoption.as_of
        return (Stretch(0, cut), *reversed(found))

    def _last_adoption(self, as_of: int) -> Adoption | None:
        return next((each for each in reversed(self.adoptions) if each.version <= as_of), None)

    def _summarised(self, line: tuple[Stretch, ...]) -> int:
        """Return the version up to which a summary stands for the main line; 0 if none does."""
        for version, until, is_redacted in reversed(self.compactions):
            is_on_line = any(stretch.has(version, None) for stretch in line)
            if is_redacted:
                continue
            if is_on_line or _up_to(self._line(version), until) == _up_to(line, until):
                return until
        return 0


def is_shown(shown: Iterable[Stretch], version: int, line: str | None) -> bool:
    """Whether the main line has an event."""
    return any(stretch.has(version, line) for stretch in shown)


def changed_from(before: tuple[Stretch, ...], now: tuple[Stretch, ...]) -> int | None:
    """Return the first version at which two lines may differ; None if they do not."""
    for one, other in zip(before, now, strict=False):
        if one == other:
            continue
        if (one.after, one.line) == (other.after, other.line):
            return min(one.until, other.until) + 1
        return min(one.after, other.after) + 1
    longer = before[len(now) :] or now[len(before) :]
    return longer[0].after + 1 if longer else None


def amended_in(state: Any) -> Amended:
    """Return what `stated` gave, read again."""
    return Amended(
        tuple(Adoption(*told) for told in state["adoptions"]),
        tuple(Compaction(*told) for told in state["compactions"]),
    )


def stated(amended: Amended) -> Row:
    """Return it as JSON."""
    return {
        "adoptions": [list(told) for told in amended.adoptions],
        "compactions": [list(told) for told in amended.compactions],
    }


def _up_to(line: tuple[Stretch, ...], until: int) -> list[Stretch]:
    """Return the stretches of a line up to a version, none of them empty."""
    return list(_cut(line, until))


def _cut(line: tuple[Stretch, ...], until: int) -> Iterator[Stretch]:
    for stretch in line:
        if stretch.after < until:
            yield stretch._replace(until=min(stretch.until, until))
