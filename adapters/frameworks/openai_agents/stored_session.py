"""A session in one store: its branches, for coroutines that wait for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from onrecord.adapters.frameworks.awaiting import settled
from onrecord.adapters.frameworks.openai_agents.branches import Branches
from onrecord.adapters.frameworks.session import NewItem
from onrecord.adapters.frameworks.sessions import Sessions
from onrecord.adapters.inputs.arguments import kind_of, several
from onrecord.adapters.store import Store
from onrecord.domain.errors import InvalidContent
from onrecord.projections.frameworks.current_items import HeldItem
from onrecord.projections.frameworks.openai_agents import OPENAI_AGENTS

if TYPE_CHECKING:
    from agents.items import TResponseInputItem

T = TypeVar("T")


class StoredSession(NamedTuple):
    """A session in one of the stores that it may be in."""

    store: Store
    branches: Branches

    async def settled(self, step: Callable[[], T]) -> T:
        """Return what a step gives; a cancelled caller waits for its end."""
        return await settled(self.store, step)


def stored_session(store: Store, session_id: str) -> StoredSession:
    """Return the session of an id in a store."""
    return StoredSession(store, Branches(Sessions(store, OPENAI_AGENTS.name).session(session_id)))


def new_items(given: object) -> list[NewItem]:
    """Return items to record; InvalidContent for what is no list of JSON objects."""
    return [_new_item(item) for item in several("items", given)]


def _new_item(item: object) -> NewItem:
    if isinstance(item, Mapping):
        return NewItem(dict(cast("Mapping[str, Any]", item)))
    raise InvalidContent(f"an item is a JSON object, not {kind_of(item)}")


def items_of(items: Iterable[HeldItem]) -> list[TResponseInputItem]:
    """Return items as the SDK has them."""
    return [cast("TResponseInputItem", item.item) for item in items]
