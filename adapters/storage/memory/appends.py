"""What all requests of a batch must be like before the store in memory records one of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from uuid import UUID

from onrecord.adapters.storage.append import another_tenants, must_be_apart, must_be_encrypted
from onrecord.adapters.storage.memory.contents import Stream
from onrecord.domain.errors import ConversationForgotten
from onrecord.domain.log import Append, Duplicate, Mismatch, Verdict


def must_be_own(streams: Mapping[UUID, Stream], appends: Sequence[Append]) -> None:
    """Refuse all requests if one is for another tenant's conversation, begun here or before."""
    must_be_apart(appends)
    owners: dict[UUID, UUID] = {}
    for append in appends:
        stream = streams.get(append.conversation_id)
        owner = append.tenant if stream is None else stream.tenant
        if owners.setdefault(append.conversation_id, owner) != append.tenant:
            raise another_tenants()


def must_take(streams: Mapping[UUID, Stream], tenant: UUID, conversation_id: UUID) -> None:
    """Refuse what a tenant brings for a conversation that is another one's, or is forgotten."""
    must_be_own(streams, [Append(tenant, conversation_id, ())])
    if (stream := streams.get(conversation_id)) is not None and stream.forgotten:
        raise ConversationForgotten


def must_all_be_encrypted(
    appends: Sequence[Append], refused: Callable[[Append], Verdict | None]
) -> None:
    """Refuse all requests if one would record in clear what a conversation says.

    `refused` returns why a request alone would record nothing.
    """
    grown = set[UUID]()
    for append in appends:
        verdict = refused(append)
        # What repeats is refused at any time. Another one may fit once those before it are recorded.
        may_fit = append.conversation_id in grown and not isinstance(verdict, Duplicate | Mismatch)
        if verdict is None or may_fit:
            must_be_encrypted(append)
            grown.add(append.conversation_id)
