"""How the entries of each view are listed: which columns, and what is in them."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from onrecord.adapters.store import Store, backend_of
from onrecord.adapters.terminal.tables import Cell, Column, Kind
from onrecord.adapters.terminal.view_pages import Listing
from onrecord.adapters.upkeep.erasing import erasures_of
from onrecord.domain.errors import counted
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.retention.retention_records import class_text

if TYPE_CHECKING:
    from onrecord.projections.views.audit import (
        AuditEntry,
        ErasureDeed,
        HoldDeed,
        InForce,
        RetentionDeed,
    )
    from onrecord.projections.views.conversations import Overview
    from onrecord.projections.views.search import Hit
    from onrecord.projections.views.tool_ledger import ToolCallEntry
    from onrecord.projections.views.usage import ModelUsage, Prices
    from onrecord.projections.views.window import Exchange

_ACTOR_DIGITS: Final = 8


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


class AuditCells(NamedTuple):
    """What is listed of an entry of the audit, in the order of its columns."""

    recorded_at: int
    actor: str | None
    conversation: str
    version: int
    type: str
    model: str | None
    tool: str | None
    about: str | None
    on_behalf_of: str | None
    outcome: str | None


def audit_cells(entry: AuditEntry, name: str) -> AuditCells:
    """Return what is listed of an entry; `name` is that of its conversation.

    The stream of what operators did has no name: what they did it to is meant.
    """
    on = entry.erasure or entry.hold or entry.retention
    return AuditCells(
        recorded_at=entry.recorded_at,
        actor=_person(entry.actor_name, entry.actor),
        conversation=name if on is None else str(on.conversation_id or "all"),
        version=entry.version,
        type=entry.type,
        model=entry.model,
        tool=entry.tool,
        about=_kept_text(entry) if entry.erasure is None else _erasure_text(entry.erasure),
        on_behalf_of=_person(entry.on_behalf_of_name, entry.on_behalf_of),
        outcome=entry.outcome,
    )


def _in_force(entry: InForce, name: str) -> tuple[Cell, ...]:
    versions = (entry.first_version, entry.last_version)
    return name, entry.events, *versions, entry.first_at, entry.last_at


def _person(name: str | None, digest: str | None) -> str | None:
    """Return the name of somebody, or the first digits of its digest once it is forgotten."""
    return name or (None if digest is None else digest[:_ACTOR_DIGITS])


def _with_operator(store: Store, entry: AuditEntry) -> AuditEntry:
    """Name who did what operators do, as the fact of it says: they are in no directory of actors."""
    deed = entry.erasure or entry.hold or entry.retention
    if deed is None or entry.actor_name is not None:
        return entry
    return replace(entry, actor_name=deed.actor or _ender(store, entry))


def _without_key(store: Store, entry: AuditEntry) -> AuditEntry:
    """Leave out the key of a conversation, besides."""
    return replace(_with_operator(store, entry), key=None)


def _ender(store: Store, entry: AuditEntry) -> str | None:
    """Return who ended an erasure, where it is who intended it: the outcome itself names nobody."""
    backend = backend_of(store)
    if entry.erasure is None:
        return None
    erasures = erasures_of(backend.read, store.tenant, entry.erasure.conversation_id)
    names = (erasure.intention.actor for erasure in erasures)
    return next((name for name in names if backend.digest(name).hex() == entry.actor), None)


def _kept_text(entry: AuditEntry) -> str | None:
    """Return what was done about a hold or a retention class, by whom and why."""
    if entry.hold is not None:
        matter = f" for {entry.hold.matter!r}" if entry.hold.matter else ""
        return f"{entry.hold.actor}{matter}: {entry.hold.reason}"
    if entry.retention is None:
        return None
    of = entry.retention
    label = (
        "" if of.label is None else f" for the label {'='.join(filter(None, (of.label, of.value)))}"
    )
    if of.keep is None:
        return f"{of.actor}: taken back{label}, {of.reason}"
    return f"{of.actor}: {class_text(of.keep)}{label}, {of.rule}"


def _erasure_text(erasure: ErasureDeed) -> str:
    if erasure.hold is not None:
        return f"refused: the legal hold {erasure.hold} keeps it"
    if erasure.events is None:
        what = f" (the name of {erasure.named[:_ACTOR_DIGITS]})" if erasure.named else ""
        if erasure.subject:
            what = f" (the subject {erasure.subject[:_ACTOR_DIGITS]}, {erasure.rule})"
        return f"{erasure.actor}{what}: {erasure.reason}"
    if erasure.forks is None:
        return f"{counted(erasure.events, 'event')} erased; whether forks stay cannot be told"
    stay = f"; forks that stay: {', '.join(map(str, erasure.forks))}" if erasure.forks else ""
    return f"{counted(erasure.events, 'event')} erased{stay}"


def _erasure(entry: AuditEntry) -> JsonObject:
    """Return what an erasure says as JSON: ids as text, what it does not say left out."""
    if entry.erasure is None:
        return {"erasure": None, **_kept(entry)}
    document = asdict(entry.erasure)
    forks = entry.erasure.forks
    ids = {
        "conversation_id": str(entry.erasure.conversation_id),
        "forks": None if forks is None else list(map(str, forks)),
    }
    ids["hold"] = None if entry.erasure.hold is None else str(entry.erasure.hold)
    return {"erasure": document | ids, **_kept(entry)}


def _kept(entry: AuditEntry) -> JsonObject:
    """Return what was done about a hold or a retention class as JSON."""
    return {"hold": _document(entry.hold), "retention": _document(entry.retention)}


def _document(deed: HoldDeed | RetentionDeed | None) -> JsonObject | None:
    if deed is None:
        return None
    on = deed.conversation_id
    return asdict(deed) | {"conversation_id": None if on is None else str(on)}


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
        Column("erasure", Kind.TEXT),
        Column("on behalf of"),
        Column("outcome", is_extra=True),
    ),
    audit_cells,
    _erasure,
    _with_operator,
)
AUDIT_BY_ID: Final = replace(AUDIT_ENTRIES, whole=_without_key)
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
