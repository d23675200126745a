"""The recorder cases that the `eventsourcing` library ships, unmodified, on PostgreSQL."""

from __future__ import annotations

from tempfile import TemporaryDirectory
from unittest import TestCase
from uuid import UUID

from eventsourcing.persistence import (
    AggregateRecorder,
    ApplicationRecorder,
    ProcessRecorder,
    TrackingRecorder,
)
from eventsourcing.tests.persistence import (
    AggregateRecorderTestCase,
    ApplicationRecorderTestCase,
    InfrastructureFactoryTestCase,
    NonInterleavingNotificationIDsBaseCase,
    ProcessRecorderTestCase,
    TrackingRecorderTestCase,
)
from eventsourcing.utils import Environment

from hansard.adapters.storage.eventsourcing_sqlite import (
    SqliteAggregateRecorder,
    SqliteApplicationRecorder,
    SqliteFactory,
    SqliteProcessRecorder,
    SqliteTrackingRecorder,
)

MODULE = "hansard.adapters.storage.eventsourcing_sqlite"
TENANT = UUID("018f0000-0000-7000-8000-000000000001")


class File(TestCase):
    """Gives each test a file of its own; the library's cases know no fixtures."""

    env: Environment
    factory: SqliteFactory

    def setUp(self) -> None:
        folder = TemporaryDirectory()
        url = f"sqlite:///{folder.name}/log.db"
        given = {"PERSISTENCE_MODULE": MODULE, "HANSARD_URL": url, "HANSARD_TENANT": str(TENANT)}
        self.env = Environment(name="Cases", env=given)
        self.addCleanup(folder.cleanup)
        super().setUp()


class Recorders(File):
    """A factory on that file."""

    def setUp(self) -> None:
        super().setUp()
        self.factory = SqliteFactory(self.env)
        self.addCleanup(self.factory.close)


class TestAggregateRecorder(Recorders, AggregateRecorderTestCase):
    def create_recorder(self) -> AggregateRecorder:
        return self.factory.aggregate_recorder()


class TestSnapshotRecorder(Recorders, AggregateRecorderTestCase):
    def create_recorder(self) -> AggregateRecorder:
        return self.factory.aggregate_recorder(purpose="snapshots")


class TestApplicationRecorder(Recorders, ApplicationRecorderTestCase[SqliteApplicationRecorder]):
    def create_recorder(self) -> SqliteApplicationRecorder:
        return SqliteApplicationRecorder(self.factory.log, TENANT)

    def test_insert_subscribe(self) -> None:
        self.optional_test_insert_subscribe()


class TestTrackingRecorder(Recorders, TrackingRecorderTestCase):
    def create_recorder(self) -> TrackingRecorder:
        return self.factory.tracking_recorder(SqliteTrackingRecorder)


class TestProcessRecorder(Recorders, ProcessRecorderTestCase):
    def create_recorder(self) -> ProcessRecorder:
        return self.factory.process_recorder()


class TestNonInterleaving(Recorders, NonInterleavingNotificationIDsBaseCase):
    def create_recorder(self) -> ApplicationRecorder:
        return self.factory.application_recorder()


class OwnTrackingRecorder(SqliteTrackingRecorder):
    """What a user's own view would extend."""


class TestFactory(File, InfrastructureFactoryTestCase[SqliteFactory]):
    def expected_factory_class(self) -> type[SqliteFactory]:
        return SqliteFactory

    def expected_aggregate_recorder_class(self) -> type[AggregateRecorder]:
        return SqliteAggregateRecorder

    def expected_application_recorder_class(self) -> type[ApplicationRecorder]:
        return SqliteApplicationRecorder

    def expected_tracking_recorder_class(self) -> type[TrackingRecorder]:
        return SqliteTrackingRecorder

    def tracking_recorder_subclass(self) -> type[TrackingRecorder]:
        return OwnTrackingRecorder

    def expected_process_recorder_class(self) -> type[ProcessRecorder]:
        return SqliteProcessRecorder


# They are bases: what is collected are their subclasses.
del AggregateRecorderTestCase, ApplicationRecorderTestCase, InfrastructureFactoryTestCase
del NonInterleavingNotificationIDsBaseCase, ProcessRecorderTestCase, TrackingRecorderTestCase
