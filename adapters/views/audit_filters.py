"""What the audit is asked for: its filters as its query takes them, and a text by the view `search`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final
from uuid import UUID

from onrecord.adapters.inputs.arguments import text_given, text_if_given
from onrecord.adapters.views.late_redactions import without_redacted
from onrecord.adapters.views.pages import MOST_ENTRIES, one_of
from onrecord.adapters.views.ports import PageQuery, PageRows
from onrecord.domain.errors import InvalidInput
from onrecord.projections.views.audit_facts import OUTCOMES, label_filters
from onrecord.projections.views.search import SEARCH, parse_query
from onrecord.projections.views.view import Row, storable

_DOCUMENT: Final = re.compile(r"[0-9a-f]{8}(?:[0-9a-f]{56})?")
_PLACED: Final = ("conversation_id", "since", "until")
"""The filters of the audit that searching takes as well."""

Ask = Callable[[PageQuery], PageRows]
"""How a page of rows is got."""


def content_filters(
    tenant: UUID,
    document: str | None,
    text: str | None,
    outcome: str | None,
    label: tuple[str | None, str | None],
) -> Row:
    """Return the filters of what events are about; InvalidInput says which argument is wrong.

    A label comes with its value, or with None for any.
    """
    return {
        "document": _digest_given(document),
        "text": _text_given(text),
        "outcome": one_of("outcome", outcome, OUTCOMES),
        **_label_given(tenant, *label),
    }


def types_given(type_: str | Sequence[str] | None) -> Row:
    """Return the filter of a type of event, or of several; InvalidContent for what is no text."""
    if type_ is None or isinstance(type_, str):
        return {"type": text_if_given("type", type_)}
    return {"types": [storable(text_given("a type", each)) for each in type_]}


def _label_given(tenant: UUID, name: str | None, value: str | None) -> Row:
    if value is not None and name is None:
        raise InvalidInput("a value is one of a label: give `label` too")
    if name is None:
        return {}
    value = None if value is None else text_given("the value of a label", value)
    return label_filters(tenant, text_given("a label", name), value)


def _digest_given(document: str | None) -> str | None:
    """Return the digest of a document, or how it begins, of its short id, its id or its digest."""
    given = text_if_given("a document", document)
    if given is None:
        return None
    digest = given.strip().lower().replace("-", "")
    if not _DOCUMENT.fullmatch(digest):
        raise InvalidInput(
            "a document is named by its short id (8 hex digits, as `onrecord documents` lists it), "
            "its id, or the SHA-256 of its bytes"
        )
    return digest


def _text_given(text: str | None) -> str | None:
    if text is not None:
        parse_query(
            text_given("the text", text)
        )  # What asks for nothing is refused before it is asked.
    return text


def with_text(ask: Ask) -> Ask:
    """Return how pages of the audit are got whose filters may have a `text`.

    Its events are those that the view `search` finds, the latest first; InvalidInput where nobody keeps it. The page stands as far in the
    log as the view that is further behind, and says why either of them stands still.
    """

    def asked(query: PageQuery) -> PageRows:
        if "text" not in query.filters:
            return ask(query)
        rows: list[Row] = []
        redacted: dict[str, frozenset[int]] = {}
        most = query.limit or MOST_ENTRIES
        for hits in _hits(ask, query):
            page = _of_hits(ask, query, hits, most - len(rows))
            rows += page.rows
            for of, versions in page.redacted.items():
                redacted[of] = redacted.get(of, frozenset()) | versions
            if len(rows) == most or len(hits.rows) < MOST_ENTRIES:
                return _together(hits, replace(page, rows=tuple(rows), redacted=redacted))
        raise AssertionError("the last page of hits is not full")

    return asked


def _hits(ask: Ask, query: PageQuery) -> Iterator[PageRows]:
    """Yield pages of what is found, from where the audit goes on; the last one is not full."""
    words = parse_query(query.filters["text"]).filters()
    filters = {name: query.filters[name] for name in _PLACED if name in query.filters} | words
    after = query.after
    while True:
        page = ask(PageQuery(SEARCH, "search_page", query.tenant, filters, after, MOST_ENTRIES))
        if page.behind and not page.position:
            raise InvalidInput(
                "a text is found by the view `search`, and that has folded nothing here: keep it with "
                "`onrecord worker`, or leave the text out"
            )
        yield page
        after = {"position": page.rows[-1]["position"]}


def _of_hits(ask: Ask, query: PageQuery, hits: PageRows, limit: int) -> PageRows:
    places = [
        {"conversation_id": row["conversation_id"], "version": row["version"]}
        for row in without_redacted(SEARCH, {}, hits, MOST_ENTRIES)
    ]
    filters = {**query.filters, "events": places}
    return ask(replace(query, filters=filters, after={}, limit=limit))


def _together(hits: PageRows, page: PageRows) -> PageRows:
    return replace(
        page,
        position=min(hits.position, page.position),
        behind=max(hits.behind, page.behind),
        parked=max(hits.parked, page.parked),
        stopped=page.stopped or hits.stopped,
    )
