"""The views of a tenant, for reading: typed filters in, pages of typed entries out."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import date, datetime
from decimal import Decimal
from typing import Final, get_args
from uuid import UUID

from onrecord.adapters.inputs.arguments import text_given, text_if_given
from onrecord.adapters.streams.event_reading import uncounted
from onrecord.adapters.views.audit_filters import content_filters, types_given, with_text
from onrecord.adapters.views.following import Following
from onrecord.adapters.views.late_redactions import without_redacted
from onrecord.adapters.views.own_projections import OwnProjections
from onrecord.adapters.views.pages import (
    EntryT,
    Page,
    PageCursors,
    Shape,
    of_models,
    one_of,
    page_of,
    page_size,
    set_filters,
    times,
    truth_if_given,
)
from onrecord.adapters.views.ports import Keeper, PageQuery, Pages
from onrecord.adapters.views.row_names import rows_with_actors, rows_with_keys
from onrecord.domain.errors import ConversationNotFound, InvalidInput
from onrecord.domain.log import Backend
from onrecord.projections.views.audit import AUDIT, AuditEntry, InForce, deed, in_force
from onrecord.projections.views.audit_facts import RULES
from onrecord.projections.views.conversations import CONVERSATIONS, Overview, overview
from onrecord.projections.views.own_views import queries_of
from onrecord.projections.views.projection import (
    OwnProjection,
    ProjectionRow,
    ProjectionTransaction,
)
from onrecord.projections.views.search import SEARCH, Hit, hit_of, parse_query
from onrecord.projections.views.tool_ledger import (
    TOOL_LEDGER,
    Kind,
    Status,
    ToolCallEntry,
    ledger_call_of,
)
from onrecord.projections.views.usage import USAGE, ModelUsage, cost_of, model_usage
from onrecord.projections.views.view import Row
from onrecord.projections.views.window import WINDOW, Exchange, exchange_of

_AUDIT: Final = Shape(AUDIT, deed, ("position",), texts=("sha256", "documents"))
_IN_FORCE: Final = Shape(AUDIT, in_force, ("position",), "in_force")
_CONVERSATIONS: Final = Shape(CONVERSATIONS, overview, ("last_position",), texts=("title",))
_USAGE: Final = Shape(USAGE, model_usage, ("day", "api", "model"))
_CALLED: Final = ("arguments", "arguments_digest", "result")
_CALLS: Final = Shape(TOOL_LEDGER, ledger_call_of, ("position", "ordinal"), texts=_CALLED)
_WINDOW: Final = Shape(WINDOW, exchange_of, ("first_version",), texts=("prompt", "answer"))
_SEARCH: Final = Shape(SEARCH, hit_of, ("position",))

_NOBODY: Final = UUID(int=0)
"""The id of no conversation."""


class Views:
    """The views of a tenant's conversations. Get it as `store.views`; safe to share.

    Every method returns a page: at most `limit` entries (1,000 at most), from the first one on or
    from behind `after`, which is the `after` of the page before. Filters that are None take
    everything. `since` and `until` are times (datetime with a zone): from `since` on, before
    `until`. InvalidInput says which argument is wrong. A conversation is named by its key or its
    id; ConversationNotFound if nothing has that key. People are named as they act.
    """

    def __init__(
        self,
        pages: Pages,
        keeper: Callable[[], Keeper],
        backend: Backend,
        tenant: UUID,
        *,
        own_projections: OwnProjections,
    ) -> None:
        """Read a tenant's pages; `own_projections` keeps projections of one's own, `count` is told of pages."""
        self.count: Callable[[str], None] = uncounted
        self.pages = pages
        self.own_projections = own_projections
        self._keeper = keeper
        self._backend = backend
        self._tenant = tenant
        self._texts = own_projections.texts
        self._cursors = PageCursors(backend.digest, str(tenant))

    @property
    def keeper(self) -> Keeper:
        """Return who says how the views stand, pauses, retries and rebuilds them."""
        return self._keeper()

    def register(self, projection: object) -> str:
        """Let a projection of one's own be known by its name in this process; return the name.

        `store.follow` and `store.run` do so by themselves. InvalidInput where another has that name.
        """
        return self.own_projections.register(projection).name

    def read(
        self, projection: OwnProjection | str
    ) -> AbstractContextManager[ProjectionTransaction]:
        """Lend a transaction that reads the tables of a projection of one's own.

        Its `generation` is the one to be read. On SQLite the projection is caught up before, by a bounded
        step. InvalidInput for a name that is not registered.
        """
        return self.pages.reading(self.own_projections.view(projection))

    def rows(
        self,
        projection: OwnProjection | str,
        *,
        conversation: str | UUID | None = None,
        prefix: str | None = None,
        limit: int = 50,
        after: str | None = None,
    ) -> Page[ProjectionRow]:
        """Return the rows of a `RowProjection`, by name and conversation; `prefix` is of their names.

        InvalidInput for a projection that keeps its rows elsewhere.
        """
        filters: Row = {
            "conversation_id": self._id(conversation),
            "prefix": text_if_given("prefix", prefix),
        }
        shape = self.own_projections.shape(projection)
        return self._page(shape, {"view": shape.view.name, **filters}, limit, after)

    def follow(self, projection: OwnProjection | str) -> Following:
        """Return a scope in which this process keeps a projection of one's own up to date."""
        return self.own_projections.follow(projection, self._keeper)

    def conversations(
        self,
        *,
        key: str | None = None,
        provider: str | None = None,
        model: str | None = None,
        actor: str | None = None,
        closed: bool | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = 50,
        after: str | None = None,
    ) -> Page[Overview]:
        """Return conversations at a glance, the one that moved last first.

        `provider` and `model` are those that were asked in it, `actor` whoever did something in it;
        `since` and `until` are of the last event.
        """
        filters: Row = {
            **self._of_key(text_if_given("key", key)),
            "provider": text_if_given("provider", provider),
            "model": text_if_given("model", model),
            "actor": self._digested(actor),
            "closed": truth_if_given("closed", closed),
            **times(since, until),
        }
        return self._page(_CONVERSATIONS, filters, limit, after)

    def tool_calls(
        self,
        *,
        conversation: str | UUID | None = None,
        name: str | None = None,
        kind: str | None = None,
        status: str | None = None,
        arguments_digest: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = 50,
        after: str | None = None,
    ) -> Page[ToolCallEntry]:
        """Return the calls of tools, of the caller's and of those that providers run; the latest first.

        `kind` is "tool" or "server tool"; `status` how the call stands; `arguments_digest` finds who
        called the same with the same. InvalidInput for it in an encrypted store, whose ledger has none.
        """
        if arguments_digest is not None:
            self._texts.must_allow(TOOL_LEDGER)
        filters: Row = {
            "conversation_id": self._id(conversation),
            "name": text_if_given("name", name),
            "kind": one_of("kind", kind, get_args(Kind)),
            "status": one_of("status", status, get_args(Status)),
            "arguments_digest": text_if_given("arguments_digest", arguments_digest),
            **times(since, until),
        }
        return self._page(_CALLS, filters, limit, after)

    def search(
        self,
        text: str,
        *,
        conversation: str | UUID | None = None,
        role: str | None = None,
        tool: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = 50,
        after: str | None = None,
    ) -> Page[Hit]:
        """Return events that say something, the latest first.

        All words of the text must occur, those "in quotes" one behind the other, and those with a -
        before them must not. InvalidInput where no word must occur, and in an encrypted store that does
        not allow `search` by name.
        """
        self._texts.must_allow(SEARCH)
        filters: Row = {
            "conversation_id": self._id(conversation),
            "role": text_if_given("role", role),
            "tool": text_if_given("tool", tool),
            **parse_query(text_given("the text", text)).filters(),
            **times(since, until),
        }
        return self._page(_SEARCH, filters, limit, after)

    def window(
        self, conversation: str | UUID, *, exchanges: int = 20, after: str | None = None
    ) -> Page[Exchange]:
        """Return the last exchanges of a conversation, the latest first, without reading the rest.

        `remembered` in onrecord.projections.views.window gives who said what in them, in order.
        """
        filters: Row = {"conversation_id": str(self._named(conversation))}
        return self._page(_WINDOW, filters, exchanges, after)

    def usage(
        self,
        *,
        api: str | None = None,
        model: str | None = None,
        since: date | None = None,
        until: date | None = None,
        limit: int = 50,
        after: str | None = None,
    ) -> Page[ModelUsage]:
        """Return the tokens that each model used on each day (UTC), the last day first.

        `since` and `until` are days here: from `since` on, before `until`.
        """
        return self._page(_USAGE, of_models(api, model, since, until), limit, after)

    def usage_total(
        self,
        *,
        api: str | None = None,
        model: str | None = None,
        since: date | None = None,
        until: date | None = None,
    ) -> Page[ModelUsage]:
        """Return the tokens that each model used on all those days together, on one page."""
        filters = set_filters(of_models(api, model, since, until))
        page = self.pages.page(PageQuery(USAGE, "usage_total", self._tenant, filters, {}, None))
        return page_of(_USAGE, page, page.rows, None)

    def cost(
        self, used: ModelUsage, prices: str | os.PathLike[str] | None = None
    ) -> Decimal | None:
        """Return what tokens cost, in dollars; None where the model has no price.

        `prices` is a TOML file that says so (docs/views.md); without it, `$ONRECORD_PRICES`.
        """
        from onrecord.adapters.settings import prices_given  # Above: it reads the environment.

        return cost_of(used, prices_given(prices))

    def audit(
        self,
        *,
        conversation: str | UUID | None = None,
        actor: str | None = None,
        on_behalf_of: str | None = None,
        type: str | Sequence[str] | None = None,
        model: str | None = None,
        tool: str | None = None,
        policy: str | None = None,
        deployment: str | None = None,
        document: str | None = None,
        text: str | None = None,
        outcome: str | None = None,
        label: str | None = None,
        label_value: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = 50,
        after: str | None = None,
    ) -> Page[AuditEntry]:
        """Return who did what and when, and nothing of what was said; the latest first.

        `actor` is who did it and `on_behalf_of` for whom, by name; `policy` and `deployment` are the
        rules that were in force. `type` is the stored name of an event, such as `tool_call.recorded`, or several.
        `document` finds what holds or sent it, by its short id or digest; `text` what says all its words,
        by the view `search`; `outcome` how it went. `label` is of the conversation, with any value or one.
        InvalidInput for a document, a label or a text in an encrypted store whose views may not tell it.
        """
        filters: Row = {
            "conversation_id": self._id(conversation),
            "actor": self._digested(actor),
            "on_behalf_of": self._digested(on_behalf_of, "on_behalf_of"),
            **types_given(type),
            "model": text_if_given("model", model),
            "tool": text_if_given("tool", tool),
            "policy": text_if_given("policy", policy),
            "deployment": text_if_given("deployment", deployment),
            **content_filters(self._tenant, document, text, outcome, (label, label_value)),
            **times(since, until),
        }
        if not (document is None and label is None):
            self._texts.must_allow(AUDIT)
        if text is not None:
            self._texts.must_allow(SEARCH)
        return self._page(_AUDIT, filters, limit, after)

    def in_force(
        self,
        *,
        policy: str | None = None,
        deployment: str | None = None,
        instructions: str | None = None,
        tools: str | None = None,
        capabilities: str | None = None,
        model: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = 50,
        after: str | None = None,
    ) -> Page[InForce]:
        """Return which conversations ran under one rule, the one that did last first.

        `instructions`, `tools` and `capabilities` are digests: `sha256` of the entries of `audit` that
        put them in force. They are found where they were set: a fork goes on with what its origin set.
        `capabilities` are what requests were rendered by: `sha256` of `request.sent`.
        """
        rules = {"policy": policy, "deployment": deployment, "model": model}
        digests = {"instructions": instructions, "tools": tools, "capabilities": capabilities}
        asked = [name for name, rule in (rules | digests).items() if rule is not None]
        if len(asked) != 1:
            raise InvalidInput(f"give one of {', '.join(rules | digests)}")
        filters = {name: text_if_given(name, rule) for name, rule in rules.items()}
        for name in digests.keys() & asked:
            self._texts.must_allow(AUDIT)
            filters |= {"type": RULES[name], "sha256": text_if_given(name, digests[name])}
        return self._page(_IN_FORCE, filters | times(since, until), limit, after)

    def _page(
        self, shape: Shape[EntryT], filters: Row, limit: object, after: str | None
    ) -> Page[EntryT]:
        self.count(f"views.{shape.view.name}")
        name = f"{queries_of(shape.view)}_{shape.query}"
        wanted, size = set_filters(filters), page_size(limit)
        last: Row = {}
        if after is not None:
            last = self._cursors.key_in(text_given("`after`", after), name, wanted, shape.key)
        view = self._texts.view(shape.view)
        ask = with_text(self.pages.page) if shape.view is AUDIT else self.pages.page
        page = ask(PageQuery(view, name, self._tenant, wanted, last, size + 1))
        following = None
        if len(page.rows) > size:
            key = {column: page.rows[size - 1][column] for column in shape.key}
            following = self._cursors.after(name, wanted, key)
        rows = rows_with_keys(self._backend, without_redacted(view, wanted, page, size))
        rows = rows_with_actors(self._backend, self._tenant, rows)
        encrypted = () if self._texts.allows(shape.view) else shape.texts
        return page_of(shape, page, rows, following, encrypted)

    def _id(self, which: str | UUID | None) -> str | None:
        return None if which is None else str(self._named(which))

    def _named(self, which: str | UUID) -> UUID:
        if isinstance(which, UUID):
            return which
        conversation_id = self._backend.find(self._tenant, text_given("a key", which))
        if conversation_id is None:
            raise ConversationNotFound("no conversation has that key: list them to see which do")
        return conversation_id

    def _of_key(self, key: str | None) -> Row:
        """Return the filter for a key; where rows have none, the log says which conversation has it."""
        if key is None or self._texts.allows(CONVERSATIONS):
            return {"key": key}
        return {"conversation_id": str(self._backend.find(self._tenant, key) or _NOBODY)}

    def _digested(self, actor: str | None, what: str = "actor") -> str | None:
        name = text_if_given(what, actor)
        return None if name is None else self._backend.digest(name).hex()
