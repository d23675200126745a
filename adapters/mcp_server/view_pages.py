"""Pages of views as the tools show them: those of one conversation after those of another, within a size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar
from uuid import UUID

from onrecord.adapters.mcp_server.arguments import SIZE, CallsArguments, SearchArguments
from onrecord.adapters.mcp_server.passages import ModelT, fitting, shaped
from onrecord.adapters.mcp_server.scope import Scope
from onrecord.adapters.store import Store
from onrecord.adapters.views.catching_up import folded_on, is_folded_by_reading
from onrecord.adapters.views.pages import Page
from onrecord.domain.errors import InvalidInput

_TEXTS: Final = 4_000
"""How many bytes the texts of a page take, in all."""

_ENTRIES: Final = SIZE - 512
"""How many bytes the entries of a page take: the rest is for how far it has come."""


_READINGS: Final = 20
"""How often a view is read again before an answer may lack events: each takes half a second at most."""


class _OfConversation(Protocol):
    @property
    def conversation_id(self) -> UUID: ...


EntryT = TypeVar("EntryT", bound=_OfConversation)

Ask: TypeAlias = Callable[[UUID | None, str | None, int], Page[EntryT]]
"""Asks a view for a page: of a conversation, behind a cursor, of so many entries at most."""


@dataclass(frozen=True, slots=True)
class ShownPage(Generic[ModelT]):
    """The entries of a page, the conversations that they are of, and how far the page has come."""

    entries: list[ModelT]
    conversations: tuple[UUID, ...]
    state: dict[str, Any]


def shown_page(
    scope: Scope,
    asked: SearchArguments | CallsArguments,
    ask: Ask[EntryT],
    entry: Callable[[EntryT, int], ModelT],
) -> ShownPage[ModelT]:
    """Return the page that is asked for, only as much of it as fits an answer.

    `entry` makes what is shown of one, with so many bytes of text.
    """
    conversations, limit, room = scope.searched(asked.key), asked.limit, None
    while True:
        page, following = _page(
            conversations, asked.cursor, partial(_caught_up, scope.store, ask, limit)
        )
        room = room or _TEXTS // max(1, len(page))
        made = (shaped(partial(entry, each), room, _ENTRIES) for each in page)
        entries = list(fitting(made, _ENTRIES))
        if len(entries) == len(page):
            break
        limit = len(entries)  # What does not fit begins the next page.
    return ShownPage(entries, tuple(each.conversation_id for each in page), _state(page, following))


def _caught_up(
    store: Store, ask: Ask[EntryT], limit: int, conversation: UUID | None, after: str | None
) -> Page[EntryT]:
    """Return a page of a view that has all that the log had at first, as far as it gets there."""
    again = partial(ask, conversation, after, limit)
    page = again()
    last = page.position + page.behind
    if not is_folded_by_reading(store):
        return page
    return (page, *islice(folded_on(page, last, again), _READINGS))[-1]


def _page(
    conversations: Sequence[UUID | None],
    cursor: str | None,
    ask: Callable[[UUID | None, str | None], Page[EntryT]],
) -> tuple[Page[EntryT], str | None]:
    """Return the page of a cursor, or else the next one that has entries; and the cursor behind it."""
    index, after = _place(cursor, len(conversations))
    while True:
        page = ask(conversations[index], after)
        is_last = index + 1 == len(conversations)
        if page.after is not None:
            return page, f"{index}.{page.after}"
        if len(page) or is_last:
            return page, None if is_last else f"{index + 1}."
        index, after = index + 1, None


def _place(cursor: str | None, count: int) -> tuple[int, str | None]:
    if cursor is None:
        return 0, None
    index, _, after = cursor.partition(".")
    if not (index.isascii() and index.isdecimal() and len(index) < 10 and int(index) < count):
        raise InvalidInput("cursor is not the `next` of a page")
    return int(index), after or None


def _state(page: Page[Any], following: str | None) -> dict[str, Any]:
    return {"next": following, "behind": page.behind, "encrypted": list(page.encrypted)}
