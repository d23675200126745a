"""How the entries of each view are listed: which columns, and what is in them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from onrecord.adapters.presentation.audit_entries import audit_cells, facts_document
from onrecord.adapters.presentation.audit_lookup import whole_entry, without_key
from onrecord.adapters.terminal.tables import Cell, Column, Kind
from onrecord.adapters.terminal.view_pages import Listing

if TYPE_CHECKING:
    from onrecord.projections.views.audit import InForce
    from onrecord.projections.views.conversations import Overview
    from onrecord.projections.views.search import Hit
    from onrecord.projections.views.tool_ledger import ToolCallEntry
    from onrecord.projections.views.usage import ModelUsage, Prices
    from onrecord.projections.views.window import Exchange


def _overview(entry: Overview, _: str) -> tuple[Cell, ...]:
    return (
        entry.key or str(entry.conversation_id),
        entry.title,
        entry.exchanges,
        entry.tool_calls + entry.server_tool_calls,
        entry.input_tokens + entry.output_tokens,
        ", ".join(entry.models),
        entry.last_at,
        ", ".join(entry.participant_names),
    )


def _hit(entry: Hit, name: str) -> tuple[Cell, ...]:
    at = entry.recorded_at
    return name, entry.version, at, entry.role, entry.tool, entry.excerpt


def _in_force(entry: InForce, name: str) -> tuple[Cell, ...]:
    versions = (entry.first_version, entry.last_version)
    return name, entry.events, *versions, entry.first_at, entry.last_at


def usage_listing(prices: Prices) -> Listing[ModelUsage]:
    """Return how usage is listed; what it cost goes by prices."""
    from onrecord.projections.views.usage import cost_of

    def cost(entry: ModelUsage) -> str | None:
        dollars = cost_of(entry, prices)
        return None if dollars is None else f"{dollars:.6f}"

    return Listing(
        _USAGE,
        lambda entry, _: (*_usage(entry), cost(entry)),
        lambda entry: {"cost": cost(entry)},
    )


def _usage(entry: ModelUsage) -> tuple[Cell, ...]:
    day = None if entry.day is None else entry.day.isoformat()
    used = (entry.responses, entry.input_tokens, entry.output_tokens)
    within = (entry.cached_tokens, entry.cache_write_tokens, entry.reasoning_tokens)
    return day, entry.api, entry.model, *used, *within


def _call(entry: ToolCallEntry, name: str) -> tuple[Cell, ...]:
    columns = (entry.name, entry.status, _seconds(entry.duration), entry.arguments, entry.result)
    return entry.recorded_at, name, entry.version, *columns


def _seconds(duration: int | None) -> str | None:
    """Return microseconds as seconds; what took less than a millisecond did not take none."""
    if duration is None:
        return None
    return f"{duration / 1_000_000:.{3 if duration >= 1000 else 6}f}"


def _exchange(entry: Exchange, _: str) -> tuple[Cell, ...]:
    tokens = entry.input_tokens + entry.output_tokens
    texts = (entry.prompt, entry.answer)
    return entry.exchange, entry.first_version, entry.opened_at, entry.tool_calls, tokens, *texts


OVERVIEW: Final = Listing(
    (
        Column("conversation", Kind.KEY),
        Column("title", Kind.TEXT),
        Column("exchanges", Kind.COUNT),
        Column("calls", Kind.COUNT, is_extra=True),
        Column("tokens", Kind.COUNT),
        Column("models", Kind.NAME, is_extra=True),
        Column("last moved", Kind.TIME),
        Column("actors", Kind.NAME, is_extra=True),
    ),
    _overview,
)
HITS: Final = Listing(
    (
        Column("conversation", Kind.KEY),
        Column("version", Kind.COUNT),
        Column("recorded", Kind.TIME, is_extra=True),
        Column("said by"),
        Column("tool", Kind.NAME, is_extra=True),
        Column("text", Kind.TEXT),
    ),
    _hit,
)
AUDIT_ENTRIES: Final = Listing(
    (
        Column("recorded", Kind.TIME),
        Column("actor"),
        Column("conversation", Kind.KEY),
        Column("version", Kind.COUNT, is_extra=True),
        Column("type"),
        Column("model", Kind.NAME),
        Column("tool", Kind.NAME, is_extra=True),
        Column("about", Kind.TEXT),
        Column("on behalf of"),
        Column("outcome", is_extra=True),
    ),
    audit_cells,
    facts_document,
    whole_entry,
)
AUDIT_BY_ID: Final = replace(AUDIT_ENTRIES, whole=without_key)
"""The same without keys of conversations, which may be personal."""
IN_FORCE: Final = Listing(
    (
        Column("conversation", Kind.KEY),
        Column("events", Kind.COUNT),
        Column("first version", Kind.COUNT, is_extra=True),
        Column("last version", Kind.COUNT, is_extra=True),
        Column("first", Kind.TIME),
        Column("last", Kind.TIME),
    ),
    _in_force,
)
_USAGE: Final = (
    Column("day"),
    Column("API", Kind.NAME),
    Column("model", Kind.NAME),
    *(Column(heading, Kind.COUNT) for heading in ("responses", "in", "out")),
    *(Column(heading, Kind.COUNT, is_extra=True) for heading in ("cached", "written", "reasoning")),
    Column("dollars", Kind.COUNT),
)
CALLS: Final = Listing(
    (
        Column("recorded", Kind.TIME),
        Column("conversation", Kind.KEY),
        Column("version", Kind.COUNT, is_extra=True),
        Column("tool", Kind.NAME),
        Column("status"),
        Column("seconds", Kind.COUNT, is_extra=True),
        Column("arguments", Kind.TEXT),
        Column("result", Kind.TEXT),
    ),
    _call,
)
EXCHANGES: Final = Listing(
    (
        Column("exchange", Kind.COUNT),
        Column("version", Kind.COUNT, is_extra=True),
        Column("began", Kind.TIME),
        Column("calls", Kind.COUNT, is_extra=True),
        Column("tokens", Kind.COUNT),
        Column("prompt", Kind.TEXT),
        Column("answer", Kind.TEXT),
    ),
    _exchange,
)
