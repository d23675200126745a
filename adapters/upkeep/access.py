"""Who read what of a tenant: what `store.access` gives."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Final
from uuid import UUID

from pydantic import ValidationError

from onrecord.adapters.inputs.arguments import of_kind, text_given
from onrecord.adapters.recording.tenancy import Tenancy
from onrecord.adapters.streams.lineage import keys_of
from onrecord.adapters.upkeep.access_log import DAY, AccessLog, ReadCounts, now
from onrecord.domain import jsontext
from onrecord.domain.errors import InvalidInput, OnrecordError, StorageUnavailable
from onrecord.domain.header import microseconds_of
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.marks.marked_ids import is_marked
from onrecord.domain.operators import LAST_MOMENT, MOST_CONVERSATIONS, AccessRead
from onrecord.projections.access.access_records import AccessEntry

if TYPE_CHECKING:
    from onrecord.adapters.settings import AccessMode

logger = logging.getLogger("onrecord")

_RECENT: Final = 30 * DAY
_AHEAD: Final = DAY
"""How far the clock of another reader may be ahead, in microseconds."""


class StoreAccess:
    """Who read what of a tenant. Get it as `store.access`.

    `mode` says whether reads are recorded: "off", "on", or "required", where what cannot be recorded
    is not shown.
    """

    def __init__(
        self,
        tenancy: Tenancy,
        mode: AccessMode,
        actor: str | None,
        *,
        id_of: Callable[[str | UUID], UUID],
    ) -> None:
        """Record what of a tenant is read; `actor` is who reads where nobody is named."""
        self.mode = mode
        self._backend = backend = tenancy.backend
        self._tenant = tenant = tenancy.tenant
        self._actor = actor
        self._id_of = id_of
        self._log = AccessLog(backend, tenant, tenancy.names)
        self.counts = ReadCounts(partial(self._log.record, actor=actor), tenant)

    def record(
        self,
        via: str,
        *,
        which: str | UUID | None = None,
        asked: Mapping[str, object] | None = None,
        entries: int | None = None,
        conversations: Iterable[UUID] = (),
        actor: str | None = None,
        key_id: UUID | None = None,
    ) -> bool:
        """Record that a person reads, before anything is shown; return False where it is not recorded.

        That is where the log is off, and where recording failed in the mode "on".

        `via` is the command, the route or a word of yours. `which` is the conversation (its key, or its
        id), `asked` what a query was given, of which the names are recorded and a keyed digest,
        `entries` how many are shown, `conversations` the ids of those that a page shows something of (1,000
        are named, more are counted), `actor` who reads. What fails is warned of;
        StorageUnavailable, and nothing may be shown, where the mode is "required". InvalidInput says
        which argument is wrong.
        """
        if self.mode == "off":
            return False
        given = {name: value for name, value in (asked or {}).items() if value is not None}
        on = None if which is None else self._id_of(which)
        shown = tuple(dict.fromkeys(each for each in conversations if not is_marked(each)))
        try:
            fact = AccessRead(
                tenant=self._tenant,
                conversation_id=on,
                via=text_given("via", via),
                asked=tuple(sorted(given)),
                query=self._query(given) if given else None,
                key_id=key_id,
                entries=entries,
                conversations=shown[:MOST_CONVERSATIONS],
                more=len(shown[MOST_CONVERSATIONS:]),
                at=now(),
            )
        except ValidationError as error:
            member = error.errors(include_url=False, include_input=False)[0]["loc"][0]
            raise InvalidInput(
                f"{member} is not as the access log takes it: texts have 1 to 200 characters, entries are "
                "0 or more"
            ) from None
        try:
            self._log.record(fact, actor or self._actor)
        except OnrecordError as error:
            if self.mode == "required":
                raise StorageUnavailable(
                    f"nothing is shown, for that it is read could not be recorded: {error}"
                ) from error
            logger.warning("that something was read could not be recorded: %s", error)
            return False
        return True

    def entries(
        self,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        actor: str | None = None,
        conversation: str | UUID | None = None,
        limit: int = 50,
    ) -> list[AccessEntry]:
        """Return what was read, the last day first and in it the last recorded: at most `limit` entries.

        From `since` on (else from 30 days before `until`) and before `until` (else until now), by
        `actor` (the name, or the keyed digest in hex), of a conversation (its key, or its id): who read it, and
        whom a page or an export showed something of it. What programs read counts for no conversation.
        InvalidInput says which argument is wrong.
        """
        if limit < 1:
            raise InvalidInput("limit is at least 1")
        begin, end = self._moment("since", since), self._moment("until", until)
        if begin is None:
            begin = max(0, (now() if end is None else end) - _RECENT)
        if end is None:
            end = now() + _AHEAD
        which = None if conversation is None else self._id_of(conversation)
        readers = None if actor is None else {self._backend.digest(actor).hex(), actor}
        found = (
            entry
            for entry in self._log.entries(begin, end)
            if (which is None or entry.showed(which))
            and (readers is None or entry.actor in readers)
        )
        return list(self._named(list(islice(found, limit))))

    def _counts_of(self, actor: str, key_id: UUID | None) -> ReadCounts:
        return ReadCounts(partial(self._log.record, actor=actor), self._tenant, key_id=key_id)

    def _query(self, given: Mapping[str, object]) -> str:
        plain: JsonObject = {name: str(value) for name, value in given.items()}
        return self._backend.digest(jsontext.write_canonical(plain).decode()).hex()

    def _moment(self, name: str, time: datetime | None) -> int | None:
        if time is None:
            return None
        if of_kind(datetime, name, time).tzinfo is None:
            raise InvalidInput(f"{name} is a time with a zone: give it tzinfo, such as UTC")
        return min(max(0, microseconds_of(time)), LAST_MOMENT)

    def _named(self, entries: list[AccessEntry]) -> Iterator[AccessEntry]:
        """Yield entries with the keys of conversations and the names of those who read, as far as there are."""
        # Views are many modules, which a program that only records needs none of.
        from onrecord.adapters.views.row_names import actor_names

        names = actor_names(self._backend, self._tenant, (entry.actor for entry in entries))
        ids = (entry.conversation_id for entry in entries)
        keys = keys_of(self._backend, (id_ for id_ in ids if id_ is not None))
        for entry in entries:
            on = entry.conversation_id
            key = None if on is None else keys.get(on)
            yield replace(entry, key=key, actor_name=names.get(entry.actor or ""))


def counts_of(access: StoreAccess, actor: str, key_id: UUID | None) -> ReadCounts:
    """Return new counts of what a program reads by a key: for what is built on a store, not for its users."""
    return access._counts_of(actor, key_id)  # pyright: ignore[reportPrivateUsage]  # its own module's
