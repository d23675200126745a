"""What an application of `eventsourcing` gets of the log that its environment names."""

from __future__ import annotations

from typing import Any, Final, Generic, TypeVar, cast
from uuid import UUID

from eventsourcing.persistence import (
    AggregateRecorder,
    ApplicationRecorder,
    InfrastructureFactory,
    ProcessRecorder,
)
from eventsourcing.utils import Environment, EnvType, resolve_topic

from onrecord.adapters.storage.eventsourcing.recorders import (
    LogAggregateRecorder,
    LogApplicationRecorder,
    LogProcessRecorder,
    LogSnapshotRecorder,
    LogTrackingRecorder,
    Store,
    Transaction,
)

ONLY_TENANT: Final = UUID(int=0)
"""The tenant of a log that has no others."""

RecorderT = TypeVar("RecorderT")
TrackingT = TypeVar("TrackingT", bound=LogTrackingRecorder[Any])


class LogFactory(InfrastructureFactory[LogTrackingRecorder[Any]], Generic[Transaction]):
    """Recorders on a log; a subclass opens it, sets `store` and closes it."""

    store: Store[Transaction]

    def __init__(self, env: Environment | EnvType | None) -> None:
        """Take the tenant that the application is, ONRECORD_TENANT; the only one if not named."""
        super().__init__(env)
        self.tenant = UUID(self.env.get("ONRECORD_TENANT") or str(ONLY_TENANT))

    def aggregate_recorder(self, purpose: str = "events") -> AggregateRecorder:
        """Return a recorder of events, or of snapshots."""
        if purpose == "events":
            return LogAggregateRecorder(self.store, self.tenant)
        return LogSnapshotRecorder(self.store, self.tenant)

    def application_recorder(self) -> ApplicationRecorder:
        """Return a recorder of events with notifications."""
        ours: type[LogApplicationRecorder[Any]] = LogApplicationRecorder
        kind = self._named(self.APPLICATION_RECORDER_TOPIC, ours)
        return kind(self.store, self.tenant)

    def tracking_recorder(
        self, tracking_recorder_class: type[TrackingT] | None = None
    ) -> TrackingT:
        """Return a recorder of tracking: of the class given, named or ours."""
        ours = cast("type[TrackingT]", LogTrackingRecorder)
        kind = tracking_recorder_class or self._named(self.TRACKING_RECORDER_TOPIC, ours)
        return kind(self.store, self.env.name)

    def process_recorder(self) -> ProcessRecorder:
        """Return a recorder of events and tracking."""
        ours: type[LogProcessRecorder[Any]] = LogProcessRecorder
        kind = self._named(self.PROCESS_RECORDER_TOPIC, ours)
        return kind(self.store, self.tenant, self.env.name)

    def url(self, advice: str) -> str:
        """Return the URL of the log, ONRECORD_URL; OSError with the advice where there is none."""
        url = self.env.get("ONRECORD_URL")
        if not url:
            raise OSError(f"ONRECORD_URL is not set: {advice}")
        return url

    def _named(self, variable: str, ours: type[RecorderT]) -> type[RecorderT]:
        """Return the class whose topic a variable holds, or ours."""
        topic = self.env.get(variable)
        named: type[RecorderT] = resolve_topic(topic) if topic else ours
        return named
