"""How the views stand and which events are parked, for those who operate the service."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, Final
from uuid import UUID

from pydantic import Field
from starlette.responses import RedirectResponse, Response

from onrecord.adapters.asynchronous.store import store_of
from onrecord.adapters.page.answers import rendered_list
from onrecord.adapters.page.forms import form_of
from onrecord.adapters.page.routes import form_route, get_route
from onrecord.adapters.presentation.view_states import state_of, workers_at_work
from onrecord.adapters.service.access import Shows
from onrecord.adapters.service.model import Empty, Model
from onrecord.adapters.service.problems import Problem
from onrecord.adapters.service.route import Call, Route
from onrecord.adapters.storage.http.problem_types import INVALID
from onrecord.adapters.store import Store
from onrecord.adapters.views.ports import Keeper, Parked, ViewStatus, Workforce

_PATH: Final = "/operations"

_MOST_PARKED: Final = 200
"""The most parked events that are listed."""


class OperationsQuery(Model):
    """What was done just now."""

    retried: Annotated[int, Field(ge=0, le=2**63 - 1)] | None = None
    """How many parked conversations were tried again."""


@dataclass(frozen=True, slots=True)
class ShownView:
    """A view, how many conversations of the tenant and of others are parked in it, and its state in words.

    `workers` is None where views catch up as they are read.
    """

    status: ViewStatus
    parked: int
    parked_elsewhere: int
    workers: int | None
    state: str


@dataclass(frozen=True, slots=True)
class ShownOperations:
    """The views, the parked events of the tenant, and who works at the views."""

    views: tuple[ShownView, ...]
    parked: tuple[Parked, ...]
    more_parked: int
    workers: str | None


async def operations(call: Call[OperationsQuery, Empty]) -> Response:
    """Return the page that says how the views stand, and what is parked."""
    page = await call.steps.run_long(partial(_operations, store_of(call.store)))
    shows = Shows(len(page.parked), tuple(event.conversation_id for event in page.parked))
    return await rendered_list(
        call, "operations.html", shows, page=page, retried=call.query.retried
    )


async def retry(call: Call[Empty, Empty]) -> Response:
    """Have parked events tried again, as `onrecord retry` does, and return to the page."""
    fields = await form_of(call)
    view, conversation = fields.get("view", ""), conversation_in(fields)
    step = partial(retried, store_of(call.store), view, conversation)
    count = await call.steps.run_long(step)
    return RedirectResponse(f"{_PATH}?retried={count}", 303, {"cache-control": "no-store"})


def conversation_in(fields: Mapping[str, str]) -> UUID | None:
    """Return the conversation that a form names, None for all; Problem where that is no id."""
    text = fields.get("conversation", "")
    try:
        return UUID(text) if text else None
    except ValueError:
        raise Problem(INVALID, "a conversation is named by its id") from None


def retried(store: Store, view: str, conversation: UUID | None) -> int:
    """Have what is parked of a tenant in a view tried again; return how many conversations that is."""
    keeper = store.views.keeper
    everywhere = {(event.tenant, event.conversation_id) for event in keeper.parked(view)}
    own = {conversation_id for tenant, conversation_id in everywhere if tenant == store.tenant}
    if conversation is None and len(own) == len(everywhere):
        return keeper.retry(view)
    wanted = own if conversation is None else own & {conversation}
    return sum(keeper.retry(view, each) for each in sorted(wanted))


def shown_operations(
    statuses: list[ViewStatus], parked: list[Parked], working: Workforce | None, tenant: UUID
) -> ShownOperations:
    """Return how the views stand, as the page shows it to a tenant."""
    read = {(status.view, status.generation) for status in statuses}
    own = [event for event in parked if event.tenant == tenant]
    counts = Counter(event.view for event in own if (event.view, event.generation) in read)
    return ShownOperations(
        views=tuple(_shown_view(each, counts[each.view], working) for each in statuses),
        parked=tuple(own[:_MOST_PARKED]),
        more_parked=max(0, len(own) - _MOST_PARKED),
        workers=None if working is None else workers_at_work(working),
    )


def _shown_view(status: ViewStatus, parked: int, working: Workforce | None) -> ShownView:
    return ShownView(
        status,
        parked,
        parked_elsewhere=max(0, status.parked - parked),
        workers=None if working is None else working.at(status.view),
        state=state_of(status, working),
    )


def _operations(store: Store) -> ShownOperations:
    keeper: Keeper = store.views.keeper
    return shown_operations(keeper.status(), keeper.parked(), keeper.at_work(), store.tenant)


ROUTES: Final[tuple[Route[Any, Any], ...]] = (
    replace(
        get_route(
            _PATH, "pageOperations", "Show how the views stand.", operations, OperationsQuery
        ),
        role="operate",
    ),
    form_route("operate", f"{_PATH}/retry", "pageRetry", "Try parked events again.", retry),
)
