"""The conversations of a log that are moved into another one: which are, and which are left out and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast
from uuid import UUID

from onrecord.adapters.encryption.encrypted_log import EncryptedLog
from onrecord.adapters.inputs.arguments import text_given
from onrecord.adapters.streams.lineage import Lineages, beginning_of, is_forgotten
from onrecord.domain import jsontext
from onrecord.domain.actors import name_of
from onrecord.domain.encoding import Erased
from onrecord.domain.encryption.subjects import subjects_of
from onrecord.domain.errors import CorruptRecord, InvalidInput
from onrecord.domain.events import ConversationStarted
from onrecord.domain.log import Backend, RecordedEvent
from onrecord.domain.marks.marked_ids import is_marked

_PAGE: Final = 1_000
FORGOTTEN: Final = "it was forgotten"
APPLICATION: Final = "it is an aggregate of an application of eventsourcing"
ORIGIN_LEFT: Final = "it is a fork of one that is left out"
ORIGIN_ERASED: Final = "it is a fork of one that was erased in the new log"


@dataclass(slots=True)
class MovedConversation:
    """A conversation of the old log; `present` is the version that it has in the new one.

    `why_left_out` is None where it is moved. `owners` may have the bytes of its documents. `subjects` are those
    that are named for it. `is_erased`: it was forgotten in the old log, and its events say nothing.
    """

    tenant: UUID
    present: int
    why_left_out: str | None
    owners: tuple[UUID, ...]
    subjects: tuple[str, ...] = ()
    is_erased: bool = False
    key: str | None = None

    @property
    def shown_key(self) -> str:
        """Return its key as an error shows it behind an id; nothing where it has none."""
        return "" if self.key is None else f" {self.key!r}"


class MovedConversations:
    """Decides for each conversation, by its beginning, whether it is moved."""

    def __init__(
        self,
        source: Backend,
        destination: EncryptedLog | None,
        subjects: Mapping[tuple[UUID, str], tuple[str, ...]],
    ) -> None:
        """Look at both logs; `subjects` are named by tenant and key. Without a new log nothing is there yet."""
        self._source = source
        self._destination = destination
        self._subjects = subjects
        self._known = dict[UUID, MovedConversation]()

    def of(self, event: RecordedEvent) -> MovedConversation:
        """Return the conversation of an event."""
        known = self._known.get(event.conversation_id)
        if known is None:
            known = self._look(event)
            self._known[event.conversation_id] = known
        return known

    def _look(self, first: RecordedEvent) -> MovedConversation:
        id_, tenant = first.conversation_id, first.client_header().tenant
        present = 0 if self._destination is None else self._destination.head(id_).version
        if first.type != "conversation.started":
            return MovedConversation(tenant, present, APPLICATION, ())
        begun = first.event()
        if isinstance(begun, Erased):
            why = None if present else FORGOTTEN
            return MovedConversation(tenant, present, why, (id_,), is_erased=True)
        key = begun.key if isinstance(begun, ConversationStarted) else None
        origin = beginning_of(self._source, id_).origin
        why = None if origin is None or present else self._why_without(origin)
        if origin is not None and (why is not None or not self._is_moved(origin)):
            return MovedConversation(tenant, present, why, (id_,), key=key)
        subjects = () if key is None else self._subjects.get((tenant, key), ())
        owners = (id_,) if origin is None else self._owners(id_)
        return MovedConversation(tenant, present, None, owners, subjects, key=key)

    def _why_without(self, origin: UUID) -> str | None:
        """Return why a fork that is not there yet is left out with its origin; None where it is not.

        It repeats what its origin says: what was erased in the new log must not come back by it.
        """
        if not self._is_moved(origin):
            return ORIGIN_LEFT
        new = self._destination
        return ORIGIN_ERASED if new is not None and is_forgotten(new, origin) else None

    def _is_moved(self, conversation_id: UUID) -> bool:
        known = self._known.get(conversation_id)
        return known is not None and known.why_left_out is None

    def _owners(self, conversation_id: UUID) -> tuple[UUID, ...]:
        lineage = Lineages(self._source, conversation_id).whole(
            self._source.head(conversation_id).version
        )
        return tuple(dict.fromkeys(each.conversation_id for each in reversed(lineage)))

    def must_not_be_forgotten(self, conversation_id: UUID) -> None:
        """Raise InvalidInput where a conversation that is moved was forgotten in the old log alone."""
        known = self._known.get(conversation_id)
        if known is None or known.why_left_out is not None or self._destination is None:
            return
        if is_forgotten(self._source, conversation_id) and not is_forgotten(
            self._destination.stored, conversation_id
        ):
            raise InvalidInput(
                f"the conversation {conversation_id} was forgotten in the old log after it was moved: "
                "forget it in the new one too, and move again"
            )


class MovedActors:
    """Who acted, by the keyed digests of two logs."""

    def __init__(self, source: Backend, destination: Backend) -> None:
        """Ask the directories of both."""
        self._source = source
        self._destination = destination
        self._known = dict[tuple[UUID, str], str]()

    def moved(self, tenant: UUID, digest: str) -> str:
        """Return the digest that an actor has in the new log, which then keeps the name.

        One whose name the old log has not, or has no more, stays as it is.
        """
        known = self._known.get((tenant, digest))
        if known is None:
            known = self._moved(tenant, digest)
            self._known[tenant, digest] = known
        return known

    def _moved(self, tenant: UUID, digest: str) -> str:
        name = name_of(self._source.actors(), tenant, digest)
        if name is None:
            return digest
        new = self._destination.digest(name)
        self._destination.actors().keep(tenant, new, name)
        return new.hex()

    def is_same(self, tenant: UUID, old: str, new: str) -> bool:
        """Whether two digests are of one actor; so it is, too, where neither log has the name any more."""
        if self._known.get((tenant, old)) == new:
            return True
        named = (
            name_of(self._source.actors(), tenant, old),
            name_of(self._destination.actors(), tenant, new),
        )
        names = [name for name in named if name is not None]
        return all(
            self._source.digest(name).hex() == old and self._destination.digest(name).hex() == new
            for name in names
        )


def subjects_in(
    file: Path, source: Backend, tenant: UUID | None
) -> dict[tuple[UUID, str], tuple[str, ...]]:
    """Return whom the conversations of a tenant are about, as lines of JSON say: `key` and `subjects`.

    Without a tenant they are of the only one that the old log has. InvalidInput where it has several, and
    at the first line that does not say so, whose key no conversation of the tenant has, or an earlier line.
    """
    tenant = _only_tenant(source) if tenant is None else tenant
    found = dict[tuple[UUID, str], tuple[str, ...]]()
    lines = dict[str, int]()
    for number, line in enumerate(file.read_bytes().splitlines(), 1):
        if line.strip():
            try:
                key, names = _subjects_of(line)
                subjects_of(tenant, tenant, names)
            except (CorruptRecord, InvalidInput, KeyError, TypeError, ValueError):
                raise InvalidInput(
                    f'line {number} of {file} is not as {{"key": "support/4711", "subjects": ["ann"]}}'
                ) from None
            if source.find(tenant, key) is None:
                raise InvalidInput(
                    f"line {number} of {file}: no conversation of the tenant {tenant} has that key"
                )
            if (before := lines.setdefault(key, number)) != number:
                raise InvalidInput(
                    f"lines {before} and {number} of {file} are of one key: name all its subjects in one line"
                )
            found[tenant, key] = names
    return found


def _only_tenant(source: Backend) -> UUID:
    """Return the tenant of all conversations of a log; InvalidInput where there are several, or none."""
    found = first_tenants(source)
    if len(found) > 1:
        raise InvalidInput(
            "the old log has conversations of several tenants: say with --tenant of which the subjects are"
        )
    if not found:
        raise InvalidInput("the old log has no conversations: leave --subjects out")
    return found.pop()


def first_tenants(log: Backend) -> set[UUID]:
    """Return the tenants that a log has conversations of, as far as it takes to tell one from several."""
    found = set[UUID]()
    after: UUID | None = None
    while True:
        with log.inventory().moment() as moment:
            heads = moment.heads(after, _PAGE)
        found.update(head.tenant for head in heads if not is_marked(head.conversation_id))
        if len(found) > 1 or len(heads) < _PAGE:
            return found
        after = heads[-1].conversation_id


def _subjects_of(line: bytes) -> tuple[str, tuple[str, ...]]:
    members = jsontext.read_object(line)
    key, names = members["key"], members["subjects"]
    if not isinstance(key, str) or not isinstance(names, list) or len(members) > 2 or not names:
        raise ValueError
    return key, tuple(text_given("a subject", name) for name in cast("list[object]", names))
