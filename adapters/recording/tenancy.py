"""What the conversations of a tenant share: the store, who acts, and the recorders of their wires."""

from __future__ import annotations

import hmac
import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Protocol, Unpack
from uuid import UUID
from weakref import WeakSet, WeakValueDictionary

from uuid_utils.compat import uuid7

from onrecord.adapters.caches.newest import Newest
from onrecord.adapters.inputs.arguments import key_given, text_given
from onrecord.adapters.recording.spool import Spool
from onrecord.adapters.streams.event_reading import uncounted
from onrecord.adapters.streams.lineage import beginning_of
from onrecord.adapters.streams.stream import Stream
from onrecord.domain.errors import InvalidInput, StorageReadOnly
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.log import Backend
from onrecord.domain.new_events import NOBODY, Attribution

if TYPE_CHECKING:
    from onrecord.adapters.recording.actor_names import ActorNames, AttributionNames
    from onrecord.adapters.recording.recorder import Recorder
    from onrecord.adapters.streams.folds import FoldCache
    from onrecord.adapters.streams.stream import Appends


logger = logging.getLogger("onrecord")

NO_MATRIX: Final[Mapping[str, JsonObject]] = MappingProxyType({})
"""No file says what models take."""


class Tenancy:
    """One tenant's use of a store; its conversations are streams of it.

    `names` are who acts, and under which rules, where nothing nearer says so; only keyed digests are
    kept of people. `matrix` is what a file of the caller's says that models take, by API.
    `recorders` are the wire's side of the conversations, one each. `folds` are those that this process
    keeps of the conversations, of so many bytes; None if it keeps none. `count` is told of each read.
    """

    def __init__(
        self,
        backend: Backend,
        tenant: UUID,
        spool: Spool,
        *,
        matrix: Mapping[str, JsonObject] = NO_MATRIX,
        folds: int = 0,
        count: Callable[[str], None] = uncounted,
        **names: Unpack[AttributionNames],
    ) -> None:
        """Hold what the conversations share."""
        self.backend = backend
        self._appends: Appends | None = None
        self.tenant = tenant
        self.spool = spool
        self.default = self.names.attribution(**names)
        self.matrix = matrix
        self.count = count
        self.recorders = Recorders(self)
        self.folds = _folds_of(folds, self.recorders.drop_texts)

    def drop_texts(self) -> None:
        """Keep nothing in memory that conversations say: what was folded, sent and rendered so far."""
        if self.folds is not None:
            self.folds.drop()
        self.recorders.drop_texts()

    def stream(
        self, key: str, holder: Attribution = NOBODY, subjects: Iterable[str] = ()
    ) -> Stream:
        """Return the stream of the conversation of a key; InvalidInput for what is no key.

        `holder` is who acts in it. `subjects` are those it is about, in an encrypted store.
        """
        stream = Stream(
            self.backend,
            key_given(key),
            tenant=self.tenant,
            spool=self.spool,
            names=self.names,
            holder=holder,
            default=self.default,
            subjects=subjects_given(self.backend, subjects),
        )
        return stream if self._appends is None else stream.appending_by(self._appends)

    def appending_by(self, appends: Appends) -> Tenancy:
        """Return the same, but its streams' events are appended by something else."""
        # Late: a log that is not encrypted needs none of it.
        from onrecord.adapters.encryption.encrypted_log import appends_to

        joined = copy(self)
        joined._appends = appends_to(self.backend, appends)
        return joined

    @cached_property
    def names(self) -> ActorNames:
        """Where the names of those who act are kept."""
        from onrecord.adapters.recording.actor_names import ActorNames

        return ActorNames(self.backend, self.tenant)


def subjects_given(backend: Backend, names: Iterable[str]) -> tuple[str, ...]:
    """Return names of subjects; InvalidInput where they are none, or the log is not encrypted here."""
    subjects = (names,) if isinstance(names, str) else tuple(names)
    if not subjects:
        return ()
    # Late: a log that is not encrypted needs none of it.
    from onrecord.adapters.encryption.encrypted_log import EncryptedLog
    from onrecord.domain.encryption.subjects import subjects_of

    if not isinstance(backend, EncryptedLog):
        raise InvalidInput(
            "subjects have keys in an encrypted store alone, and are named where its log is: connect "
            "to that by its own URL, with its keys, or name none"
        )
    for name in subjects:
        text_given("a subject", name)
    subjects_of(UUID(int=0), UUID(int=0), subjects)
    return subjects


def _folds_of(max_bytes: int, drop_others: Callable[[], None]) -> FoldCache | None:
    if not max_bytes:
        return None
    from onrecord.adapters.streams.folds import FoldCache

    return FoldCache(max_bytes, drop_others)


# The recorders of a store's conversations: one a conversation, however many clients record it.

HEADER: Final = "onrecord-conversation"
"""The header that binds a call to a conversation; it is taken out before anything is sent."""

_PART: Final = ";"
"""What stands in the header between the conversation's id and who acts."""

_LATEST: Final = 64
"""How many recorders are kept though nobody holds them: a server meets its conversations again."""

REMEMBERED: Final = 8
"""How many rendered requests are kept in mind, to know them again on the wire."""


class TextHolder(Protocol):
    """What keeps text of a conversation in mind."""

    def drop_texts(self) -> None:
        """Keep no text in mind."""
        ...


class Recorders:
    """Finds the recorder of a conversation; safe to share between threads."""

    def __init__(self, tenancy: Tenancy) -> None:
        """Serve the conversations of a tenant."""
        self._tenancy = tenancy
        self._by_conversation: WeakValueDictionary[UUID, Recorder] = WeakValueDictionary()
        self._latest: Newest[UUID, Recorder] = Newest(_LATEST)
        self._waiting: WeakSet[TextHolder] = WeakSet()
        self._lock = threading.Lock()
        self._said_unbound = False

    def of(self, stream: Stream) -> Recorder:
        """Return the recorder of a conversation, made if there is none."""
        from onrecord.adapters.recording.recorder import Recorder

        conversation_id = stream.conversation_id
        with self._lock:
            recorder = self._by_conversation.get(conversation_id)
            if recorder is None:
                # It is shared, so it is nobody's own: who acts comes with each request.
                recorder = self._by_conversation[conversation_id] = Recorder(
                    stream.shared(), self._tenancy.spool
                )
            self._latest[conversation_id] = recorder
        return recorder

    def drop_texts(self) -> None:
        """Have nothing keep text of its conversation in mind: recorders, nor who will need one."""
        with self._lock:
            holders = [*self._by_conversation.values(), *self._waiting]
        for holder in holders:
            holder.drop_texts()

    def note_waiting(self, holder: TextHolder) -> None:
        """Take note of who keeps what was rendered until its conversation has a recorder."""
        with self._lock:
            self._waiting.add(holder)

    def known(self, conversation_id: UUID) -> Recorder | None:
        """Return the recorder of a conversation, if it has one by now."""
        with self._lock:
            return self._by_conversation.get(conversation_id)

    def keyed(self, key: str) -> Recorder:
        """Return the recorder of the conversation of a key, which begins with its first event."""
        return self.of(self._tenancy.stream(key))

    def find(self, key: str) -> Recorder | None:
        """Return the recorder of the conversation of a key, if there is one."""
        is_known = self._tenancy.backend.find(self._tenancy.tenant, key) is not None
        return self.keyed(key) if is_known else None

    def numbered(self, conversation_id: UUID) -> Recorder | None:
        """Return the recorder of a conversation by its id; None if it was forgotten."""
        key = beginning_of(self._tenancy.backend, conversation_id).key
        return None if key is None else self.keyed(key)

    def header(self, stream: Stream) -> dict[str, str]:
        """Return the header that binds a call to a conversation: its id, and a proof of ours.

        Who acts in the conversation stands in it too, as digests, where its holder says so, and so
        does under which rules.
        """
        holder = stream.holder
        stream.names.keep(holder)  # Another process may make the call, and knows no name.
        parts = [str(stream.conversation_id)]
        if holder:
            parts += [holder.actor or "", holder.on_behalf_of or ""]
        if holder.policy or holder.deployment:
            parts += [holder.policy or "", holder.deployment or ""]
        name = _PART.join(parts)
        return {HEADER: f"{name}.{self._proof(name)}"}

    def named(self, header: str) -> Recorder:
        """Return the recorder of the conversation that a header names.

        InvalidInput where it is not one that this store gave, or gave in another process for a
        conversation in which nothing was said yet.
        """
        conversation_id = UUID(self._proven(header).partition(_PART)[0])
        recorder = self.known(conversation_id) or self.numbered(conversation_id)
        if recorder is None:
            raise InvalidInput(
                "nothing was said in the conversation of this header: say something before "
                "another process calls for it"
            )
        return recorder

    def attribution(self, header: str) -> Attribution:
        """Return who acts and under which rules, as a header says; InvalidInput where it is not one that this store gave."""
        parts: list[str | None] = [part or None for part in self._proven(header).split(_PART)]
        parts += [None] * (5 - len(parts))
        _, actor, on_behalf_of, policy, deployment = parts
        return Attribution(actor, on_behalf_of, policy=policy, deployment=deployment)

    def unbound(self) -> Recorder:
        """Return the recorder of a new conversation, for a call that is bound to none."""
        if not self._said_unbound:
            self._said_unbound = True
            logger.warning(
                "a call is bound to no conversation: it has one of its own, as all such calls; "
                "use chat.record(client), extra_headers=chat.headers, or `with chat.recording():`"
            )
        return self.keyed(f"unbound/{uuid7()}")

    def _proven(self, header: str) -> str:
        """Return what a header says before its proof; InvalidInput where that is not ours."""
        name, _, proof = header.rpartition(".")
        if not hmac.compare_digest(self._proof(name).encode(), proof.encode()):
            raise InvalidInput(
                f"the header {HEADER} is not one of this store: give chat.headers as it is"
            )
        return name

    def _proof(self, name: str) -> str:
        # By no digest of a text: whoever chooses one, as a name or as a secret, may see its digest.
        prove = self._tenancy.backend.prover(self._tenancy.tenant)
        if prove is None:
            raise StorageReadOnly(
                "this role proves nothing for the tenant: connect as another role"
            )
        return prove(f"{HEADER} {name}".encode()).hex()
