"""Which conversation of a tenant a request is recorded in."""

from __future__ import annotations

from collections.abc import Mapping
from weakref import WeakKeyDictionary

from onrecord.adapters.proxy.address import Address
from onrecord.adapters.proxy.headers import CONVERSATION
from onrecord.adapters.proxy.refusals import Refusal
from onrecord.adapters.recording.tenancy import HEADER, Recorders, Tenancy
from onrecord.adapters.store import Store, tenancy_of
from onrecord.adapters.wire.clients.binding import Binding, CallBinding
from onrecord.adapters.wire.clients.conversation_wire import ConversationWire
from onrecord.adapters.wire.clients.exchange_recorder import ExchangeRecorder
from onrecord.domain.errors import InvalidInput


class Tenant:
    """The conversations of one store, and what is recorded of its calls."""

    def __init__(self, store: Store) -> None:
        """Record into a store."""
        self._tenancy: Tenancy = tenancy_of(store)
        self.exchanges = ExchangeRecorder(Binding(self._recorders))

    @property
    def _recorders(self) -> Recorders:
        return self._tenancy.recorders

    def bound(self, address: Address, own: Mapping[str, str]) -> CallBinding:
        """Return what binds a request; `own` are its headers before ours were taken out.

        Refusal where it names a conversation by what is no key.
        """
        key = address.conversation or own.get(CONVERSATION)
        wire = None if key is None else self._wire(key)
        return CallBinding(self._recorders, own.get(HEADER), wire, "record")

    def _wire(self, key: str) -> ConversationWire:
        try:
            return ConversationWire(self._tenancy.stream(key), self._recorders)
        except InvalidInput as exc:
            raise Refusal(400, f"the conversation is named by no key: {exc}") from exc


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
