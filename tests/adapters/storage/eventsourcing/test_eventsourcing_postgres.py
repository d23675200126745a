"""The recorder cases that the `eventsourcing` library ships, unmodified, on PostgreSQL."""

from __future__ import annotations

from onrecord.adapters.storage.eventsourcing.postgres import PostgresFactory
from tests.adapters.storage.eventsourcing import eventsourcing_cases as cases
from tests.postgres_places import fresh_log
from tests.postgres_server import VERSIONS, server

VERSION = VERSIONS[-1]


class Database(cases.Place):
    """A database of its own."""

    factory_class = PostgresFactory
    module = "onrecord.eventsourcing.postgres"

    def empty_log(self) -> str:
        url = fresh_log(VERSION)
        self.addCleanup(server(VERSION).drop, url)
        return url


class TestAggregateRecorder(Database, cases.AggregateRecorderCases): ...


class TestSnapshotRecorder(Database, cases.SnapshotRecorderCases): ...


class TestApplicationRecorder(Database, cases.ApplicationRecorderCases): ...


class TestTrackingRecorder(Database, cases.TrackingRecorderCases): ...


class TestProcessRecorder(Database, cases.ProcessRecorderCases): ...


class TestNonInterleaving(Database, cases.NonInterleavingCases): ...


class TestFactory(Database, cases.FactoryCases): ...
