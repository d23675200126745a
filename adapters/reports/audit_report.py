"""What a report of the audit is made of: what was asked, of which log, and the entries, page by page.

Only one page of entries of a kind is in memory, and a count of each thing that is summed up.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from heapq import merge
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from onrecord.adapters.presentation.conversations import require_conversation
from onrecord.adapters.settings import SealSettings
from onrecord.adapters.store import Store, backend_of
from onrecord.adapters.terminal.view_listings import AUDIT_BY_ID, AUDIT_ENTRIES
from onrecord.adapters.terminal.view_pages import caught_up
from onrecord.adapters.views.catching_up import CaughtUpPage
from onrecord.domain.encryption.subjects import subject_id
from onrecord.domain.errors import counted
from onrecord.domain.header import timestamp
from onrecord.domain.operators import SHAPES, ErasureFact, HoldFact, RetentionFact
from onrecord.projections.views.audit import AuditEntry

if TYPE_CHECKING:
    from onrecord.adapters.seals.checkpoints import SealedCheckpoint
    from onrecord.adapters.views.pages import Page
    from onrecord.domain.log import Backend

PAGE: Final = 1_000
"""How many entries are read at once."""

_ASKED: Final[Mapping[str, str]] = {
    "conversation": "In the conversation",
    "subject": "About the subject whose digest is",
    "actor": "Done by",
    "on_behalf_of": "Done for",
    "type": "Of the type",
    "model": "With the model",
    "tool": "With the tool",
    "policy": "Under the policy",
    "deployment": "By the deployment",
    "document": "About the document",
    "text": "Saying",
    "outcome": "With the outcome",
    "label": "In conversations with the label",
    "label_value": "Whose value is",
    "since": "From",
    "until": "Before",
}
"""Each filter, in words."""

_UPKEEP: Final = tuple(
    name
    for name, shape in SHAPES.items()
    if issubclass(shape, ErasureFact | HoldFact | RetentionFact)
)
"""Names of what operators do about what is kept, and of what goes."""

_PLACED: Final = ("conversation", "since", "until")
"""The filters that hold for erasures and holds as well."""


@dataclass(frozen=True, slots=True)
class Heading:
    """What stands above a report: who made it, when, of which log, and what was asked.

    `asked` are the filters in words. `seals` are the last checkpoints that are known here, with the
    place of each. `position` is how far the view had come in the log. Times are in microseconds since
    1970-01-01 UTC.
    """

    made_by: str
    made_at: int
    tenant: UUID
    log_id: UUID
    incarnation: UUID
    url: str
    asked: tuple[tuple[str, str], ...]
    seals: tuple[tuple[SealedCheckpoint, str], ...]
    position: int


def _counters() -> dict[str, Counter[str]]:
    return {kind: Counter[str]() for kind in ("type", "outcome", "actor", "model", "tool")}


@dataclass(slots=True)
class Tally:
    """How many entries there were of each kind, and when the first and the last were recorded."""

    count: int = 0
    first_at: int | None = None
    last_at: int | None = None
    kinds: dict[str, Counter[str]] = field(default_factory=_counters)

    def add(self, entry: AuditEntry) -> None:
        """Count an entry; they come the latest first."""
        self.count += 1
        self.first_at = entry.recorded_at
        self.last_at = entry.recorded_at if self.last_at is None else self.last_at
        actor = entry.actor_name or entry.actor
        names = (entry.type, entry.outcome, actor, entry.model, entry.tool)
        for counter, name in zip(self.kinds.values(), names, strict=True):
            if name is not None:
                counter[name] += 1


class AuditReport:
    """The whole audit of a question, to be written once: `heading`, then `entries`, then `upkeep`."""

    def __init__(
        self,
        store: Store,
        filters: Mapping[str, Any],
        made_by: str,
        sealing: SealSettings | None = None,
        *,
        by_id: bool = False,
    ) -> None:
        """Read the first page, from a view that has what the log had; filters are those of `audit`.

        Besides these, `subject` is the keyed digest of a subject, in hex, in place of a conversation.
        `sealing` says where the log is sealed and who signs; without it no seal is told of. `by_id`
        leaves out the keys of conversations.
        """
        asked = {name: value for name, value in filters.items() if value is not None}
        self._filters: dict[str, Any] = {**asked, **_about(store, asked)}
        self._filters.pop("subject", None)
        if by_id and "conversation" in asked:
            asked["conversation"] = self._filters["conversation"]
        self._listing = AUDIT_BY_ID if by_id else AUDIT_ENTRIES
        self.by_id = by_id
        self._store = store
        self._first = caught_up(store, lambda: self._page(self._filters, None))
        self.tally = Tally()
        self.remarks = tuple(_remarks(self._first))
        self.heading = _heading(
            store, asked, made_by, self._first.page.position, sealing or SealSettings()
        )

    def entries(self) -> Iterator[AuditEntry]:
        """Yield the entries, the latest first, and count them."""
        for entry in self._all(self._filters, self._first.page):
            self.tally.add(entry)
            yield entry

    def upkeep(self) -> Iterator[AuditEntry]:
        """Yield erasures, legal holds and retention classes of that time, the latest first.

        They are those of everybody, whoever is asked for.
        """
        placed: dict[str, Any] = {
            name: self._filters[name] for name in _PLACED if name in self._filters
        }
        kinds = (self._of_type({**placed, "type": type_}) for type_ in _UPKEEP)
        yield from merge(*kinds, key=lambda entry: entry.position, reverse=True)

    def _of_type(self, filters: Mapping[str, Any]) -> Iterator[AuditEntry]:
        yield from self._all(filters, self._page(filters, None))

    def _all(self, filters: Mapping[str, Any], page: Page[AuditEntry]) -> Iterator[AuditEntry]:
        while True:
            yield from (self._listing.whole(self._store, entry) for entry in page)
            if page.after is None:
                return
            page = self._page(filters, page.after)

    def _page(self, filters: Mapping[str, Any], after: str | None) -> Page[AuditEntry]:
        return self._store.views.audit(**filters, limit=PAGE, after=after)


def _about(store: Store, asked: Mapping[str, Any]) -> dict[str, UUID]:
    """Return the filter by what was done in a conversation, or about a subject, as an id."""
    if "subject" in asked:
        return {"conversation": subject_id(store.tenant, bytes.fromhex(asked["subject"]))}
    if "conversation" in asked:
        return {"conversation": require_conversation(store, asked["conversation"]).conversation_id}
    return {}


def _remarks(first: CaughtUpPage[AuditEntry]) -> Iterator[str]:
    """Yield what a reader has to know of the view: that something may be missing."""
    page = first.page
    if page.stopped is not None:
        yield f"The view stands still: {page.stopped}."
    if first.lacks:
        yield f"{counted(first.lacks, 'event')} of the log not folded yet."
    if page.encrypted:
        yield f"The store is encrypted: {', '.join(page.encrypted)} of entries are not in this report."
    if page.parked:
        yield f"{counted(page.parked, 'conversation')} missing in part: see `onrecord parked`."


def _heading(
    store: Store, asked: Mapping[str, Any], made_by: str, position: int, sealing: SealSettings
) -> Heading:
    from onrecord.domain.seals.checkpoint import log_id_of

    backend = backend_of(store)
    return Heading(
        made_by=made_by,
        made_at=time.time_ns() // 1000,
        tenant=store.tenant,
        log_id=log_id_of(backend.digest),
        incarnation=backend.incarnation(),
        url=store.url,
        asked=tuple((words, _said(asked[name])) for name, words in _ASKED.items() if name in asked),
        seals=tuple(_last_seals(backend, sealing)),
        position=position,
    )


def _said(value: object) -> str:
    return f"{value:%Y-%m-%d %H:%M %Z}" if isinstance(value, datetime) else str(value)


def _last_seals(backend: Backend, sealing: SealSettings) -> Iterator[tuple[SealedCheckpoint, str]]:
    """Yield the last checkpoint of each shard, as the first place has it that is believed."""
    if not sealing.places:
        return
    from onrecord.adapters.seals.checkpoints import ShardSeals
    from onrecord.adapters.seals.places import place_at
    from onrecord.adapters.seals.trust import trusted_keys
    from onrecord.domain.seals.checkpoint import log_id_of

    keys, log_id = trusted_keys(sealing).keys, log_id_of(backend.digest)
    places = [place_at(url) for url in sealing.places] if keys else []
    for cursor in backend.cursors():
        kept = (ShardSeals(place, log_id, cursor.shard, keys) for place in places)
        found = ((seals.last(), str(seals.place)) for seals in kept)
        sealed = next(((last, place) for last, place in found if last is not None), None)
        if sealed is not None:
            yield sealed


def heading_document(heading: Heading) -> dict[str, Any]:
    """Return what stands above a report, as JSON."""
    return {
        "made_by": heading.made_by,
        "made_at": timestamp(heading.made_at),
        "tenant": str(heading.tenant),
        "log": str(heading.log_id),
        "incarnation": str(heading.incarnation),
        "url": heading.url,
        "asked": [list(each) for each in heading.asked],
        "position": heading.position,
        "seals": [
            {
                "shard": sealed.checkpoint.shard,
                "size": sealed.checkpoint.size,
                "root": str(sealed.checkpoint.root),
                "sealed_at": timestamp(sealed.checkpoint.sealed_at),
                "place": place,
            }
            for sealed, place in heading.seals
        ],
    }
