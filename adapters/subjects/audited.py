"""The audit of the erasures of a subject out of the log itself: where the view does not have them yet."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

from onrecord.adapters.upkeep.erasing import erasures_of
from onrecord.adapters.views.row_names import rows_with_actors
from onrecord.domain.log import Backend
from onrecord.domain.marks.marked_ids import operators_of
from onrecord.projections.views.audit import AUDIT, AuditEntry, deed
from onrecord.projections.views.view import EventBatch, Row


def audited_erasures(backend: Backend, tenant: UUID, subject: UUID) -> list[AuditEntry]:
    """Return what the audit view comes to of a subject's erasures, the latest first.

    `subject` is the id that it is erased by. An erasure that cannot be read is left out.
    """
    rows = rows_with_actors(backend, tenant, list(_rows(backend, tenant, subject)))
    return list(map(deed, rows))[::-1]


def _rows(backend: Backend, tenant: UUID, subject: UUID) -> Iterator[Row]:
    for entry in erasures_of(backend.read, tenant, subject):
        stream = entry.erasure_id
        batch = EventBatch(operators_of(tenant), stream, tuple(backend.read(stream)))
        yield from AUDIT.fold(batch, ()).put
