"""The recorder cases that the `eventsourcing` library ships, unmodified, for any store.

A store's tests give each case its place. They import this module and not its classes, which
pytest would collect.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import Any
from unittest import TestCase
from uuid import UUID

from eventsourcing.persistence import (
    AggregateRecorder,
    ApplicationRecorder,
    InfrastructureFactory,
    ProcessRecorder,
    TrackingRecorder,
)
from eventsourcing.tests import persistence as shipped
from eventsourcing.utils import Environment

from onrecord.adapters.storage.eventsourcing.recorders import (
    LogAggregateRecorder,
    LogApplicationRecorder,
    LogProcessRecorder,
    LogTrackingRecorder,
)

TENANT = UUID("018f0000-0000-7000-8000-000000000001")


class Place(TestCase, metaclass=ABCMeta):
    """Gives each test a log of its own; the library's cases know no fixtures."""

    env: Environment
    factory: InfrastructureFactory[Any]
    factory_class: type[InfrastructureFactory[Any]]
    module: str

    @abstractmethod
    def empty_log(self) -> str:
        """The URL of a new log, which is gone after the test."""

    def setUp(self) -> None:
        given = {
            "PERSISTENCE_MODULE": self.module,
            "ONRECORD_URL": self.empty_log(),
            "ONRECORD_TENANT": str(TENANT),
        }
        self.env = Environment(name="Cases", env=given)
        super().setUp()


class Recorders(Place):
    """A factory on that log."""

    def setUp(self) -> None:
        super().setUp()
        self.factory = self.factory_class(self.env)
        self.addCleanup(self.factory.close)


class AggregateRecorderCases(Recorders, shipped.AggregateRecorderTestCase):
    def create_recorder(self) -> AggregateRecorder:
        return self.factory.aggregate_recorder()


class SnapshotRecorderCases(Recorders, shipped.AggregateRecorderTestCase):
    def create_recorder(self) -> AggregateRecorder:
        return self.factory.aggregate_recorder(purpose="snapshots")


class ApplicationRecorderCases(Recorders, shipped.ApplicationRecorderTestCase[ApplicationRecorder]):
    def create_recorder(self) -> ApplicationRecorder:
        return self.factory.application_recorder()

    def test_insert_subscribe(self) -> None:
        self.optional_test_insert_subscribe()


class TrackingRecorderCases(Recorders, shipped.TrackingRecorderTestCase):
    def create_recorder(self) -> TrackingRecorder:
        recorder: TrackingRecorder = self.factory.tracking_recorder(LogTrackingRecorder)
        return recorder


class ProcessRecorderCases(Recorders, shipped.ProcessRecorderTestCase):
    def create_recorder(self) -> ProcessRecorder:
        return self.factory.process_recorder()


class NonInterleavingCases(Recorders, shipped.NonInterleavingNotificationIDsBaseCase):
    def create_recorder(self) -> ApplicationRecorder:
        return self.factory.application_recorder()


class OwnTrackingRecorder(LogTrackingRecorder[Any]):
    """What a user's own view would extend."""


class FactoryCases(Place, shipped.InfrastructureFactoryTestCase[InfrastructureFactory[Any]]):
    def expected_factory_class(self) -> type[InfrastructureFactory[Any]]:
        return self.factory_class

    def expected_aggregate_recorder_class(self) -> type[AggregateRecorder]:
        return LogAggregateRecorder

    def expected_application_recorder_class(self) -> type[ApplicationRecorder]:
        return LogApplicationRecorder

    def tracking_recorder_subclass(self) -> type[TrackingRecorder]:
        return OwnTrackingRecorder

    def expected_tracking_recorder_class(self) -> type[TrackingRecorder]:
        return LogTrackingRecorder

    def expected_process_recorder_class(self) -> type[ProcessRecorder]:
        return LogProcessRecorder
