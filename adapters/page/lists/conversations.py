"""The list of conversations, the one that moved last first, or of the events that say something."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Final
from urllib.parse import urlencode

from pydantic import Field, field_validator
from starlette.responses import Response

from onrecord.adapters.asynchronous.store import store_of
from onrecord.adapters.page.answers import rendered_list
from onrecord.adapters.page.approvals.pending import open_marks
from onrecord.adapters.page.forms import none_if_blank, start_of_day
from onrecord.adapters.page.lists.found_events import hits_within
from onrecord.adapters.page.routes import get_route
from onrecord.adapters.service.access import Shows
from onrecord.adapters.service.model import Empty
from onrecord.adapters.service.route import Call, Route
from onrecord.adapters.service.view_queries import OverviewQuery
from onrecord.adapters.views.pages import Page
from onrecord.domain.errors import InvalidInput

_NOTHING: Final[Page[Any]] = Page((), None, 0, 0, 0)


class ListQuery(OverviewQuery):
    """Which conversations, or which words; what a form leaves empty is not asked."""

    text: Annotated[str, Field(max_length=2000)] | None = None
    """The words of the events to list."""

    _days = field_validator("since", "until", mode="before")(start_of_day)
    _blanks = field_validator("*", mode="before")(none_if_blank)


async def conversations(call: Call[ListQuery, Empty]) -> Response:
    """Return the page that lists conversations; with words, the events that say them."""
    query, views = call.query, call.store.views
    if query.text is not None:
        try:
            hits_page = await views.search(query.text, limit=query.limit, after=query.after)
        except InvalidInput as error:
            return await _listed(call, page=_NOTHING, hits=(), problem=str(error))
        look = partial(hits_within, store_of(call.store), hits_page.entries, query)
        return await _listed(call, page=hits_page, hits=await call.steps.run_long(look))
    members = {name: getattr(query, name) for name in OverviewQuery.model_fields}
    page = await views.conversations(**members)
    marks = await call.steps.run_long(partial(open_marks, store_of(call.store), page.entries))
    models = sorted({model for entry in page.entries for model in entry.models})
    return await _listed(call, page=page, hits=None, marks=marks, models=models)


async def _listed(call: Call[ListQuery, Empty], **values: Any) -> Response:
    filters = call.query.model_dump(mode="json", exclude_none=True, exclude={"after"})
    choices = call.query.model_dump(mode="json", exclude_defaults=True, exclude={"after", "limit"})
    after = values["page"].after
    following = None if after is None else urlencode({**_spelled(filters), "after": after})
    entries = values["page"].entries if values["hits"] is None else values["hits"]
    return await rendered_list(
        call,
        "conversations.html",
        Shows(len(entries), tuple(entry.conversation_id for entry in entries)),
        filters=call.query,
        is_filtered=bool(choices),
        next=following,
        **{"problem": None, "models": (), **values},
    )


def _spelled(filters: dict[str, Any]) -> dict[str, Any]:
    """Return filters as a query has them."""
    words = {True: "true", False: "false"}
    return {
        name: words[value] if isinstance(value, bool) else value for name, value in filters.items()
    }


ROUTES: Final[tuple[Route[Any, Any], ...]] = (
    get_route("/", "pageConversations", "List conversations.", conversations, ListQuery),
)
