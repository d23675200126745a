"""The recorder cases that the `eventsourcing` library ships, unmodified, on PostgreSQL."""

from __future__ import annotations

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

from hansard.adapters.storage.eventsourcing_postgres import (
    PostgresAggregateRecorder,
    PostgresApplicationRecorder,
    PostgresFactory,
    PostgresProcessRecorder,
    PostgresTrackingRecorder,
)
from tests.postgres_places import fresh_log
from tests.postgres_server import VERSIONS, server

MODULE = "hansard.adapters.storage.eventsourcing_postgres"
VERSION = VERSIONS[-1]
TENANT = UUID("018f0000-0000-7000-8000-000000000001")


class Database(TestCase):
    """Gives each test a database of its own; the library's cases know no fixtures."""

    env: Environment
    factory: PostgresFactory

    def setUp(self) -> None:
        url = fresh_log(VERSION)
        given = {"PERSISTENCE_MODULE": MODULE, "HANSARD_URL": url, "HANSARD_TENANT": str(TENANT)}
        self.env = Environment(name="Cases", env=given)
        self.addCleanup(server(VERSION).drop, url)
        super().setUp()


class Recorders(Database):
    """A factory on that database."""

    def setUp(self) -> None:
        super().setUp()
        self.factory = PostgresFactory(self.env)
        self.addCleanup(self.factory.close)


class TestAggregateRecorder(Recorders, AggregateRecorderTestCase):
    def create_recorder(self) -> AggregateRecorder:
        return self.factory.aggregate_recorder()


class TestSnapshotRecorder(Recorders, AggregateRecorderTestCase):
    def create_recorder(self) -> AggregateRecorder:
        return self.factory.aggregate_recorder(purpose="snapshots")


class TestApplicationRecorder(Recorders, ApplicationRecorderTestCase[PostgresApplicationRecorder]):
    def create_recorder(self) -> PostgresApplicationRecorder:
        return PostgresApplicationRecorder(self.factory.log, TENANT)

    def test_insert_subscribe(self) -> None:
        self.optional_test_insert_subscribe()


class TestTrackingRecorder(Recorders, TrackingRecorderTestCase):
    def create_recorder(self) -> TrackingRecorder:
        return self.factory.tracking_recorder(PostgresTrackingRecorder)


class TestProcessRecorder(Recorders, ProcessRecorderTestCase):
    def create_recorder(self) -> ProcessRecorder:
        return self.factory.process_recorder()


class TestNonInterleaving(Recorders, NonInterleavingNotificationIDsBaseCase):
    def create_recorder(self) -> ApplicationRecorder:
        return self.factory.application_recorder()


class OwnTrackingRecorder(PostgresTrackingRecorder):
    """What a user's own view would extend."""


class TestFactory(Database, InfrastructureFactoryTestCase[PostgresFactory]):
    def expected_factory_class(self) -> type[PostgresFactory]:
        return PostgresFactory

    def expected_aggregate_recorder_class(self) -> type[AggregateRecorder]:
        return PostgresAggregateRecorder

    def expected_application_recorder_class(self) -> type[ApplicationRecorder]:
        return PostgresApplicationRecorder

    def expected_tracking_recorder_class(self) -> type[TrackingRecorder]:
        return PostgresTrackingRecorder

    def tracking_recorder_subclass(self) -> type[TrackingRecorder]:
        return OwnTrackingRecorder

    def expected_process_recorder_class(self) -> type[ProcessRecorder]:
        return PostgresProcessRecorder


# They are bases: what is collected are their subclasses.
del AggregateRecorderTestCase, ApplicationRecorderTestCase, InfrastructureFactoryTestCase
del NonInterleavingNotificationIDsBaseCase, ProcessRecorderTestCase, TrackingRecorderTestCase
