"""What strangers are held to at the log: its events are what their headers say, its ids lead nowhere else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

from onrecord.adapters.service.problems import FORBIDDEN, Problem
from onrecord.adapters.service.route import Call
from onrecord.domain.encoding import decode
from onrecord.domain.encryption.bodies import is_clear, key_name_in
from onrecord.domain.errors import CorruptRecord, InvalidInput
from onrecord.domain.events import ConversationForked
from onrecord.domain.head import effect_of
from onrecord.domain.header import SALT_SIZE, header_bytes, parse_header
from onrecord.domain.log import Append, NewEvent
from onrecord.domain.marks.marked_ids import (
    access_id,
    day_of,
    destroyed_key_id,
    erasure_id,
    hold_id,
    is_marked,
    operators_of,
)
from onrecord.domain.operators import (
    ISSUED,
    MOVED,
    REVOKED,
    USED,
    AccessCounted,
    AccessRead,
    ErasureIntended,
    HoldPlaced,
    OperatorsFact,
    RetentionSet,
    SubjectKeyDestroyed,
    decode_fact,
    retention_id,
)


def may_act_for(call: Call[Any, Any], tenant: UUID) -> bool:
    """Whether whoever asks may act for a tenant of the log: an operator also in its own records."""
    access = call.access
    if access.all_tenants or tenant == access.tenant:
        return True
    return access.allows("operate") and tenant == operators_of(access.tenant)


def must_act_for(call: Call[Any, Any], tenant: UUID) -> None:
    """Raise a Problem where whoever asks may not act for a tenant."""
    if not may_act_for(call, tenant):
        raise Problem(FORBIDDEN, "the key is for one tenant, and not for that one")


def must_have_all_tenants(call: Call[Any, Any]) -> None:
    """Raise a Problem where whoever asks operates one tenant only."""
    if not call.access.all_tenants:
        raise Problem(
            FORBIDDEN, "this concerns all tenants: use a key for all, or do it where the log is"
        )


def is_visible(call: Call[Any, Any], conversation_id: UUID) -> bool:
    """Whether whoever asks may meet a conversation: not before it began. A step of the log."""
    if call.access.all_tenants:
        return True
    owner = call.tenants.owners.of(conversation_id)
    return owner is not None and may_act_for(call, owner)


_FORKED: Final = "conversation.forked"
_OF_KEYS: Final = frozenset({ISSUED, USED, REVOKED})


def must_make_no_keys(append: Append) -> None:
    """Raise a Problem where an append says something of keys, whoever asks.

    A key that could make others would outlive its own end, and its own tenant.
    """
    if any(event.type in _OF_KEYS for event in append.events):
        raise Problem(FORBIDDEN, "keys are made and revoked where the log is")


def must_move_nothing(append: Append) -> None:
    """Raise a Problem where an append says that a log was moved, whoever asks.

    Who moves has the keys of the new log. What is not so would be a fault of the move for good.
    """
    if any(event.type == MOVED for event in append.events):
        raise Problem(FORBIDDEN, "a log is moved where the log is")


def must_be_of_its_tenant(call: Call[Any, Any], append: Append) -> None:
    """Raise a Problem where operators say something of another tenant, or in a stream of another id.

    A step of the log. Who has a key for all tenants is believed. Their records are kept for good, and others read them by their ids.
    """
    if call.access.all_tenants or not append.events or not is_marked(append.tenant):
        return
    facts = [decode_fact(each.type, each.schema_version, each.body) for each in append.events]
    owners = call.tenants.owners
    is_begun = owners.of(append.conversation_id) == append.tenant
    if not is_begun and _stream_of(call, facts[0]) != append.conversation_id:
        raise Problem(FORBIDDEN, "the operators' stream is of something else than its id")
    for fact in facts:
        if isinstance(fact, SubjectKeyDestroyed) or _is_of_a_subject(fact):
            raise Problem(FORBIDDEN, "subjects are erased where the log is")
        conversation_id = getattr(fact, "conversation_id", None)
        owner = None if conversation_id is None else owners.of(conversation_id)
        if operators_of(fact.tenant) != append.tenant or owner not in (None, fact.tenant):
            raise Problem(FORBIDDEN, "the operators of one tenant say nothing of another one")


def _is_of_a_subject(fact: OperatorsFact) -> bool:
    """Whether a fact is of an erasure that destroys a key: only who has the keys knows whose a key is."""
    of = (fact.subject, fact.key, fact.part_of) if isinstance(fact, ErasureIntended) else ()
    return any(each is not None for each in of)


def _stream_of(call: Call[Any, Any], fact: OperatorsFact) -> UUID | None:
    """Return the id of the stream that a fact begins; None where it begins none."""
    match fact:
        case AccessRead(tenant=tenant, at=at) | AccessCounted(tenant=tenant, at=at):
            return access_id(tenant, day_of(at))
        case ErasureIntended(tenant=tenant, conversation_id=erased, number=number):
            return erasure_id(tenant, erased, number)
        case SubjectKeyDestroyed(tenant=tenant, key=key):
            return destroyed_key_id(tenant, key)
        case HoldPlaced(tenant=tenant, conversation_id=kept, number=number):
            return hold_id(tenant, kept, number)
        case RetentionSet():
            of = fact.conversation_id, fact.label, fact.value
            return retention_id(call.backend.digest, fact.tenant, *of)
        case _:
            return None


def must_go_on_from_its_tenant(call: Call[Any, Any], appends: Sequence[Append]) -> None:
    """Raise InvalidInput where an append is a fork of what is no conversation of its tenant.

    A step of the log, for forks alone. The answer is the same whether another tenant has the origin or nobody
    does. Who has a key for all tenants may bring a fork before its origin.
    """
    for append in appends:
        for ordinal, event in enumerate(append.events):
            origin = _origin_of(event) if event.type == _FORKED else None
            if origin is None:
                continue
            owner = call.tenants.owners.of(origin) or _owner_among(appends, origin)
            if owner != append.tenant and not (owner is None and call.access.all_tenants):
                why = "goes on from what is no conversation of its tenant"
                raise InvalidInput(f"event {ordinal} of an append {why}")


def _origin_of(event: NewEvent) -> UUID | None:
    """Return what a fork goes on from; None where this release cannot tell."""
    try:
        forked = decode(event.type, event.schema_version, event.body)
    except CorruptRecord:
        return None
    return forked.origin if isinstance(forked, ConversationForked) else None


def _owner_among(appends: Sequence[Append], conversation_id: UUID) -> UUID | None:
    """Return who begins a conversation by one of these appends; None where none does."""
    of = (each for each in appends if each.events and each.conversation_id == conversation_id)
    return next((each.tenant for each in of), None)


def must_be_in_clear(append: Append) -> None:
    """Raise InvalidInput where a client says that its event is encrypted, whoever asks.

    The store encrypts what is appended to it. By the key that a header names, somebody else's
    conversations are found and erased.
    """
    for ordinal, event in enumerate(append.events):
        if key_name_in(event.header) is not None:
            raise InvalidInput(f"event {ordinal} of an append has a key of the client's")


def must_be_whole(append: Append) -> None:
    """Raise InvalidInput where an event is not what its header, its name and its effect say.

    A log believes whoever opens it. A service does not: a header of another conversation, or an
    effect that its body has not, would be found by `onrecord verify` alone, and stay for ever.
    """
    for ordinal, event in enumerate(append.events):
        if (what := _wrong(append, event)) is not None:
            raise InvalidInput(f"event {ordinal} of an append has {what}")


def _wrong(append: Append, event: NewEvent) -> str | None:
    try:
        header = parse_header(event.header)
    except CorruptRecord:
        return "a header that is none"
    if not is_clear(event.header):
        return "a codec that is not JSON"
    named = (header.event_id, header.tenant, header.conversation_id, header.type)
    if (*named, header.schema_version) != (
        event.event_id,
        append.tenant,
        append.conversation_id,
        event.type,
        event.schema_version,
    ):
        return "a header of another event"
    if header_bytes(header) != event.header:
        return "a header that is not in canonical form"
    if len(event.salt) != SALT_SIZE:
        return f"a salt that is not {SALT_SIZE} bytes"
    try:
        happened = decode(event.type, event.schema_version, event.body)
    except CorruptRecord:
        return "a body that its type does not have"
    return None if event.effect == effect_of(happened) else "an effect that its body does not have"
