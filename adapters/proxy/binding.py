"""Which conversation of a tenant a request is recorded in."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from threading import Lock
from typing import Final
from urllib.parse import unquote
from uuid import UUID
from weakref import WeakKeyDictionary

from onrecord.adapters.caches.newest import Newest
from onrecord.adapters.conversation.conversation import Conversation
from onrecord.adapters.proxy.address import Address
from onrecord.adapters.proxy.grouping import EXPLICIT, Group, group_of
from onrecord.adapters.proxy.known_histories import KnownHistories
from onrecord.adapters.recording.actor_headers import names_in
from onrecord.adapters.recording.tenancy import HEADER, Tenancy
from onrecord.adapters.store import Store, tenancy_of
from onrecord.adapters.wire.bodies.attempt import AnswerRecorder
from onrecord.adapters.wire.clients.binding import Binding, CallBinding
from onrecord.adapters.wire.clients.conversation_wire import ConversationWire
from onrecord.adapters.wire.clients.exchange_recorder import ExchangeRecorder, conversation_of
from onrecord.adapters.wire.clients.sending import Sending
from onrecord.adapters.wire.wires import WIRES
from onrecord.domain.errors import InvalidInput, MalformedJson, OnrecordError
from onrecord.domain.jsontext import JsonObject, read_bounded_object
from onrecord.domain.new_events import Attribution

logger = logging.getLogger("onrecord")

_MOST_REMARKED: Final = 4096


class _Remarked:
    """The agents whose parent is told: two first requests of one come at the same time."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._latest: Newest[UUID, None] = Newest(_MOST_REMARKED)

    def add(self, conversation_id: UUID) -> bool:
        """Add a conversation; return whether it is new here."""
        with self._lock:
            is_new = conversation_id not in self._latest
            self._latest[conversation_id] = None
        return is_new


class Tenant:
    """The conversations of one store, and what is recorded of its calls."""

    def __init__(self, store: Store) -> None:
        """Record into a store."""
        self._tenancy: Tenancy = tenancy_of(store)
        self._exchanges = ExchangeRecorder(Binding(self._tenancy.recorders))
        self._known = KnownHistories(self._tenancy)
        self._remarked = _Remarked()

    def attribution(self, own: Mapping[str, str], actor: str | None) -> Attribution:
        """Return who acts and under which rules, by the headers of a request; the `actor` if they name none.

        InvalidInput where they say no name.
        """
        return self._tenancy.names.attribution(**names_in(own, actor))

    def attempt(
        self,
        address: Address,
        own: Mapping[str, str],
        sending: Sending,
        body: bytes,
        caller: Attribution,
    ) -> AnswerRecorder | None:
        """Return what records the answer to a request, the request being durable by then.

        `own` are its headers before ours were taken out. None where there is nothing to record.
        Raises NotRecorded where it could not be made durable, InvalidInput where it names a
        conversation by what is no key.
        """
        group = _group(address, own, sending, body)
        is_agents = group.parent is not None and HEADER not in own
        is_agents_first = is_agents and self._is_new(group.key)
        bound = replace(self._bound(group, own, sending, body), caller=caller)
        recorder = self._exchanges.attempt(bound, sending, body)
        conversation_id = conversation_of(sending)
        if conversation_id is not None:
            self._known.note(conversation_id)
            if is_agents_first and self._remarked.add(conversation_id):
                self._remark_parent(group, caller)
        return recorder

    def _bound(
        self, group: Group, own: Mapping[str, str], sending: Sending, body: bytes
    ) -> CallBinding:
        """Return what binds a request, in the order of docs/proxy.md."""
        if group.relation != "named" and HEADER in own:
            return CallBinding(self._tenancy.recorders, own[HEADER], None, "record")
        return self._binding(group.key or self._found(group, sending, body))

    def _is_new(self, key: str | None) -> bool:
        return key is not None and self._tenancy.backend.find(self._tenancy.tenant, key) is None

    def _remark_parent(self, group: Group, caller: Attribution) -> None:
        """Say in the conversation of an agent which one began it; the call is made without, too."""
        try:
            chat = Conversation(self._tenancy, group.key or "", caller)
            chat.annotate({"parent": group.parent or ""})
        except OnrecordError as exc:
            logger.warning("the parent of a conversation is not recorded (%s)", type(exc).__name__)

    def _binding(self, key: str | None) -> CallBinding:
        recorders = self._tenancy.recorders
        wire = None if key is None else ConversationWire(self._tenancy.stream(key), recorders)
        return CallBinding(recorders, None, wire, "record")

    def _found(self, group: Group, sending: Sending, body: bytes) -> str | None:
        """Return the key of the conversation that is known to have what a request goes on from."""
        if group.response is not None:
            return self._known.of_response(group.response)
        if not sending.is_turn:
            return None
        with suppress(InvalidInput):  # It makes no sense: it has a conversation of its own.
            wire = WIRES[sending.purpose.api]
            return self._known.of_history(wire.read_request(body, unquote(sending.path)))
        return None


def _group(address: Address, own: Mapping[str, str], sending: Sending, body: bytes) -> Group:
    """Return what a request says that it is of: by its header, else its path, else by what it is."""
    if EXPLICIT in own:
        return Group("named", own[EXPLICIT])
    if address.conversation is not None:
        return Group("named", address.conversation)
    if sending.kind == "answer":
        return Group("response", response=unquote(sending.path.rstrip("/").rpartition("/")[2]))
    members: JsonObject = {}
    with suppress(MalformedJson):
        members = read_bounded_object(body)
    return group_of(own, members, address.provider)


class Tenants:
    """The tenants that were met; one is forgotten with its store."""

    def __init__(self) -> None:
        """Know none."""
        self._by_store: WeakKeyDictionary[Store, Tenant] = WeakKeyDictionary()

    def of(self, store: Store) -> Tenant:
        """Return the tenant of a store."""
        tenant = self._by_store.get(store)
        if tenant is None:
            tenant = self._by_store[store] = Tenant(store)
        return tenant
