"""The page of one event: all that is recorded of it, as JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from starlette.responses import Response

from onrecord.adapters.asynchronous.store import store_of
from onrecord.adapters.page.answers import rendered
from onrecord.adapters.page.conversation.conversation import named_by
from onrecord.adapters.page.routes import get_route
from onrecord.adapters.presentation.control_characters import escaped_in_json
from onrecord.adapters.presentation.conversations import NamedConversation
from onrecord.adapters.service.events import event_documents
from onrecord.adapters.service.model import Empty, json_bytes
from onrecord.adapters.service.problems import NOT_FOUND, Problem
from onrecord.adapters.service.route import Call, Route
from onrecord.adapters.store import Store, backend_of

_LONGEST: Final = 200_000
"""The most characters of an event that its page shows."""


@dataclass(frozen=True, slots=True)
class ShownJson:
    """An event as indented JSON, as much of it as is shown, and how long it is."""

    conversation: NamedConversation
    version: int
    type: str
    text: str
    length: int

    @property
    def is_cut(self) -> bool:
        """Return whether there is more than is shown."""
        return len(self.text) < self.length


async def event(call: Call[Empty, Empty]) -> Response:
    """Return the page that shows an event as JSON."""
    store, version = store_of(call.store), call.path["version"]
    page = await call.steps.run(partial(_event, store, call.path["key"], version))
    return await rendered(
        call,
        "event.html",
        page=page,
        name=str(page.conversation),
        key=page.conversation.key,
        version=version,
    )


def _event(store: Store, name: str, version: int) -> ShownJson:
    conversation, backend = named_by(store, name), backend_of(store)
    recorded = backend.read(conversation.conversation_id, after=version - 1, until=version)
    documents = event_documents(backend, store.tenant, recorded)
    if not documents:
        raise Problem(NOT_FOUND, "the conversation has no such version yet")
    (document,) = documents
    indented = json.dumps(json.loads(json_bytes(document)), indent=2, ensure_ascii=False)
    text = escaped_in_json(indented)
    return ShownJson(conversation, version, document.type, text[:_LONGEST], len(text))


ROUTES: Final[tuple[Route[Any, Any], ...]] = (
    get_route("/c/{key}/events/{version}", "pageEvent", "Show an event as JSON.", event),
)
