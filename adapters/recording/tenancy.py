"""What the conversations of a tenant share: the store, who acts, and the recorders of their wires."""

from __future__ import annotations

import hmac
import logging
import threading
from collections import OrderedDict
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final
from uuid import UUID
from weakref import WeakValueDictionary

from uuid_utils.compat import uuid7

from onrecord.adapters.inputs.arguments import key_given
from onrecord.adapters.recording.spool import Spool
from onrecord.adapters.streams.lineage import beginning_of
from onrecord.adapters.streams.stream import Stream
from onrecord.domain.errors import InvalidInput
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.log import Backend

if TYPE_CHECKING:
    from onrecord.adapters.recording.recorder import Recorder
    from onrecord.adapters.redis.hot_windows import HotWindows


logger = logging.getLogger("onrecord")

NO_MATRIX: Final[Mapping[str, JsonObject]] = MappingProxyType({})
"""No file says what models take."""


class Tenancy:
    """One tenant's use of a store; its conversations are streams of it.

    `actor` is a keyed digest in hex, `matrix` what a file of the caller's says that models take, by
    API. `recorders` are the wire's side of the conversations, one each. `windows` are the requests
    that a Redis keeps, if there is one.
    """

    def __init__(
        self,
        backend: Backend,
        tenant: UUID,
        spool: Spool,
        *,
        actor: str | None = None,
        matrix: Mapping[str, JsonObject] = NO_MATRIX,
        windows: HotWindows | None = None,
    ) -> None:
        """Hold what the conversations share."""
        self.backend = backend
        self.tenant = tenant
        self.spool = spool
        self.actor = actor
        self.matrix = matrix
        self.windows = windows
        self.recorders = Recorders(self)

    def stream(self, key: str) -> Stream:
        """Return the stream of the conversation of a key; InvalidInput for what is no key."""
        return Stream(
            self.backend, key_given(key), tenant=self.tenant, spool=self.spool, actor=self.actor
        )


# The recorders of a store's conversations: one a conversation, however many clients record it.

HEADER: Final = "onrecord-conversation"
"""The header that binds a call to a conversation; it is taken out before anything is sent."""

_LATEST: Final = 64
"""How many recorders are kept though nobody holds them: a server meets its conversations again."""

REMEMBERED: Final = 8
"""How many rendered requests are kept in mind, to know them again on the wire."""


class Recorders:
    """Finds the recorder of a conversation; safe to share between threads."""

    def __init__(self, tenancy: Tenancy) -> None:
        """Serve the conversations of a tenant."""
        self._tenancy = tenancy
        self._by_conversation: WeakValueDictionary[UUID, Recorder] = WeakValueDictionary()
        self._latest: OrderedDict[UUID, Recorder] = OrderedDict()
        self._lock = threading.Lock()
        self._said_unbound = False

    def of(self, stream: Stream) -> Recorder:
        """Return the recorder of a conversation, made if there is none."""
        from onrecord.adapters.recording.recorder import Recorder

        conversation_id = stream.conversation_id
        with self._lock:
            recorder = self._by_conversation.get(conversation_id)
            if recorder is None:
                recorder = self._by_conversation[conversation_id] = Recorder(
                    stream, self._tenancy.spool
                )
            self._latest[conversation_id] = recorder
            self._latest.move_to_end(conversation_id)
            while len(self._latest) > _LATEST:
                self._latest.popitem(last=False)
        return recorder

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
        """Return the header that binds a call to a conversation: its id, and a proof of ours."""
        return {HEADER: f"{stream.conversation_id}.{self._proof(stream.conversation_id)}"}

    def named(self, header: str) -> Recorder:
        """Return the recorder of the conversation that a header names.

        InvalidInput where it is not one that this store gave, or gave in another process for a
        conversation in which nothing was said yet.
        """
        name, _, proof = header.partition(".")
        if not hmac.compare_digest(self._proof(name).encode(), proof.encode()):
            raise InvalidInput(
                f"the header {HEADER} is not one of this store: give chat.headers as it is"
            )
        conversation_id = UUID(name)
        recorder = self.known(conversation_id) or self.numbered(conversation_id)
        if recorder is None:
            raise InvalidInput(
                "nothing was said in the conversation of this header: say something before "
                "another process calls for it"
            )
        return recorder

    def unbound(self) -> Recorder:
        """Return the recorder of a new conversation, for a call that is bound to none."""
        if not self._said_unbound:
            self._said_unbound = True
            logger.warning(
                "a call is bound to no conversation: it has one of its own, as all such calls; "
                "use chat.record(client), extra_headers=chat.headers, or `with chat.recording():`"
            )
        return self.keyed(f"unbound/{uuid7()}")

    def _proof(self, conversation_id: UUID | str) -> str:
        named = f"{HEADER} {self._tenancy.tenant} {conversation_id}"
        return self._tenancy.backend.digest(named).hex()
