"""The names in rows of views that only the log has: keys of conversations, names of those who acted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final
from uuid import UUID

from onrecord.adapters.streams.lineage import keys_of
from onrecord.adapters.views.ports import Parked
from onrecord.domain.log import Backend, Log
from onrecord.projections.views.view import Row

_DIGEST: Final = re.compile(r"(?:[0-9a-f]{2})+")


def rows_with_keys(log: Log, rows: Sequence[Row]) -> list[Row]:
    """Return rows with the keys of their conversations.

    One that is damaged in the log is still listed, without its key.
    """
    unnamed = [row for row in rows if "conversation_id" in row and row.get("key") is None]
    keys = keys_of(log, (UUID(row["conversation_id"]) for row in unnamed))
    named = {str(conversation_id): key for conversation_id, key in keys.items()}
    return [
        row | {"key": row.get("key") or named.get(row.get("conversation_id", ""))} for row in rows
    ]


def with_keys(log: Log, tenant: UUID, parked: Sequence[Parked]) -> list[Parked]:
    """Return parked events with the keys of their conversations, those of a tenant."""
    keys = keys_of(log, (event.conversation_id for event in parked if event.tenant == tenant))
    return [replace(event, key=keys.get(event.conversation_id)) for event in parked]


def rows_with_actors(backend: Backend, tenant: UUID, rows: Sequence[Row]) -> list[Row]:
    """Return rows with the names of their actors, as the log's directory has them."""
    names = actor_names(backend, tenant, (digest for row in rows for digest in _actors_in(row)))
    return [{**row, **_names_in(row, names)} for row in rows]


def actor_names(backend: Backend, tenant: UUID, digests: Iterable[str | None]) -> Mapping[str, str]:
    """Return the names of actors by their digests in hex, as the log's directory has them.

    Anybody may have written what is no digest: that has no name.
    """
    known = {digest for digest in digests if digest and _DIGEST.fullmatch(digest)}
    if not known:
        return {}
    kept = backend.actors().names(tenant, list(map(bytes.fromhex, known)))
    return {digest.hex(): name for digest, name in kept.items()}


def _actors_in(row: Row) -> tuple[str | None, ...]:
    return row.get("actor"), row.get("on_behalf_of"), *row.get("participants", ())


def _names_in(row: Row, names: Mapping[str, str]) -> Row:
    """Return the names of a row's actors, where it has any."""
    named: Row = {}
    for member in ("actor", "on_behalf_of"):
        if member in row:
            named[f"{member}_name"] = names.get(row[member] or "")
    if "participants" in row:
        named["participant_names"] = [names[each] for each in row["participants"] if each in names]
    return named
