"""Our views in the `eventsourcing` library's terms: how far a view has come, and waiting for it.

A program that records by the library's application waits for a view of ours with the verbs that it
has for its own: `tracking.wait("usage", recording.notification.id)`.
"""

from __future__ import annotations

from uuid import UUID

from eventsourcing.persistence import ProgrammingError, Tracking, TrackingRecorder

from onrecord.adapters.settings import NO_TENANT
from onrecord.adapters.storage.postgres.postgres import Postgres


class PostgresViewTracking(TrackingRecorder):
    """Tells how far the views of a database are, as the library's trackings are asked.

    The name of the application is a view's; ids are those of a tenant's notifications, which are
    positions of its shard. `wait` raises TimeoutError and WaitInterruptedError as the library says.
    """

    def __init__(self, log: Postgres, tenant: UUID = NO_TENANT) -> None:
        """Ask for the views of a tenant."""
        self._log, self._tenant = log, tenant

    def max_tracking_id(self, application_name: str) -> int | None:
        """Return the position up to which a view has every event of the tenant; None before any."""
        asked = (application_name, self._tenant)
        [(position,)] = self._log.connections.ask("view_reached", asked)
        return position or None

    def insert_tracking(self, tracking: Tracking) -> None:
        """Refuse: workers move a view's checkpoint, with its rows."""
        raise ProgrammingError("a view is moved by `onrecord worker`, in one step with its rows")
