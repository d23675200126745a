"""The recorders of a store's conversations: one a conversation, however many clients record it."""

from __future__ import annotations

import hmac
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Final
from uuid import UUID
from weakref import WeakValueDictionary

from uuid_utils.compat import uuid7

from onrecord.adapters.recording.spool import Spool
from onrecord.adapters.streams.stream import Stream, beginning_of
from onrecord.domain.errors import InvalidInput
from onrecord.domain.log import Backend

if TYPE_CHECKING:
    from onrecord.adapters.recording.recorder import Recorder


logger = logging.getLogger("onrecord")

HEADER: Final = "onrecord-conversation"
"""The header that binds a call to a conversation; it is taken out before anything is sent."""

_LATEST: Final = 64
"""How many recorders are kept though nobody holds them: a server meets its conversations again."""


class Recorders:
    """Finds the recorder of a conversation; safe to share between threads."""

    def __init__(
        self,
        backend: Backend,
        *,
        tenant: UUID,
        spool: Spool,
        conversation: Callable[[str], Stream],
    ) -> None:
        """Serve a tenant's conversations, which are found by key with `conversation`.

        What their store cannot take waits in the spool.
        """
        self._backend = backend
        self._tenant = tenant
        self._spool = spool
        self._conversation = conversation
        self._held: WeakValueDictionary[UUID, Recorder] = WeakValueDictionary()
        self._latest: OrderedDict[UUID, Recorder] = OrderedDict()
        self._lock = threading.Lock()
        self._said_unbound = False

    def of(self, stream: Stream) -> Recorder:
        """Return the recorder of a conversation, made if there is none."""
        from onrecord.adapters.recording.recorder import Recorder

        conversation_id = stream.conversation_id
        with self._lock:
            recorder = self._held.get(conversation_id)
            if recorder is None:
                recorder = self._held[conversation_id] = Recorder(stream, self._spool)
            self._latest[conversation_id] = recorder
            self._latest.move_to_end(conversation_id)
            while len(self._latest) > _LATEST:
                self._latest.popitem(last=False)
        return recorder

    def known(self, conversation_id: UUID) -> Recorder | None:
        """Return the recorder of a conversation, if it has one by now."""
        with self._lock:
            return self._held.get(conversation_id)

    def keyed(self, key: str) -> Recorder:
        """Return the recorder of the conversation of a key, which begins with its first event."""
        return self.of(self._conversation(key))

    def find(self, key: str) -> Recorder | None:
        """Return the recorder of the conversation of a key, if there is one."""
        return None if self._backend.find(self._tenant, key) is None else self.keyed(key)

    def numbered(self, conversation_id: UUID) -> Recorder | None:
        """Return the recorder of a conversation by its id; None if it was forgotten."""
        key = beginning_of(self._backend, conversation_id).key
        return None if key is None else self.keyed(key)

    def header(self, stream: Stream) -> dict[str, str]:
        """Return the header that binds a call to a conversation: its id, and a proof of ours."""
        self.of(stream)  # Kept: its first event may be the call's.
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
        return self.of(self._conversation(f"unbound/{uuid7()}"))

    def _proof(self, conversation_id: UUID | str) -> str:
        return self._backend.digest(f"{HEADER} {self._tenant} {conversation_id}").hex()
