"""The recorder cases that the `eventsourcing` library ships, unmodified, on SQLite."""

from __future__ import annotations

from tempfile import TemporaryDirectory

from onrecord.adapters.storage.eventsourcing_sqlite import SqliteFactory
from tests.adapters import eventsourcing_cases as cases


class File(cases.Place):
    """A file in a folder of its own."""

    factory_class = SqliteFactory

    def empty_log(self) -> str:
        folder = TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return f"sqlite:///{folder.name}/log.db"


class TestAggregateRecorder(File, cases.AggregateRecorderCases): ...


class TestSnapshotRecorder(File, cases.SnapshotRecorderCases): ...


class TestApplicationRecorder(File, cases.ApplicationRecorderCases): ...


class TestTrackingRecorder(File, cases.TrackingRecorderCases): ...


class TestProcessRecorder(File, cases.ProcessRecorderCases): ...


class TestNonInterleaving(File, cases.NonInterleavingCases): ...


class TestFactory(File, cases.FactoryCases): ...
