"""The recorder cases that the `eventsourcing` library ships, unmodified, on SQLite."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

import pytest
from eventsourcing.persistence import StoredEvent, Tracking

from onrecord.adapters.recording.spool import RecordingWarning
from onrecord.adapters.storage.eventsourcing.sqlite import SqliteFactory
from tests.adapters.storage.eventsourcing import eventsourcing_cases as cases

DAY = 86_400 * 10**9


class File(cases.Place):
    """A file in a folder of its own."""

    factory_class = SqliteFactory
    module = "onrecord.eventsourcing.sqlite"

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


@pytest.mark.parametrize("tracking", [{}, {"tracking": Tracking("upstream", 1)}])
def test_a_save_records_the_time_at_which_it_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tracking: dict[str, Tracking]
) -> None:
    factory = SqliteFactory({"ONRECORD_URL": f"sqlite:///{tmp_path}/log.db"})
    recorder = factory.process_recorder()
    monkeypatch.setattr(time, "time_ns", lambda: 1_800_000_000_000_000_000)
    recorder.insert_events([stored(), stored()], **tracking)
    found = factory.log.read_log(replace(factory.log.cursors()[0], position=0), 10)
    assert [event.recorded_at for event in found] == [1_800_000_000_000_000] * 2
    factory.close()


def test_a_save_of_several_aggregates_says_that_the_clock_jumped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    factory = SqliteFactory({"ONRECORD_URL": f"sqlite:///{tmp_path}/log.db"})
    recorder = factory.application_recorder()
    recorder.insert_events([stored()])
    clock = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: clock() - 10 * DAY)
    with pytest.warns(RecordingWarning, match="behind the last event"):
        recorder.insert_events([stored(), stored()])
    factory.close()


def stored() -> StoredEvent:
    return StoredEvent(uuid4(), 1, "test.happened", b"{}")
