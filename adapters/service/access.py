"""Who may ask the service for what: roles, keys, and the tenant that a key is for."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol, TypeAlias, cast
from uuid import UUID

from starlette.responses import Response

from onrecord.adapters.asynchronous.store import AsyncStore, store_of
from onrecord.adapters.caches.newest import Newest
from onrecord.adapters.store import Store
from onrecord.adapters.upkeep.access import counts_of
from onrecord.adapters.upkeep.access_log import ReadCounts

Role: TypeAlias = Literal["read", "write", "operate"]
"""What a key may do: read; read and write; all that operators do, too."""

_RANKS: Final[dict[Role, int]] = {"read": 0, "write": 1, "operate": 2}


@dataclass(frozen=True, slots=True)
class Access:
    """What whoever asks may do, and in whose conversations.

    `name` says who it is. A program comes with a key, a person by an issuer. Where neither was needed,
    `key_id` and `person_id` are None. Whoever has `all_tenants` may name another tenant in a request.
    """

    tenant: UUID
    role: Role
    name: str
    key_id: UUID | None = None
    all_tenants: bool = False
    person_id: UUID | None = None

    @property
    def caller_id(self) -> UUID | None:
        """The id of the key or of the person; None where neither was needed."""
        return self.key_id or self.person_id

    @property
    def serves_all_tenants(self) -> bool:
        """Whether it may see what is of all tenants: with a key for all of them, or where none was needed."""
        return self.caller_id is None or self.all_tenants

    @property
    def is_program(self) -> bool:
        """Whether a program asks: with a key that writes."""
        return self.role == "write" and self.person_id is None

    def allows(self, role: Role) -> bool:
        """Return whether it may do what needs a role."""
        return _RANKS[self.role] >= _RANKS[role]


class Keyring(Protocol):
    """The keys of a log. Its verbs may wait: they are steps of the log."""

    def access(self, token: str) -> Access | None:
        """Return what a key gives; None for what is no key, or none that counts now."""
        ...

    def is_used(self) -> bool:
        """Return whether a key was ever issued: from then on each request needs one."""
        ...

    def record_uses(self) -> int:
        """Record which keys were used since the last time; return of how many that was told."""
        ...


@dataclass(frozen=True, slots=True)
class Shows:
    """What an answer shows: how many entries, None where that is no list, and of which conversations."""

    entries: int | None = None
    conversations: tuple[UUID, ...] = ()


class ShowingResponse(Response):
    """An answer that says what it shows: the access log is told of it whatever its status is."""

    shows: Shows = Shows()


_MOST_COUNTS: Final = 1024
"""Of how many keys reads are counted at once; those of the others are told of before."""


class ReadsByKeys:
    """Tells the access logs of tenants what is read by keys, where they are on (docs/access.md).

    A key that writes is a program's: its reads are counted. One that reads only, or that operates, is a
    person's, and so is whoever needs none or comes by an issuer: each read is an entry.
    """

    def __init__(self) -> None:
        """Have told of nothing yet."""
        self._lock = threading.Lock()
        self._counts: Newest[tuple[UUID, UUID | None, str], ReadCounts] = Newest(_MOST_COUNTS)

    async def tell(
        self,
        store: AsyncStore,
        access: Access,
        via: str,
        *,
        key: str | None,
        asked: Mapping[str, object],
        shows: Callable[[], Shows],
        actor: str,
    ) -> None:
        """Tell of an answer before it is sent; StorageUnavailable where it may not be sent.

        `via` is the route, `key` that of the conversation, `asked` the query, and `actor` who asks.
        """
        plain = store_of(store)
        if access.is_program or "/v1/log" in via:
            self.count(plain, access, via, actor)
            return
        if plain.access.mode == "off":
            return
        given = {name: value for name, value in asked.items() if name not in _PAGING}
        what = shows()
        await store.access.record(
            via,
            which=key,
            asked=given,
            entries=what.entries,
            conversations=() if key is not None else what.conversations,
            actor=actor,
            key_id=access.key_id,
        )

    def flush(self) -> None:
        """Tell of all that was counted; it waits for the log."""
        with self._lock:
            counts = list(self._counts.values())
        for each in counts:
            each.flush()

    def count(self, store: Store, access: Access, via: str, actor: str) -> None:
        """Count a read of a program's, of which is told once a minute, where the access log is on."""
        if store.access.mode != "off":
            self._counts_of(store, access, actor).add(via)

    def _counts_of(self, store: Store, access: Access, actor: str) -> ReadCounts:
        name = store.tenant, access.key_id, actor
        with self._lock:
            known = self._counts.get(name)
            if known is None:
                known = counts_of(store.access, actor, access.key_id)
                self._counts[name] = known  # The timer of one that goes tells of it.
            return known


_PAGING: Final = frozenset(("after", "limit"))


def shows_of(response: Response, *, is_document: bool) -> Shows:
    """Return what an answer shows, as it says itself or as a document in JSON does."""
    if isinstance(response, ShowingResponse):
        return response.shows
    if not is_document:
        return Shows()
    lists = lists_in(bytes(response.body))
    return Shows(entries_in(lists), tuple(conversations_in(lists)))


def entries_in(lists: Sequence[Sequence[object]]) -> int:
    """Return how many entries an answer with such lists shows: those of its lists, else itself."""
    return sum(map(len, lists)) if lists else 1


def conversations_in(lists: Sequence[Sequence[object]]) -> list[UUID]:
    """Return the conversations that the entries of a view's page are of, as they come."""
    entries = (entry for each in lists for entry in each)
    rows = (cast("dict[str, object]", entry) for entry in entries if isinstance(entry, dict))
    ids = (row.get("conversation") for row in rows)
    return [UUID(each) for each in ids if isinstance(each, str)]


def lists_in(body: bytes) -> list[list[object]]:
    """Return the lists of an answer in JSON; none where it is no object."""
    try:
        document = cast("object", json.loads(body))
    except ValueError:
        return []
    if not isinstance(document, dict):
        return []
    members = cast("dict[str, object]", document).values()
    return [cast("list[object]", value) for value in members if isinstance(value, list)]
