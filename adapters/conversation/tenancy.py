"""What the conversations of a tenant share: the store, who acts, and where the unstored waits."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final
from uuid import UUID

from onrecord.adapters.inputs.arguments import key_given
from onrecord.adapters.recording.recorders import Recorders
from onrecord.adapters.recording.spool import Spool
from onrecord.adapters.streams.stream import Stream
from onrecord.adapters.wire.clients.conversation_wire import ConversationWire
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.log import Backend

if TYPE_CHECKING:
    from onrecord.adapters.conversation.rendering import Windows

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
        windows: Windows | None = None,
    ) -> None:
        """Hold what the conversations share."""
        self.backend = backend
        self.tenant = tenant
        self.spool = spool
        self.actor = actor
        self.matrix = matrix
        self.windows = windows
        self.recorders = Recorders(backend, tenant=tenant, spool=spool, conversation=self.stream)

    def stream(self, key: str) -> Stream:
        """Return the stream of the conversation of a key; InvalidInput for what is no key."""
        return Stream(
            self.backend, key_given(key), tenant=self.tenant, spool=self.spool, actor=self.actor
        )

    def wire(self, stream: Stream) -> ConversationWire:
        """Return what records clients and scopes into a conversation."""
        return ConversationWire(stream, self.recorders)
